"""The simulated chips keep their distance to published silicon (docs/accuracy.md)."""

import os
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ["TENFOLD_SOURCE"])


@pytest.mark.parametrize("chip", ["TPU v1", "Edge TPU", "TPU v6e (matmul mm |HBM)"])
def test_errors_stay_within_the_thresholds(chip, tmp_path):
    run = subprocess.run(
        [sys.executable, str(SOURCE / "bench/accuracy/accuracy.py"), os.environ["TENFOLD_BIN"],
         "--check", "--only", chip, "--page", str(tmp_path / "accuracy.md")],
        capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
