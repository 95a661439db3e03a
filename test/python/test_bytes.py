"""Quantized contractions: the bytes are multiplied as bytes (narrow_contractions, dot4), exactly."""

import numpy as np
import pytest
from onnx import helper

from graphs import Graph, dump, error, evaluated, reference, run

rng = np.random.default_rng(0)
f32 = np.float32


def data(t, *shape):
    i = np.iinfo(t)
    return rng.integers(i.min, i.max + 1, shape).astype(t)


def dequantized(g, x, scale, zero, **kw):
    return g("DequantizeLinear", x, np.asarray(scale, f32), zero, **kw)


def conv(act, shape, w_shape, zero, per_channel=True, **attributes):
    g = Graph(x=data(act, *shape))
    scale = rng.uniform(0.01, 0.1, w_shape[0]).astype(f32) if per_channel else f32(0.03)
    wz = np.zeros(w_shape[0], np.int8) if per_channel else np.int8(0)
    y = g(
        "Conv",
        dequantized(g, "x", 0.05, np.array(zero, act)),
        dequantized(g, data(np.int8, *w_shape), scale, wz, axis=0),
        rng.standard_normal(w_shape[0]).astype(f32),
        **attributes,
    )
    return g, g("Relu", y)


CONVS = {
    "padded_u8": (np.uint8, (1, 16, 9, 7), (24, 16, 3, 3), 131, True, dict(pads=[1] * 4)),
    "padded_s8": (np.int8, (2, 16, 9, 7), (24, 16, 3, 3), -5, False, dict(pads=[1, 0, 2, 1])),
    "three_channels": (np.uint8, (1, 3, 20, 20), (8, 3, 7, 7), 120, True, dict(strides=[2, 2])),
    "pointwise": (np.uint8, (1, 20, 6, 6), (40, 20, 1, 1), 0, True, {}),
    "one_dimension": (np.int8, (1, 8, 30), (16, 8, 5), 3, True, dict(dilations=[2], pads=[3, 3])),
}


@pytest.mark.parametrize("name", CONVS)
def test_convolution_of_dequantized_bytes(name, tmp_path):
    *form, attributes = CONVS[name]
    g, y = conv(*form, **attributes)
    model = g.model(y)
    assert error(run(model, g.feed)[0], reference(model, g.feed)[0]) < 1e-6
    assert "dot4_" in dump(model, tmp_path)[1]


@pytest.mark.parametrize("act", [np.uint8, np.int8])
def test_depthwise_convolution_keeps_its_bytes(act, tmp_path):
    g, y = conv(act, (1, 32, 9, 9), (32, 1, 3, 3), 7, True, group=32, pads=[1] * 4)
    model = g.model(y)
    assert error(run(model, g.feed)[0], reference(model, g.feed)[0]) < 1e-6
    assert "cast<i32>(in" in dump(model, tmp_path)[1]


@pytest.mark.parametrize("act", [np.uint8, np.int8])
@pytest.mark.parametrize("columns", [5, 48, 100])
@pytest.mark.parametrize("depth", [32, 30])
def test_dequantized_matrix_product(act, columns, depth, tmp_path):
    g = Graph(x=data(act, 13, depth))
    w = dequantized(
        g,
        data(np.int8, depth, columns),
        rng.uniform(0.01, 0.1, columns),
        np.zeros(columns, np.int8),
        axis=1,
    )
    y = g("MatMul", dequantized(g, "x", 0.02, np.array(9, act)), w)
    model = g.model(y)
    assert error(run(model, g.feed)[0], reference(model, g.feed)[0]) < 1e-6
    if columns == 48:
        assert "dot4_" in dump(model, tmp_path)[1]


@pytest.mark.parametrize("weights", [np.int8, np.uint8])
def test_dynamically_quantized_product(weights, tmp_path):
    """What quantize_dynamic writes; the rows are open."""
    x = rng.standard_normal((2, 7, 64)).astype(f32)
    g = Graph(x=x)
    q, s, z = g("DynamicQuantizeLinear", "x", outputs=3)
    p = g("MatMulInteger", q, data(weights, 64, 80), z, np.array(3, weights))
    y = g("Mul", g("Cast", p, to=1), g("Mul", s, f32(0.02)))
    model = g.model(p, y, shapes={"x": ["b", "s", 64]})
    got, want = run(model, g.feed), reference(model, g.feed)
    np.testing.assert_array_equal(got[0], want[0])
    assert error(got[1], want[1]) < 1e-6
    assert "dot4_" in dump(model, tmp_path)[1]


