"""A model compiled for RISC-V with vectors, linked into a C program with the runtime, runs there."""

import cross


def test_the_c_example_runs_on_riscv_at_any_vector_length(tmp_path):
    cpu = "rv64,v=true,vlen={},vext_spec=v1.0"
    cross.check(cross.example(tmp_path, "riscv64-linux-gnu", "cpu:rv64gcv", "qemu-riscv64", "-cpu",
                              cpu.format(128)))
    cross.check(cross.run("qemu-riscv64", "-cpu", cpu.format(256), tmp_path / "linked", cwd=tmp_path))
