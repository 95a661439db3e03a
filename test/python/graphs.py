"""Small ONNX graphs written as lines, as an exporter would write them: run by Tenfold and compared."""

import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
import tenfold
from onnx import helper, numpy_helper


class Graph:
    """Collects nodes; `g("Add", x, y)` gives the name of the result, arrays become initializers."""

    def __init__(self, opset=18, **inputs):
        self.opset, self.feed = opset, inputs
        self.nodes, self.constants = [], []

    def const(self, a):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(a), name))
        return name

    def __call__(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [i if isinstance(i, str) else "" if i is None else self.const(i) for i in inputs]
        outs = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, names, outs, domain=domain, **attributes))
        return outs[0] if outputs == 1 else outs

    def model(self, *outputs, shapes={}):
        """`shapes`: dimensions of inputs by name, with names for open ones."""
        infos = [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(a.dtype), shapes.get(n, a.shape)
            )
            for n, a in self.feed.items()
        ]
        graph = helper.make_graph(
            self.nodes, "graph", infos, [onnx.ValueInfoProto(name=o) for o in outputs], self.constants
        )
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString()


def reference(model, feed):
    """What onnxruntime computes without its own graph rewriting."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feed)


def run(model, feed, level=3):
    out = tenfold.compile(model, name="graph.onnx", threads=1, opt_level=level).run(feed)
    out = list(out.values()) if isinstance(out, dict) else out
    out = out if isinstance(out, (list, tuple)) else [out]
    return [np.asarray(o) for o in out]


def evaluated(model, feed):
    out = tenfold.evaluate(model, feed, name="graph.onnx")
    return [np.asarray(o) for o in out.values()]


def dump(model, folder, *arguments):
    """The last graph and all kernels, as text."""
    path = pathlib.Path(folder) / "graph.onnx"
    path.write_bytes(model)
    out = pathlib.Path(folder) / "dump"
    subprocess.run(
        [os.environ["TENFOLD_BIN"], "compile", path, "-o", path.with_suffix(".tenfold")]
        + ["--dump", out, *arguments],
        check=True,
        capture_output=True,
    )
    last = sorted(out.glob("*.mlir"))[-1].read_text()
    kernels = "".join(k.read_text() for k in sorted(out.glob("kernel-*.loop")))
    return last, kernels


def error(got, want):
    """Largest difference relative to the largest value."""
    got, want = got.astype(np.float64), want.astype(np.float64)
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)