def test_extreme_bytes_do_not_saturate():
    """Products of the largest bytes overflow 16 bits, where some instructions saturate."""
    x = np.full((4, 64), 255, np.uint8)
    w = np.where(np.arange(64)[:, None] % 3 == 0, 127, -128).astype(np.int8).repeat(32, 1)
    g = Graph(x=x)
    model = g.model(g("MatMulInteger", "x", w, np.array(0, np.uint8), np.array(0, np.int8)))
    want = x.astype(np.int64) @ w.astype(np.int64)
    np.testing.assert_array_equal(run(model, g.feed)[0], want)


def test_integer_convolution_is_exact():
    g = Graph(x=data(np.uint8, 1, 8, 10, 10))
    w = data(np.uint8, 12, 8, 3, 3)
    for zw in (0, 130):  # a zero point of convolution weights stays in i32
        h = Graph(x=g.feed["x"])
        y = h("ConvInteger", "x", w, np.array(77, np.uint8), np.array(zw, np.uint8), pads=[1] * 4)
        model = h.model(y)
        np.testing.assert_array_equal(run(model, h.feed)[0], reference(model, h.feed)[0])


def near_miss(kind):
    """Forms that may not become a product of bytes, and must be right all the same."""
    g = Graph(x=data(np.uint8, 6, 32), w=data(np.int8, 32, 48))
    x, w = "x", data(np.int8, 32, 48)
    zero, sx = np.array(4, np.uint8), np.array(0.1, f32)
    if kind == "weights_of_the_run":
        w = "w"
    if kind == "scale_along_the_sum":
        wide = dequantized(g, w, rng.uniform(0.01, 0.1, 32), np.zeros(32, np.int8), axis=0)
    else:
        wide = dequantized(g, w, 0.1, np.int8(0))
    if kind == "rows_of_two_zeros":
        zero, sx = np.array([4, 5, 6, 7, 8, 9], np.uint8), np.full(6, 0.1, f32)
    left = g("DequantizeLinear", x, sx, zero, axis=0)
    if kind == "more_than_the_scale":
        left = g("Add", left, f32(0.25))
    y = g("MatMul", left, wide)
    used = [n for n in g.feed if any(n in node.input for node in g.nodes)]
    g.feed = {n: g.feed[n] for n in used}
    return g, y


@pytest.mark.parametrize(
    "kind",
    ["weights_of_the_run", "scale_along_the_sum", "rows_of_two_zeros", "more_than_the_scale"],
)
def test_near_miss(kind, tmp_path):
    g, y = near_miss(kind)
    model = g.model(y)
    assert error(run(model, g.feed)[0], reference(model, g.feed)[0]) < 1e-5
    assert "dot4_" not in dump(model, tmp_path)[1]


@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_conversions_saturate(to):
    """On whole vectors and on what is left of them, against the evaluator."""
    edges = [2.0**k for k in (7, 8, 15, 16, 24, 31, 32, 40)]
    near = [np.nextafter(f32(e), f32(d)) for e in edges for d in (0, np.inf)]
    x = np.array([0.0, -0.0, 0.5, -0.99, 1e30, np.inf, np.nan, *edges, *near], f32)
    x = np.concatenate([x, -x, x + 1])
    g = Graph(x=x)
    model = g.model(g("Cast", "x", to=helper.np_dtype_to_tensor_dtype(np.dtype(to))))
    got = run(model, g.feed)[0]
    np.testing.assert_array_equal(got, evaluated(model, g.feed)[0])
    i = np.iinfo(to)
    finite = np.where(np.isnan(x), 0, np.clip(np.nan_to_num(x.astype(np.float64)), i.min, i.max))
    np.testing.assert_array_equal(got, np.trunc(finite).astype(to))
