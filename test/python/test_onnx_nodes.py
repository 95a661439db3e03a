"""onnx's own node tests and the models in its wheel, through compiled code, by its own comparison.

Exactly those of refused.txt are refused, those of other_answers.txt (with the reasons) give other
numbers, and where the standard leaves values to chance, what it does say of them is checked. -O0
runs every seventh node test; TENFOLD_LONG_TESTS has it run all.
"""
import functools
import os
import pathlib
import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

import onnx_runner

LISTS = pathlib.Path(__file__).parents[1] / "onnx"
LONG = bool(os.environ.get("TENFOLD_LONG_TESTS"))
KINDS = ("simple", "pytorch-converted", "pytorch-operator", "real")


def names(file):
    lines = (LISTS / file).read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


REFUSED, OTHER = names("refused.txt"), names("other_answers.txt")


def drawn(inputs, got, want):
    """What holds of a random result whatever was drawn."""
    for n, w in want.items():
        if got[n].shape != w.shape or got[n].dtype != w.dtype:
            return f"output {n}: {got[n].dtype}{got[n].shape}, wanted {w.dtype}{w.shape}"
    values = got[next(iter(want))]
    if "ratio" not in inputs and "r" not in inputs and "t" not in inputs:
        return None if np.isin(values, (0, 1)).all() else "neither 0 nor 1"
    x, ratio = inputs["x"], inputs.get("r", np.float32(0.5))
    kept = got["z"] if "z" in got else values != 0
    if not np.allclose(values, np.where(kept, x / (1 - ratio), 0), rtol=1e-6):
        return "values that are neither dropped nor scaled"
    return None


@functools.cache
def node_tests():
    warnings.filterwarnings("ignore")
    import onnx.backend.test.case.node as node
    return {t.name: t for t in node.collect_testcases(None)}


@pytest.mark.parametrize("level", [3, 0])
def test_node_tests(level):
    tests = node_tests()
    assert len(tests) >= 1884
    if level == 0 and not LONG:
        tests = {n: tests[n] for n in sorted(tests)[::7]}
    chance = {n for n in OTHER if "bernoulli" in n or "training_dropout" in n}

    def job(t):
        return lambda: onnx_runner.check(t.model, t.data_sets, t.rtol, t.atol, level,
                                         drawn if t.name in chance else None)

    verdicts = onnx_runner.run_all({n: job(t) for n, t in tests.items()})
    others = (OTHER - chance) & verdicts.keys()
    assert {n for n in others if verdicts[n][0] != "wrong"} == set(), "listed, but they agree"
    onnx_runner.assert_right({n: v for n, v in verdicts.items() if n not in others}, REFUSED)
    assert len(REFUSED & tests.keys()) <= 0.03 * len(tests) or level == 0


def read(file, kind):
    proto = {"tensor_type": onnx.TensorProto, "sequence_type": onnx.SequenceProto,
             "optional_type": onnx.OptionalProto}[kind]()
    proto.ParseFromString(file.read_bytes())
    return (numpy_helper.to_array if kind == "tensor_type" else numpy_helper.to_list)(proto)


def stored(folder):
    """The model and data sets of a folder with model.onnx and test_data_set_*."""
    folder = pathlib.Path(folder)
    model = onnx.load(folder / "model.onnx")

    def values(data, stem, infos):
        files = sorted(data.glob(f"{stem}_*.pb"), key=lambda f: int(f.stem.split("_")[1]))
        return [read(f, i.type.WhichOneof("value")) for f, i in zip(files, infos)]

    return model, [(values(d, "input", model.graph.input), values(d, "output", model.graph.output))
                   for d in sorted(folder.glob("test_data_set_*"))]


def light(url):
    """A network with its weights made by ConstantOfShape, and the answer beside it."""
    file = pathlib.Path(onnx.__file__).parents[1] / url
    model = onnx.load(file)
    defaults = {i.name for i in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(i) for i in model.graph.input if i.name not in defaults]
    answer = file.with_name(file.stem + "_output_0.pb")
    return model, [(inputs, [read(answer, "tensor_type")])]


@pytest.mark.parametrize("level", [3, 0] if LONG else [3])
def test_models_of_the_wheel(level):
    def job(t):
        def run():
            model, data = light(t.url) if t.url else stored(t.model_dir)
            return onnx_runner.check(model, data, t.rtol, t.atol, level)
        return run

    tests = [t for kind in KINDS for t in load_model_tests(kind=kind)]
    assert len(tests) >= 149
    if level == 0:  # plain loops take minutes for the large ones
        tests = [t for t in tests if t.kind != "real"]
    verdicts = onnx_runner.run_all({t.name: job(t) for t in tests})
    onnx_runner.assert_right(verdicts, REFUSED)
