"""The cases of test/cases (its README says what each is and where its answers come from).

Every answer at -O0 and -O3, on one thread and on two; broken files are refused by the program with
exit code 1, in time, in little memory and with nothing written.
"""

import json
import os
import pathlib
import resource
import subprocess

import numpy as np
import pytest
import tenfold

CASES = pathlib.Path(__file__).resolve().parents[1] / "cases"
BIN = os.environ["TENFOLD_BIN"]
REFUSED = {"qdq_axes": "a build without QuantizeLinear refuses it"}  # passes where it is taken
SECONDS, ADDRESS_SPACE = 10, 8 << 30  # LLVM and thread stacks reserve far more than they touch


def checks(expect):
    found = []
    for folder in sorted(p.parent for p in CASES.glob("*/case.json")):
        for check in json.loads((folder / "case.json").read_text())["checks"]:
            if check["expect"] == expect:
                found.append(pytest.param(folder, check, id=f"{folder.name}/{check['id']}"))
    return found


@pytest.fixture(scope="module")
def compiled():
    """One compilation a model, level and thread count, shared by the checks of a case."""
    models = {}

    def get(path, level, threads):
        key = (path, level, threads)
        if key not in models:
            models[key] = tenfold.load(path, opt_level=level, threads=threads)
        return models[key]

    return get


def assert_same(got, want, rtol, atol, name):
    assert got.shape == want.shape, f"{name}: shape"
    if got.dtype != want.dtype:  # types that NumPy lacks are stored as raw bytes
        assert got.dtype.itemsize == want.dtype.itemsize and want.dtype.kind == "V", f"{name}: type"
        got = got.view(want.dtype)
    if want.dtype.kind in "fc":
        if rtol == 0 and atol == 0:
            np.testing.assert_array_equal(got, want, err_msg=name)
            same_sign = np.signbit(got.real) == np.signbit(want.real)
            assert (same_sign | np.isnan(want)).all(), f"{name}: sign of zero"
        else:
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=name)
    elif rtol == 0 and atol == 0:
        assert got.tobytes() == want.tobytes(), f"{name}: {got} is not {want}"
    else:  # a quantized result may be units off, as its case says
        off = np.abs(got.astype(np.float64) - want.astype(np.float64))
        assert (off <= atol + rtol * np.abs(want)).all(), f"{name}: {got} is not {want}"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("folder,check", checks("match"))
def test_answer(compiled, folder, check, level, threads):
    if not tenfold.check(folder / check["model"]).ok and folder.name in REFUSED:
        pytest.xfail(REFUSED[folder.name])
    model = compiled(folder / check["model"], level, threads)
    got = model.run([np.load(folder / i["file"]) for i in check["inputs"]])
    assert len(got) == len(check["outputs"])
    for value, want in zip(got.values(), check["outputs"]):
        assert_same(value, np.load(folder / want["file"]), want["rtol"], want["atol"], want["name"])
    assert model.recompilations == []


@pytest.mark.parametrize("command", ["run", "compile", "check"])
@pytest.mark.parametrize("folder,check", checks("error"))
def test_broken(folder, check, command, tmp_path):
    args = {"run": ["--output-dir", str(tmp_path / "out")],
            "compile": ["-o", str(tmp_path / "out.tenfold")], "check": []}[command]
    for i in check.get("inputs", []):
        if command == "run":
            args += ["--input", f"{i['name']}={folder / i['file']}"]
    before = sorted(folder.rglob("*"))
    done = subprocess.run(
        [BIN, command, str(folder / check["model"]), *args], capture_output=True, text=True,
        timeout=SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)))
    assert done.returncode == 1, done.stderr
    assert check["model"].split("/")[-1] in done.stderr + done.stdout
    assert "assert" not in (done.stderr + done.stdout).lower()
    assert list(tmp_path.iterdir()) == [] and sorted(folder.rglob("*")) == before


def test_memory_of_refusals():
    """Refusing the broken files never took a gigabyte: the peak over all children so far."""
    for param in checks("error"):
        folder, check = param.values
        subprocess.run([BIN, "check", str(folder / check["model"])], capture_output=True)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1 << 20  # KiB


@pytest.mark.parametrize("level", [0, 3])
def test_lengths_share_one_compilation(level):
    folder = CASES / "dynamic_lengths"
    case = json.loads((folder / "case.json").read_text())
    model = tenfold.load(folder / "model.onnx", opt_level=level)
    shapes = set()
    for check in case["checks"]:
        x = np.load(folder / check["inputs"][0]["file"])
        shapes.add(x.shape)
        model.run([x])
    assert len(shapes) == 10
    assert model.recompilations == []
