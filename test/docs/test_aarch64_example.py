"""A model compiled for AArch64, linked into a C program with the runtime, runs there."""

import cross


def test_the_c_example_runs_on_aarch64(tmp_path):
    cross.check(cross.example(tmp_path, "aarch64-linux-gnu", "cpu:cortex-a72", "qemu-aarch64", "-cpu", "max"))
