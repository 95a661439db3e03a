"""The examples are built as their own first lines say, against the runtime alone, and run."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import support

LIB = pathlib.Path(support.BUILD) / "lib"
EXAMPLES = pathlib.Path(support.SOURCE) / "examples"
INCLUDE = pathlib.Path(support.SOURCE) / "include"
RUNTIME = LIB / "libtenfold_runtime.so"


def compiler(*names):
    for name in names:
        if shutil.which(name):
            return name
    pytest.skip(f"none of {names} is installed")


def build(command, *args):
    done = subprocess.run([command, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def output(*args, code=0):
    done = subprocess.run(list(map(str, args)), capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def link():
    return [f"-L{LIB}", "-ltenfold_runtime", f"-Wl,-rpath,{LIB}"]


def c99():
    return [compiler("clang-19", "gcc", "cc"), "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
            f"-I{INCLUDE}"]


# y = tanh(x) + x
ROWS = np.array([[0, 1, 2], [-1, -2, -3]], np.float32)
WANT = np.tanh(ROWS) + ROWS


def test_c_example_runs_an_artifact(artifact, shared_object, tmp_path):
    build(*c99(), EXAMPLES / "c" / "run_model.c", *link(), "-o", tmp_path / "run_model")
    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 10
    want = " ".join(f"{v:.5f}" for v in (np.tanh(x) + x).ravel())
    for path in (artifact, shared_object):
        shown = output(tmp_path / "run_model", path, 2)
        assert "input x [n, 3]" in shown and f"output result0: {want}" in shown
    refused = output(tmp_path / "run_model", EXAMPLES / "c" / "run_model.c", code=1)
    assert "not-an-artifact" in refused


def test_c_example_links_a_model_in(models, tmp_path):
    support.tenfold("compile", models / "small.mlir", "-o", tmp_path / "model.o")
    build(*c99(), f"-I{tmp_path}", EXAMPLES / "c" / "linked_model.c", tmp_path / "model.o", *link(),
          "-o", tmp_path / "linked")
    shown = np.array(output(tmp_path / "linked").split(), np.float64).reshape(2, 3)
    np.testing.assert_allclose(shown, WANT, atol=2e-5)


def test_two_models_link_into_one_program(models, tmp_path):
    for name in ("first", "second"):
        support.tenfold("compile", models / "small.mlir", "-o", tmp_path / f"{name}.o")
    (tmp_path / "main.c").write_text("""
        #include "first.h"
        #include "second.h"
        int main(void) {
          tenfold_model *a, *b;
          return first_load(&a) || second_load(&b);
        }\n""")
    build(*c99(), f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "first.o",
          tmp_path / "second.o", *link(), "-o", tmp_path / "both")
    output(tmp_path / "both")


def test_cpp_example_shares_a_model(artifact, tmp_path):
    cxx = compiler("clang++-19", "g++", "c++")
    build(cxx, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}",
          EXAMPLES / "cpp" / "run_model.cc", *link(), "-pthread", "-o", tmp_path / "run_model")
    shown = output(tmp_path / "run_model", artifact).splitlines()
    np.testing.assert_allclose(np.array(shown[1].split(), np.float64), WANT.ravel(), atol=2e-5)
    assert shown[2:] == ["both threads agree", "input-rank"]


def test_python_example_saves_and_loads(models):
    shown = output(sys.executable, EXAMPLES / "python" / "run_model.py", models / "small.mlir")
    assert "the same bits" in shown and "refused: unknown-input" in shown


def test_headers_compile_alone(tmp_path):
    for name, command, standard in [("tenfold.h", compiler("clang-19", "gcc"), "-std=c99"),
                                    ("tenfold.hpp", compiler("clang++-19", "g++"), "-std=c++20")]:
        source = tmp_path / ("a.c" if name.endswith(".h") else "a.cc")
        source.write_text(f"#include <tenfold/{name}>\n#include <tenfold/{name}>\n")
        build(command, standard, "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-c",
              source, "-o", tmp_path / "a.o")


def test_the_runtime_is_small_and_has_no_compiler_in_it(tmp_path):
    small = tmp_path / "runtime.so"
    build(compiler("llvm-strip-19", "strip"), RUNTIME, "-o", small)
    assert os.path.getsize(small) < 300 * 1024
    needed = output(compiler("readelf", "llvm-readelf-19"), "-d", small)
    assert "LLVM" not in needed and "protobuf" not in needed
    exported = output(compiler("nm", "llvm-nm-19"), "-D", "--defined-only", small).split()[2::3]
    assert exported and all(name.startswith("tenfold_") for name in exported)
