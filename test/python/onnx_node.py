"""Models of one ONNX node, what onnxruntime makes of them, and what Tenfold does."""

import numpy as np
import onnx
import onnxruntime as ort
import tenfold
from onnx import helper, numpy_helper

_options = ort.SessionOptions()
_options.intra_op_num_threads = 1
_options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
_options.log_severity_level = 4


class Node:
    """A node on arrays. `const` lists the inputs that are initializers, `skip` the outputs left
    out; an input of None is absent."""

    def __init__(
        self,
        name,
        op,
        inputs,
        outputs=1,
        domain="com.microsoft",
        const=(),
        skip=(),
        rtol=1e-4,
        atol=1e-5,
        opset=21,
        **attributes,
    ):
        self.name, self.rtol, self.atol = name, rtol, atol
        names = [f"i{k}" if a is not None else "" for k, a in enumerate(inputs)]
        while names and not names[-1]:
            names.pop()
        outs = [f"o{k}" if k not in skip else "" for k in range(outputs)]
        self.outputs = [o for o in outs if o]
        self.feed = {f"i{k}": a for k, a in enumerate(inputs) if a is not None and k not in const}
        graph = helper.make_graph(
            [helper.make_node(op, names, outs, domain=domain, **attributes)],
            "node",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                for n, a in self.feed.items()
            ],
            [onnx.ValueInfoProto(name=o) for o in self.outputs],
            [numpy_helper.from_array(inputs[k], f"i{k}") for k in const],
        )
        imports = [helper.make_opsetid("", opset)]
        if domain:
            imports.append(helper.make_opsetid(domain, 3 if domain == "ai.onnx.ml" else 1))
        self.model = helper.make_model(
            graph, opset_imports=imports, ir_version=10
        ).SerializeToString()

    def __repr__(self):
        return self.name

    def wanted(self):
        session = ort.InferenceSession(self.model, _options, providers=["CPUExecutionProvider"])
        return session.run(self.outputs, self.feed)

    def check(self, got):
        for name, g, w in zip(self.outputs, list(got), self.wanted()):
            assert g.dtype == w.dtype and g.shape == w.shape, name
            np.testing.assert_allclose(
                g.astype(np.float64), w.astype(np.float64), self.rtol, self.atol, err_msg=name
            )

    def evaluated(self):
        return _values(tenfold.evaluate(self.model, self.feed, name="node.onnx"))

    def compiled(self, level):
        model = tenfold.compile(self.model, name="node.onnx", threads=1, opt_level=level)
        return _values(model.run(self.feed))


def _values(result):
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, (list, tuple)) else [result]
