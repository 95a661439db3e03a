"""docs page: every op of the standard by opset and type, found out by trying.

    onnx_coverage.py OUT.md

For each op, each opset that changed it, and each element type of its first type parameter, models
that the samplers of test/onnx make (for ops without one: onnx's node tests) go through the importer
and the evaluator.
"""
import collections
import pathlib
import sys
import warnings

import numpy as np
import tenfold
from onnx import defs, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test" / "onnx"))
import gen_elementwise  # noqa: E402,F401: registers its samplers
import gen_linear  # noqa: E402,F401
import gen_structure  # noqa: E402,F401
from gen_graph import SAMPLERS, Graph, np_dtype  # noqa: E402

FIRST, NEWEST, NEWEST_ML = 7, 28, 5
SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "uint8": "u8",
         "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8", "int16": "i16",
         "int32": "i32", "int64": "i64", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
         "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz",
         "float8_e8m0fnu": "f8e8m0", "float4_e2m1fn": "f4e2m1", "str": "string"}
ORDER = ["f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"]


def short(dtype):
    return SHORT.get(np.dtype(dtype).name.rstrip("0123456789") if np.dtype(dtype).kind == "U"
                     else np.dtype(dtype).name, np.dtype(dtype).name)


class Typed(Graph):
    """A graph whose samplers get one type wherever it is allowed."""
    forced = None

    def a_type(self, schema, param="T", among=None):
        if self.forced in self.types(schema, param):
            return self.forced
        return super().a_type(schema, param, among)


def tried(model, feed):
    """"" when the evaluator gives results, else the id of the refusal."""
    try:
        tenfold.evaluate(model, feed, name="m.onnx")
        return ""
    except tenfold.Error as e:
        return e.id


def probe(key, schema, opset, dtype):
    """Whether a model of this op on this type is taken; None: no model of it was made."""
    for seed in range(8):
        g = Typed(seed, opset)
        g.forced = np.dtype(dtype)
        node = SAMPLERS[key](g, schema)
        if node is None or not any(g[i].dtype == g.forced for i in node.inputs if i):
            continue
        outs = g.add(key[1], key[0], node)
        return tried(g.model(outs).SerializeToString(), g.inputs)
    return None


def of_node_tests():
    """{(domain, op): {type: refusal or ""}} of the tests that have one node."""
    warnings.filterwarnings("ignore")
    import onnx.backend.test.case.node as node
    from onnx import TensorProto, numpy_helper
    found = collections.defaultdict(dict)
    for t in node.collect_testcases(None):
        nodes, graph = t.model.graph.node, t.model.graph
        if len(nodes) != 1 or (nodes[0].domain, nodes[0].op_type) in SAMPLERS:
            continue
        feed, first = {}, None
        for i, v in zip(graph.input, t.data_sets[0][0]):
            kind = i.type.WhichOneof("value")
            if kind == "tensor_type":
                first = first or (short(helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type))
                                  if i.type.tensor_type.elem_type != TensorProto.STRING else "string")
            if isinstance(v, (list, tuple)):
                feed |= {f"{i.name}.{k}": np.asarray(x) for k, x in enumerate(v)} or {i.name: []}
                first = first or "sequence"
            elif v is not None:
                feed[i.name] = numpy_helper.to_array(v) if isinstance(v, TensorProto) else np.asarray(v)
            else:
                feed[i.name] = None
        try:
            why = tried(t.model.SerializeToString(), feed)
        except TypeError:
            why = "onnx-unsupported-type"
        types = found[nodes[0].domain, nodes[0].op_type]
        types[first or "-"] = "" if types.get(first or "-", why) == "" else why
    return found


def rows():
    """(domain, op, opset, {type: "" | refusal}) for every op, version by version."""
    by_tests = of_node_tests()
    versions = collections.defaultdict(dict)
    for s in defs.get_all_schemas_with_history():
        versions[s.domain, s.name][s.since_version] = s
    for (domain, op), of in sorted(versions.items()):
        newest = {"": NEWEST, "ai.onnx.ml": NEWEST_ML}.get(domain, 1)
        starts = sorted(of)
        for k, since in enumerate(starts):
            last = starts[k + 1] - 1 if k + 1 < len(starts) else newest
            s = of[since]
            if s.deprecated or (domain == "" and last < FIRST):
                continue
            key, opset = (domain, op), max(min(last, newest), since)
            if key not in SAMPLERS:
                yield domain, op, since, dict(by_tests.get(key, {})) if k + 1 == len(starts) else {}
                continue
            param = s.inputs[0].type_str if s.inputs else s.outputs[0].type_str
            types = next((c.allowed_type_strs for c in s.type_constraints
                          if c.type_param_str == param), [param])
            verdict = {}
            for t in types:
                d = np_dtype(t)
                if d is None:
                    continue
                why = probe(key, s, opset if domain == "" else 21, d)
                if why is not None:
                    verdict[short(d)] = why
            yield domain, op, since, verdict


def listed(types):
    return ", ".join(sorted(types, key=lambda t: (ORDER.index(t) if t in ORDER else 99, t)))


def page():
    lines = ["# ONNX by op, opset and element type", "",
             "Made by trying: `tools/docgen/onnx_coverage.py` sends models of every op, opset and type of "
             "its first input through the importer and the evaluator. `-` where neither a sampler of "
             "`test/onnx` nor a node test of the `onnx` package makes a model of it; text is refused "
             "throughout.", "",
             "| domain | op | since opset | taken | refused |", "|---|---|---|---|---|"]
    for domain, op, since, types in rows():
        taken = [t for t, why in types.items() if not why]
        refused = [f"{t} ({why})" for t, why in sorted(types.items()) if why]
        lines.append(f"| {domain or 'ai.onnx'} | {op} | {since} | {listed(taken) or '-'} | "
                     f"{', '.join(refused) or '-'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(page())
