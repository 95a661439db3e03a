"""onnx's own backend tests through compiled code, with onnx's own comparison.

Each runs in a process that may die; the test it dies in is named.
"""
import multiprocessing
import queue
import signal

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

import tenfold

SECONDS = 180  # of one test, on a busy machine


def array(x):
    if isinstance(x, onnx.TensorProto):
        return numpy_helper.to_array(x)
    return None if x is None else np.asarray(x)


def flat(names, values):
    """Items of sequences as NAME.0, NAME.1 ...; an empty sequence is [], an empty optional None."""
    out = {}
    for name, v in zip(names, values):
        if isinstance(v, (list, tuple)) and v:
            out |= {f"{name}.{i}": array(x) for i, x in enumerate(v)}
        else:
            out[name] = v if isinstance(v, (list, tuple)) else array(v)
    return out


def differs(got, want, rtol, atol):
    """Why onnx's runner would fail, or None."""
    try:
        Runner.assert_similar_outputs([want], [got], rtol, atol)
    except AssertionError as e:
        return " ".join(str(e).split())[:300]
    return None


def check(model, data_sets, rtol, atol, level, compare=None):
    """('ok' | 'refused' | 'wrong', why). compare(inputs, got, want) stands in for differs() where
    the standard leaves the values to chance."""
    graph = model.graph
    defaults = {i.name for i in graph.initializer}
    names = [i.name for i in graph.input if i.name not in defaults]
    for inputs, wanted in data_sets:
        # A data set may give values for inputs with a default too: then it counts all of them.
        given = flat(names if len(inputs) <= len(names) else [i.name for i in graph.input], inputs)
        wanted = flat([o.name for o in graph.output], wanted)
        try:
            compiled = tenfold.compile(model.SerializeToString(), opt_level=level, threads=1,
                                       examples=given, name=graph.name + ".onnx")
            got = compiled.run({i.name: given[i.name] for i in compiled.inputs})
        except tenfold.Error as e:
            return "refused", f"{e.id}: {str(e)[:200]}"
        except TypeError as e:  # text and objects are no arrays for Tenfold
            return "refused", f"onnx-unsupported-type: {e}"
        except KeyError as e:
            return "refused", f"input-dtype: no array stands for input {e}"
        wanted = {n: w for n, w in wanted.items() if w is not None and not isinstance(w, list)}
        if set(wanted) != set(got):
            return "wrong", f"outputs {sorted(got)}, wanted {sorted(wanted)}"
        if compare:
            why = compare(given, got, wanted)
            if why:
                return "wrong", why
            continue
        for name, want in wanted.items():
            why = differs(np.asarray(got[name]), want, rtol, atol)
            if why:
                return "wrong", f"output {name}: {why}"
    return "ok", ""


def _work(jobs, out):
    for name, job in jobs:
        out.put((name, None, ""))
        signal.alarm(SECONDS)
        try:
            verdict = job()
        except Exception as e:  # noqa: BLE001: any other exception is a bug of ours
            verdict = "wrong", repr(e)[:300]
        signal.alarm(0)
        out.put((name, *verdict))
    out.put(None)


def run_all(jobs):
    """{name: (verdict, why)} of {name: job}, the jobs one after another."""
    verdicts, left = {}, list(jobs.items())
    fork = multiprocessing.get_context("fork")
    while left:
        out = fork.Queue()
        p = fork.Process(target=_work, args=(left, out))
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
        left = [(n, j) for n, j in left if n not in verdicts]
    return verdicts


def assert_right(verdicts, listed):
    """None wrong, none crashing, and exactly the listed ones refused."""
    bad = {n: w for n, (v, w) in verdicts.items() if v in ("wrong", "crash")}
    refused = {n: w for n, (v, w) in verdicts.items() if v == "refused"}
    for n, w in sorted(bad.items()):
        print(f"bad {n}: {w}")
    for n in sorted(refused.keys() - listed):
        print(f"refused {n}: {refused[n]}")
    assert not bad
    assert refused.keys() - listed == set(), "refused, but not listed"
    assert (listed & verdicts.keys()) - refused.keys() == set(), "listed, but not refused"
