"""What is wrong is said on standard error, ends in 1 (or 2 for wrong usage), and leaves nothing behind."""

import os
import random
import resource
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import support
from support import tenfold

RUN_LIKE = ["run", "bench", "check", "profile"]


def message(done, error_id):
    """The one line that names the problem; nothing may stand on standard output."""
    lines = [line for line in done.stderr.splitlines() if f"[{error_id}]" in line]
    assert lines, done.stderr
    return lines[0]


@pytest.mark.parametrize("args", [
    [], ["nothing"], ["run"], ["run", "m.mlir", "--no-such-option"], ["run", "m.mlir", "-O7"],
    ["run", "m.mlir", "--threads", "-1"], ["run", "m.mlir", "--threads", "many"],
    ["run", "m.mlir", "--input", "x"], ["run", "m.mlir", "--shape", "x=1,a"],
    ["run", "m.mlir", "--shape", "4"], ["run", "m.mlir", "--shape", "x=1", "--shape", "x=2"],
    ["run", "m.mlir", "--disable-pass", "no_such_pass"],
    ["run", "m.mlir", "--stop-after", "no_such_pass"],
    ["run", "m.mlir", "-O0", "--start-from", "fold_affine"],
    ["run", "m.mlir", "--start-from", "03-fold_affine"],
    ["run", "m.mlir", "--disable-pass", "inline_functions"], ["run", "m.mlir", "--dump", "d:["],
    ["compile", "m.mlir"], ["compile", "m.mlir", "-o", "x", "--emit", "exe"],
    ["bench", "m.mlir", "--rounds", "-3"], ["version", "extra"],
])
def test_wrong_usage_ends_in_two(args, models, tmp_path):
    (tmp_path / "m.mlir").write_text(support.SMALL)
    done = tenfold(*args, code=2, cwd=tmp_path)
    assert done.stdout == "" and done.stderr.startswith("tenfold: ")
    assert "--help" in done.stderr


def test_what_is_not_in_the_build_says_so():
    assert "not in this build" in tenfold("tune", "m.onnx", code=1).stderr


