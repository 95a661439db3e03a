"""Writes small ONNX models into the folder given: what onnx_fuzz starts from."""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, I = TensorProto.FLOAT, TensorProto.INT64


def model(name, nodes, inputs, outputs, initializers=(), opset=17):
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in initializers],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    (out / f"{name}.onnx").write_bytes(made.SerializeToString())


def node(op, ins, outs, **attributes):
    return helper.make_node(op, ins, outs, **attributes)


out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
f32 = np.float32
model("mlp", [node("Gemm", ["x", "w", "b"], ["h"], transB=1), node("Relu", ["h"], ["y"])],
      [("x", F, ["n", 4])], [("y", F, ["n", 3])],
      [("w", np.ones((3, 4), f32)), ("b", np.zeros(3, f32))])
model("conv", [node("Conv", ["x", "w"], ["h"], pads=[1, 1, 1, 1], strides=[2, 2]),
               node("BatchNormalization", ["h", "s", "s", "s", "s"], ["g"]),
               node("MaxPool", ["g"], ["y"], kernel_shape=[2, 2])],
      [("x", F, [1, 2, 6, 6])], [("y", F, None)],
      [("w", np.ones((3, 2, 3, 3), f32)), ("s", np.ones(3, f32))])
model("shapes", [node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["n"]),
                 node("Unsqueeze", ["n", "a"], ["u"]), node("Concat", ["u", "m"], ["t"], axis=0),
                 node("Reshape", ["x", "t"], ["r"]), node("Slice", ["r", "a", "one", "a"], ["y"])],
      [("x", F, ["n", 2, 3])], [("y", F, None)],
      [("i", np.int64(0)), ("a", np.array([0])), ("m", np.array([-1])), ("one", np.array([1]))])
body = helper.make_graph(
    [node("Add", ["v", "v"], ["w"]), node("Identity", ["c"], ["d"])], "body",
    [helper.make_tensor_value_info("i", I, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []),
     helper.make_tensor_value_info("v", F, [2])],
    [helper.make_tensor_value_info("d", TensorProto.BOOL, []), helper.make_tensor_value_info("w", F, [2])])
model("loop", [node("Loop", ["k", "c0", "x"], ["y"], body=body)],
      [("x", F, [2]), ("k", I, []), ("c0", TensorProto.BOOL, [])], [("y", F, [2])])
branch = [helper.make_graph([node(op, ["x"], ["z"])], op, [],
                            [helper.make_tensor_value_info("z", F, [2])]) for op in ("Neg", "Exp")]
model("if", [node("If", ["p"], ["y"], then_branch=branch[0], else_branch=branch[1])],
      [("x", F, [2]), ("p", TensorProto.BOOL, [])], [("y", F, [2])])
model("lstm", [node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=2)],
      [("x", F, [3, 1, 2])], [("y", F, None), ("h", F, None)],
      [("w", np.ones((1, 8, 2), f32)), ("r", np.ones((1, 8, 2), f32))])
model("quant", [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
                node("MatMulInteger", ["q", "w", "z"], ["m"]), node("Cast", ["m"], ["f"], to=F),
                node("Mul", ["f", "s"], ["y"])],
      [("x", F, [2, 3])], [("y", F, [2, 4])], [("w", np.ones((3, 4), np.uint8))])
model("mixed", [node("Resize", ["x", "", "sc"], ["a"], mode="linear"),
                node("Softmax", ["a"], ["b"], axis=-1), node("TopK", ["b", "k"], ["v", "i"]),
                node("Transpose", ["v"], ["t"], perm=[0, 1, 3, 2]),
                node("Pad", ["t", "p"], ["y"]), node("Einsum", ["y", "y"], ["e"], equation="abcd,abcd->ab")],
      [("x", F, [1, 1, 3, 4])], [("e", F, None), ("i", I, None)],
      [("sc", np.array([1, 1, 2, 2], f32)), ("k", np.array([2])), ("p", np.array([0, 0, 1, 1] * 2))])
