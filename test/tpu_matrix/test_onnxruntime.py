"""int8 models of onnxruntime's static quantizer on v1 and Edge: exactly what onnxruntime gives."""

import json
import os
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

TENFOLD = os.environ["TENFOLD_BIN"]


class Data(CalibrationDataReader):
    def __init__(self, shape):
        rng = np.random.default_rng(1)
        self.items = iter([{"x": rng.standard_normal(shape).astype(np.float32)} for _ in range(8)])

    def get_next(self):
        return next(self.items, None)


class Net:
    """A small float32 model, node by node."""

    def __init__(self, shape):
        self.shape, self.nodes, self.weights = shape, [], []
        self.rng = np.random.default_rng(2)

    def op(self, kind, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}_{name}", **attributes))
        return name

    def weight(self, *shape, scale=None):
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]))
        self.weights.append(numpy_helper.from_array(
            (self.rng.standard_normal(shape) * scale).astype(np.float32), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x, cin, cout, k, **attributes):
        group = attributes.get("group", 1)
        return self.op("Conv", [x, self.weight(cout, cin // group, k, k), self.weight(cout, scale=0.1)],
                       **attributes)

    def save(self, path, y):
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def convolutions(path):
    n = Net([1, 3, 16, 16])
    a = n.op("Relu", [n.conv("x", 3, 16, 3, strides=[2, 2], pads=[1, 1, 1, 1])])
    b = n.op("Relu", [n.conv(a, 16, 16, 3, group=16, pads=[1, 1, 1, 1])])
    c = n.conv(b, 16, 16, 1)
    d = n.op("Add", [a, c])
    e = n.op("MaxPool", [d], kernel_shape=[2, 2], strides=[2, 2])
    f = n.op("Concat", [e, n.conv(e, 16, 8, 1)], axis=1)
    g = n.op("GlobalAveragePool", [f])
    h = n.op("Flatten", [g])
    n.save(path, n.op("Gemm", [h, n.weight(24, 10, scale=0.3), n.weight(10, scale=0.1)]))
    return n.shape


def perceptron(path):
    n = Net([4, 32])
    x = "x"
    for size in (48, 24):
        x = n.op("Relu", [n.op("Add", [n.op("MatMul", [x, n.weight(32 if size == 48 else 48, size)]),
                                       n.weight(size, scale=0.1)])])
    n.save(path, n.op("Sigmoid", [n.op("MatMul", [x, n.weight(24, 12)])]))
    return n.shape


@pytest.mark.parametrize("build", [convolutions, perceptron])
@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_models_equal_onnxruntime(build, form, per_channel, tmp_path):
    shape = build(str(tmp_path / "float.onnx"))
    quant_pre_process(str(tmp_path / "float.onnx"), str(tmp_path / "pre.onnx"), skip_symbolic_shape=True)
    model = str(tmp_path / "int8.onnx")
    quantize_static(str(tmp_path / "pre.onnx"), model, Data(shape), quant_format=form,
                    per_channel=per_channel, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    expected = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    for chip in ("v1", "edge"):
        out = tmp_path / chip
        run = subprocess.run([TENFOLD, "simulate", model, "--target", f"tpu:{chip}", "--json", "--input",
                              f"x={tmp_path / 'x.npy'}", "--output-dir", str(out)],
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        got = np.load(next(out.glob("*.npy")))
        np.testing.assert_array_equal(got, expected, err_msg=chip)
        report = json.loads(run.stdout)
        for unit, causes in report["units"].items():
            assert sum(causes.values()) == report["cycles"], unit
        # Only the first quantization and what follows the last int8 value run on the host.
        on_host = {h["op"] for h in report["host_ops"]}
        assert not on_host & {"stablehlo.convolution", "stablehlo.dot_general"}, report["host_ops"]
