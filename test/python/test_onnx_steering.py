"""Inputs whose values or sizes a program is made for: other ones compile it again, and say so."""
import numpy as np
import onnx
from onnx import TensorProto, helper

import tenfold


def model():
    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "s"], ["y"]),
         helper.make_node("ReduceSum", ["y", "a"], ["z"], keepdims=0)], "g",
        [value("x", TensorProto.FLOAT, ["n", "m"]), value("s", TensorProto.INT64, ["r"]),
         value("a", TensorProto.INT64, ["k"])],
        [value("y", TensorProto.FLOAT, None), value("z", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_other_values_of_a_steering_input_compile_again():
    def ints(*v):
        return np.array(v, np.int64)

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    compiled = tenfold.compile(model(), examples={"x": x, "s": ints(2, 12), "a": ints(0)})
    causes = ["the value of `a`, which is compiled in, has changed",
              "dimension 0 of `s` was 2, is 3"]
    for shape, axes, again in [((2, 12), (0,), 0), ((2, 12), (1,), 1), ((2, 3, 4), (0, 2), 2),
                               ((4, 6), (0,), 2), ((2, 3, 4), (0, 2), 2)]:
        y, z = compiled(x, ints(*shape), ints(*axes))
        np.testing.assert_array_equal(y, x.reshape(shape))
        np.testing.assert_array_equal(z, x.reshape(shape).sum(axis=axes))
        assert compiled.recompilations == causes[:again]
    wide = np.arange(60, dtype=np.float32).reshape(6, 10)  # its sizes are open: nothing compiles
    y, _ = compiled(wide, ints(6, 10), ints(0))
    np.testing.assert_array_equal(y, wide)
    assert compiled.recompilations == causes


def test_sequences_take_their_ranks_from_the_items_and_may_be_empty():
    x = onnx.ValueInfoProto()
    x.name = "x"
    x.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    n = helper.make_tensor_value_info("n", TensorProto.INT64, [])
    graph = helper.make_graph([helper.make_node("SequenceLength", ["x"], ["n"])], "g", [x], [n])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    items = {"x.0": np.zeros((2, 3), np.float32), "x.1": np.zeros(4, np.float32)}
    assert tenfold.compile(m, examples=items)(**items) == 2
    assert tenfold.compile(m, examples={"x": []})() == 0
