"""The C example on another processor: the runtime built by scripts/cross_runtime.sh, run by QEMU."""

import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ["TENFOLD_SOURCE"])
# y = tanh(x) + x, which is what examples/c/linked_model.c is told it calls.
MODEL = """
module @model {
  func.func @main(%x: tensor<?x3xf32, #tenfold.dims<n, 3>>) -> tensor<?x3xf32, #tenfold.dims<n, 3>> {
    %0 = stablehlo.tanh %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
    %1 = stablehlo.add %0, %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
    return %1 : tensor<?x3xf32, #tenfold.dims<n, 3>>
  }
}
"""


def run(*command, cwd):
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stderr
    return done.stdout


def example(folder, triple, target, *emulator):
    """What the linked example prints on `target`."""
    for tool in (f"{triple}-g++", emulator[0]):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    run(SOURCE / "scripts/cross_runtime.sh", triple, folder / "runtime", cwd=SOURCE)
    (folder / "model.mlir").write_text(MODEL)
    run(os.environ["TENFOLD_BIN"], "compile", "model.mlir", "-o", "model.o", "--target", target, cwd=folder)
    run(f"{triple}-gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include", "-I.", "-c",
        SOURCE / "examples/c/linked_model.c", "-o", "main.o", cwd=folder)
    run(f"{triple}-g++", "-static", "main.o", "model.o", "runtime/libtenfold_runtime.a", "-pthread", "-o",
        "linked", cwd=folder)
    return run(*emulator, folder / "linked", cwd=folder)


def check(shown):
    x = np.array([[0, 1, 2], [-1, -2, -3]], np.float32)
    got = np.array(shown.split(), np.float64).reshape(2, 3)
    np.testing.assert_allclose(got, np.tanh(x) + x, atol=2e-5)