@pytest.mark.parametrize("command", [*RUN_LIKE, "compile"])
def test_a_missing_file_is_named(command, tmp_path):
    more = ["-o", tmp_path / "o.tenfold"] if command == "compile" else []
    done = tenfold(command, tmp_path / "none.onnx", *more, code=1)
    assert "file-not-found" in done.stderr and "none.onnx" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name,content,error_id", [
    ("empty.onnx", b"", None),
    ("text.onnx", b"this is no model\n" * 10, None),
    ("random.onnx", random.Random(1).randbytes(4096), None),
    ("half.mlir", support.SMALL[:150].encode(), None),
    ("wrong.mlir", support.SMALL.replace("stablehlo.tanh", "stablehlo.tunh").encode(), None),
    ("types.mlir", support.PAIR.replace("-> (tensor<2x2xi32>", "-> (tensor<2x3xi32>").encode(),
     None),
    ("random.mlir", random.Random(2).randbytes(4096), None),
    ("unknown.xyz", b"\x99\x98\x97\x96" * 10, "unknown-format"),
    ("empty.tenfold", b"", "not-an-artifact"),
    ("text.tenfold", b"no package", "not-an-artifact"),
    ("elf.so", b"\x7fELF" + bytes(100), "bad-artifact"),
    ("model.tflite", b"\x20\0\0\0TFL3" + bytes(40), "format-not-in-build"),
    ("model.bc", b"ML\xefR" + bytes(40), "format-not-in-build"),
    ("trees.json", b"{}", "format-not-in-build"),
])
def test_broken_files_are_refused(name, content, error_id, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    for command in RUN_LIKE:
        done = tenfold(command, path, code=1)
        assert name in done.stderr, done.stderr
        if error_id:
            message(done, error_id)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_folders_and_unreadable_files_are_refused(tmp_path):
    done = tenfold("run", tmp_path, code=1)
    assert "folder" in message(done, "file-not-regular")
    os.mkfifo(tmp_path / "pipe.onnx")
    message(tenfold("run", tmp_path / "pipe.onnx", code=1), "file-not-regular")


@pytest.fixture
def x(models):
    return np.load(models / "x.npy")


def refuse(models, tmp_path, *args, model="small.mlir"):
    done = tenfold("run", models / model, *args, "--output-dir", tmp_path / "out", code=1)
    assert done.stdout == "" and not (tmp_path / "out").exists()
    return done


def test_wrong_inputs_are_named(models, tmp_path, x):
    def given(name, array):
        np.save(tmp_path / "in.npy", array)
        return ["--input", f"{name}={tmp_path / 'in.npy'}"]

    at = message(refuse(models, tmp_path, *given("x", x.astype(np.float64))), "input-dtype")
    assert at.startswith("small.mlir: input `x`: is f64, the model takes f32")
    at = message(refuse(models, tmp_path, *given("x", x[:, :2])), "input-shape")
    assert "dimension 1 is 2, the model takes 3" in at
    at = message(refuse(models, tmp_path, *given("x", x[0])), "input-rank")
    assert "rank 1" in at and "rank 2" in at
    at = message(refuse(models, tmp_path, *given("X", x)), "unknown-input")
    assert "did you mean `x`" in at
    twice = refuse(models, tmp_path, *given("x", x), *given("x", x))
    assert "two values for input `x`" in message(twice, "repeated-input")


def test_every_missing_input_is_listed(models, tmp_path):
    np.savez(tmp_path / "in.npz", other=np.zeros(1))
    done = refuse(models, tmp_path, "--inputs", tmp_path / "in.npz", model="pair.mlir")
    assert "`arg0`" in done.stderr and "`arg1`" in done.stderr and "`other`" in done.stderr


def test_broken_arrays_are_refused(models, tmp_path):
    good = (models / "x.npy").read_bytes()
    for name, content in {"cut.npy": good[:-1], "head.npy": good[:20], "empty.npy": b"",
                          "text.npy": b"1 2 3"}.items():
        (tmp_path / name).write_bytes(content)
        done = refuse(models, tmp_path, "--input", f"x={tmp_path / name}")
        assert name in done.stderr
    np.save(tmp_path / "object.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert "object.npy" in refuse(models, tmp_path, "--input",
                                  f"x={tmp_path / 'object.npy'}").stderr
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    assert "bad.npz" in refuse(models, tmp_path, "--inputs", tmp_path / "bad.npz").stderr
    assert "none.npy" in refuse(models, tmp_path, "--input", "x=none.npy").stderr


@pytest.mark.parametrize("target", ["", "gpu", "cpu:no-such-cpu", "tpu:v99", "cpu:"])
def test_unknown_targets_are_refused(models, tmp_path, target):
    done = tenfold("compile", models / "small.mlir", "-o", tmp_path / "m.so", "--target", target,
                   code=1)
    assert "target" in done.stderr and not list(tmp_path.iterdir())


def test_code_for_another_machine_is_not_run(models):
    message(tenfold("run", models / "small.mlir", "--target", "cpu:rv64gc", code=1),
            "target-not-here")


def test_shapes_that_cannot_be_are_refused(models):
    at = message(tenfold("run", models / "small.mlir", "--shape", "x=1,4", code=1),
                 "bad-shape-option")
    assert "is 3 in the model" in at
    message(tenfold("run", models / "small.mlir", "--shape", "y=1,3", code=1), "bad-shape-option")
    message(tenfold("run", models / "small.mlir", "--shape", "x=1", code=1), "bad-shape-option")


def test_an_unknown_kind_of_artifact_is_refused(models, tmp_path):
    done = tenfold("compile", models / "small.mlir", "-o", tmp_path / "m.xyz", code=1)
    message(done, "unknown-artifact")
    done = tenfold("compile", models / "small.mlir", "-o", tmp_path / "m", "--emit", "c", code=1)
    message(done, "emit-not-in-build")
    assert not list(tmp_path.iterdir())


def test_an_artifact_is_not_compiled_or_verified(artifact, tmp_path):
    message(tenfold("compile", artifact, "-o", tmp_path / "m.so", code=1), "model-is-artifact")
    message(tenfold("run", artifact, "--verify", code=1), "verify-needs-model")


def limited(bytes_):
    """For subprocess: files end at so many bytes, as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))
    return limit


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    model = tmp_path / "large.mlir"
    model.write_text(support.large(400000))  # 1.6 MB of constants
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.tenfold").write_text("precious")
    for name in ("old.tenfold", "new.tenfold"):
        done = tenfold("compile", model, "-o", out / name, code=1, preexec_fn=limited(1 << 20))
        assert "nothing was changed" in message(done, "file-write")
    assert [p.name for p in out.iterdir()] == ["old.tenfold"]
    assert (out / "old.tenfold").read_text() == "precious"
    done = tenfold("run", model, "--output-dir", out, code=1, preexec_fn=limited(1 << 20))
    message(done, "file-write")
    assert [p.name for p in out.iterdir()] == ["old.tenfold"]


def test_a_missing_folder_is_named(models, tmp_path):
    done = tenfold("compile", models / "small.mlir", "-o", tmp_path / "none" / "m.so", code=1)
    assert "folder" in message(done, "file-write")


@pytest.mark.parametrize("kind", ["artifact", "shared_object"])
def test_damaged_artifacts_are_refused(kind, request, tmp_path):
    good = request.getfixturevalue(kind).read_bytes()
    path = tmp_path / f"bad{request.getfixturevalue(kind).suffix}"
    for n in (0, 1, 7, 40, 63, 64, 100, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:n])
        done = tenfold("run", path, code=1)
        assert path.name in done.stderr
    path.write_bytes(good + b"\0")
    tenfold("run", path, code=1)


def test_mutated_artifacts_never_crash(artifact, shared_object, tmp_path):
    """Many changes in one process: whatever loads must run or be refused."""
    script = textwrap.dedent("""
        import pathlib, random, sys
        import numpy as np
        import tenfold
        refused = 0
        for name in sys.argv[2:]:
            good = pathlib.Path(name).read_bytes()
            rng = random.Random(5)
            for i in range(300):
                b = bytearray(good)
                for _ in range(rng.randint(1, 4)):
                    b[rng.randrange(len(b))] = rng.randrange(256)
                if rng.random() < 0.2:
                    del b[rng.randrange(len(b)):]
                path = pathlib.Path(sys.argv[1]) / f"m{i}{pathlib.Path(name).suffix}"
                path.write_bytes(b)
                try:
                    tenfold.load(path)(np.zeros((2, 3), np.float32))
                except tenfold.Error as e:
                    refused += 1
                    assert e.id and e.problems[0].message
                path.unlink()
        print(refused)
    """)
    done = subprocess.run([sys.executable, "-c", script, tmp_path, artifact, shared_object],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    # The rest hit padding, which nothing reads.
    assert int(done.stdout) > 400
