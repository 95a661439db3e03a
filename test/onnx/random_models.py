"""Random valid ONNX models: onnxruntime (or onnx's reference) against the evaluator and compiled code.

    random_models.py [--seconds S] [--first SEED] [--count N] [--op OP] [--keep FOLDER]

Each seed is one model of one to four nodes at a random opset. Prints every disagreement with its
seed, and what ran. A disagreement is decided by the standard's text; where onnxruntime is the one
that departs from it, the sampler leaves that out and says why.
"""
import argparse
import collections
import os
import pathlib
import time
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import defs
from onnx.reference import ReferenceEvaluator

import gen_elementwise  # noqa: F401: registers its samplers
import gen_linear  # noqa: F401
import gen_structure  # noqa: F401
from gen_graph import SAMPLERS, Graph
import tenfold

NEWEST = 26
ML_OPSET = 3
ROOM = {"float32": 1e-4, "float64": 1e-7, "float16": 4e-3, "bfloat16": 3e-2}
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 4
ort.set_default_logger_severity(4)

JUMPS = {"ArgMax", "ArgMin", "BlackmanWindow", "Cast", "CastLike", "Ceil", "DynamicQuantizeLinear", "Equal",
         "Floor", "Greater", "GreaterOrEqual", "Hardmax", "IsInf", "IsNaN", "Less", "LessOrEqual", "Mod",
         "NonMaxSuppression", "NonZero", "OneHot", "QuantizeLinear", "Reciprocal", "Round", "Shrink",
         "Sign", "ThresholdedRelu", "TopK", "Unique", "Loop", "Div", "Log", "Tan", "Binarizer",
         "LpNormalization", "Normalizer", "LayerNormalization", "InstanceNormalization"}

# No sequence lengths; stacked results joined; wrong beyond two spatial dimensions; NumPy's own types
# of sums of integers; norms of other formulas; 8-bit floats as integers.
NOT_BY_REFERENCE = {"Normalizer", "LpNormalization", "Constant", "RNN", "GRU", "LSTM", "Loop", "GlobalMaxPool", "ReduceSumSquare", "ReduceSum",
                    "ReduceProd", "ReduceL1"}

def schema_at(domain, op, opset):
    try:
        s = defs.get_schema(op, ML_OPSET if domain else opset, domain)
    except defs.SchemaError:
        return None
    return None if s.deprecated else s


def run_ort(model, feed, names):
    if any(a.dtype.kind == "V" or a.dtype.name == "bfloat16" for a in feed.values()):
        return None  # no way into onnxruntime from Python
    try:
        s = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return s.run(names, feed)
    except Exception:  # noqa: BLE001: whatever it cannot run
        return None


def run_reference(model, feed, names):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ReferenceEvaluator(onnx.load_model_from_string(model)).run(names, feed)
    except Exception:  # noqa: BLE001
        return None


def room(arrays, extra):
    """Of a comparison: the coarsest float type that took part decides."""
    found = [ROOM.get(a.dtype.name, 0.26 if a.dtype.name.startswith("float8") else 0) for a in arrays]
    return max([*found, extra])


def differs(got, want, tolerance, quantized):
    if got.shape != want.shape:
        return f"shape {got.shape}, wanted {want.shape}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, wanted {want.dtype}"
    g, w = got.astype(np.float64), want.astype(np.float64)
    if want.dtype.kind in "fV" and "int" not in want.dtype.name:
        peak = np.abs(w[np.isfinite(w)]).max(initial=1e-3)
        if not np.allclose(g, w, rtol=tolerance, atol=tolerance * peak, equal_nan=True):
            with np.errstate(invalid="ignore"):
                return f"values by {np.nanmax(np.abs(g - w)):.3g} of {peak:.3g}"
    elif quantized:
        if np.abs(g - w).max(initial=0) > 1:
            return "quantized values by more than one"
    elif not np.array_equal(got, want):
        return f"{(got != want).sum()} of {got.size} values"
    return None


