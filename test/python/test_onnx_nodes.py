"""onnx's own node tests, through compiled code: none wrong, none crashing, few refused.

TENFOLD_LONG_TESTS adds -O0. Refusals are held to MAX_REFUSED and to the reasons in REASONS, which
docs/limits.md explains.
"""
import collections
import multiprocessing
import os
import queue
import signal
import warnings

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import tenfold

MAX_REFUSED = 0.03  # of all node tests
REASONS = {"onnx-unsupported-type", "onnx-unsupported", "onnx-invalid", "onnx-needs-value",
           "bad-shape-option",
           "onnx-needs-shape", "onnx-unknown-rank", "lower-unsupported", "input-dtype"}
# Results that the standard leaves to chance: only that they run is checked.
RANDOM = ("test_bernoulli", "test_training_dropout", "test_multinomial")
LEVELS = [3, 0] if os.environ.get("TENFOLD_LONG_TESTS") else [3]


def collect():
    warnings.filterwarnings("ignore")
    import onnx.backend.test.case.node as node
    return {t.name: t for t in node.collect_testcases(None)}


def array(x):
    if isinstance(x, onnx.TensorProto):
        return numpy_helper.to_array(x)
    return None if x is None else np.asarray(x)


def flat(names, values):
    """Sequences as NAME.0, NAME.1 ..., what is absent left out."""
    out = {}
    for name, v in zip(names, values):
        if isinstance(v, (list, tuple)):
            out |= {f"{name}.{i}": array(x) for i, x in enumerate(v)}
        elif v is not None:
            out[name] = array(v)
    return out


def differs(got, want, rtol, atol):
    if got.shape != want.shape:
        return f"shape {got.shape}, wanted {want.shape}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, wanted {want.dtype}"
    kind = str(want.dtype)
    if "float" in kind or "complex" in kind:
        wide = np.complex128 if "complex" in kind else np.float64
        g, w = got.astype(wide), want.astype(wide)
        if kind in ("float32", "float64", "complex64", "complex128"):
            r, a = max(rtol, 1e-3), max(atol, 1e-5)
        else:
            r, a = 2e-2, 1e-2
        if not np.allclose(g, w, rtol=r, atol=a, equal_nan=True):
            return f"values, by up to {np.nanmax(np.abs(g - w))}"
    elif not np.array_equal(got, want):
        return f"{(got != want).sum()} of {got.size} values"
    return None


def run(test, level):
    """('ok' | 'refused' | 'wrong', why)"""
    graph = test.model.graph
    names = [i.name for i in graph.input]
    for inputs, wanted in test.data_sets:
        try:
            given = flat(names, inputs)
            model = tenfold.compile(test.model.SerializeToString(), opt_level=level, threads=1,
                                    examples=given, name=test.name + ".onnx")
            got = model(**{i.name: given[i.name] for i in model.inputs})
        except tenfold.Error as e:
            return "refused", f"{e.id}: {str(e)[:200]}"
        except TypeError as e:  # text and objects are no arrays for Tenfold
            return "refused", f"onnx-unsupported-type: {e}"
        except KeyError as e:
            return "refused", f"input-dtype: no array stands for input {e}"
        got = got if isinstance(got, tuple) else (got,)
        if test.name.startswith(RANDOM):
            continue
        by_name = dict(zip([o.name for o in model.outputs], got))
        for name, want in flat([o.name for o in graph.output], wanted).items():
            if name not in by_name:
                return "wrong", f"no output {name} among {sorted(by_name)}"
            why = differs(np.asarray(by_name[name]), want, test.rtol, test.atol)
            if why:
                return "wrong", f"output {name}: {why}"
    return "ok", ""


def work(tests, level, out):
    for t in tests:
        out.put((t.name, None, ""))
        signal.alarm(60)
        try:
            verdict = run(t, level)
        except Exception as e:  # noqa: BLE001: any other exception is a bug of ours
            verdict = "wrong", repr(e)[:300]
        signal.alarm(0)
        out.put((t.name, *verdict))
    out.put(None)


def run_all(tests, level):
    """Every test in a process that may die; the one it dies in is named."""
    verdicts, left = {}, list(tests.values())
    while left:
        out = multiprocessing.get_context("fork").Queue()
        p = multiprocessing.get_context("fork").Process(target=work, args=(left, level, out))
        p.start()
        current, finished = None, False
        while not finished:
            try:
                item = out.get(timeout=2)
            except queue.Empty:
                if not p.is_alive():
                    break
                continue
            if item is None:
                finished = True
            elif item[1] is None:
                current = item[0]
            else:
                verdicts[item[0]] = item[1:]
        p.join()
        if not finished:
            assert current and current not in verdicts, "the worker died between tests"
            verdicts[current] = "crash", f"exit {p.exitcode}"
        left = [t for t in left if t.name not in verdicts]
    return verdicts


@pytest.fixture(scope="module")
def tests():
    return collect()


@pytest.mark.parametrize("level", LEVELS)
def test_node_tests(tests, level):
    assert len(tests) > 1500
    verdicts = run_all(tests, level)
    count = collections.Counter(v[0] for v in verdicts.values())
    bad = {n: w for n, (v, w) in verdicts.items() if v in ("wrong", "crash")}
    refused = {n: w for n, (v, w) in verdicts.items() if v == "refused"}
    print(f"-O{level}: {dict(count)}")
    for n, w in sorted(refused.items()):
        print(f"refused {n}: {w}")
    for n, w in sorted(bad.items()):
        print(f"bad {n}: {w}")
    assert not bad
    assert {w.split(":")[0] for w in refused.values()} <= REASONS
    assert len(refused) <= MAX_REFUSED * len(verdicts)