class Case:
    """One seed's model, its inputs, and the wanted values of its results."""

    def __init__(self, seed, op=None):
        rng = np.random.default_rng((seed, 1))
        for attempt in range(50):
            self.g = g = Graph((seed, 2, attempt), int(rng.integers(7, NEWEST + 1)))
            self.oracle, self.nodes, self.wanted, self.extra = None, [], {}, 0.0
            for i in range(int(rng.choice([1, 1, 2, 3, 4]))):
                if not self.grow(op if i == 0 else None):
                    break
            if self.nodes:
                break

    def grow(self, op):
        g = self.g
        names = [k for k in sorted(SAMPLERS) if op in (None, k[1])]
        key = g.pick(names)
        schema = schema_at(*key, g.opset)
        if schema is None:
            return False
        before = dict(g.inputs), dict(g.initializers), len(g.nodes)
        pool = g.pool
        if key[1] in JUMPS:  # a rounding before it may become any difference after it
            g.pool = {n: a for n, a in pool.items() if a.dtype.kind in "iub"}
        node = SAMPLERS[key](g, schema)
        g.pool = pool
        if node is None:
            return False
        outs = g.add(key[1], key[0], node)
        model = g.model(outs).SerializeToString()
        oracles = [("onnxruntime", run_ort)]
        # onnx's reference knows the newest meaning of an op only.
        if g.opset >= 18 and not NOT_BY_REFERENCE & {n.op_type for n in g.nodes}:
            oracles.append(("reference", run_reference))
        for oracle, run in oracles:
            values = run(model, g.inputs, outs)
            if values is not None:
                break
        else:
            oracle = None
        if values is None or any(not isinstance(v, np.ndarray) for v in values):
            if self.nodes or values is not None:
                g.inputs, g.initializers = before[:2]
                del g.nodes[before[2]:]
                return False
            oracle, values = None, [None] * len(outs)
        self.oracle = oracle if self.oracle in (None, oracle) else "both"
        self.extra = max(self.extra, node.rtol)
        self.nodes.append((key[1], schema.since_version))
        for n, v in zip(outs, values):
            self.wanted[n] = v
            if v is not None:
                g.pool[n] = v
        return oracle is not None

    def check(self, level):
        """[(what, why)] of everything that differs; refusals are ("refused", message)."""
        g, found = self.g, []
        outs = [n for n in self.wanted]
        open_dims = {(n, i) for n, a in g.inputs.items() for i in range(a.ndim) if g.chance(0.15)}
        self.model = g.model(outs, open_dims).SerializeToString()
        tolerance = room([*g.inputs.values(), *g.initializers.values(),
                          *[v for v in self.wanted.values() if v is not None]], self.extra)
        quantized = any("Quant" in n.op_type for n in g.nodes)
        results = {}
        for what, run in (("evaluator", lambda: tenfold.evaluate(self.model, g.inputs, name="m.onnx")),
                          (f"-O{level}", lambda: tenfold.compile(
                              self.model, opt_level=level, threads=1, examples=g.inputs,
                              name="m.onnx").run(g.inputs))):
            try:
                results[what] = run()
            except tenfold.Error as e:
                found.append(("refused" if self.oracle else "refused, as all do", f"{what}: {e}"))
                continue
            for n, want in self.wanted.items():
                if want is None:
                    want = results.get("evaluator", {}).get(n)
                if want is None or n not in results[what]:
                    continue
                why = differs(np.asarray(results[what][n]), np.asarray(want), tolerance, quantized)
                if why:
                    found.append((what, f"{n}: {why}"))
                    break
        return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=10**9)
    p.add_argument("--op")
    p.add_argument("--keep", type=pathlib.Path)
    a = p.parse_args()
    end, ran, ops, oracles = time.time() + a.seconds, 0, collections.Counter(), collections.Counter()
    bad = 0
    for seed in range(a.first, a.first + a.count):
        if time.time() > end:
            break
        case = Case(seed, a.op)
        if not case.nodes:
            continue
        print(f"seed {seed}", end="\r", flush=True)  # stays when it crashes
        ran += 1
        oracles[case.oracle] += 1
        ops.update(case.nodes)
        for what, why in case.check([3, 0, 3, 1, 3, 2][seed % 6]):
            if what == "refused, as all do":
                continue
            bad += 1
            print(f"seed {seed} opset {case.g.opset} {case.nodes} ({case.oracle}) {what}: {why[:300]}",
                  flush=True)
            if a.keep:
                onnx.save(onnx.load_model_from_string(case.model), a.keep / f"{seed}.onnx")
                np.savez(a.keep / f"{seed}.npz", **case.g.inputs)
    print(f"{ran} models, {len(ops)} of op and version, oracles {dict(oracles)}, {bad} findings")
    missing = sorted({k[1] for k in SAMPLERS} - {o for o, _ in ops})
    if a.count > 2000 and missing:
        print("never drawn:", missing)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
