"""Forms that exporters write out, recognised (fuse_normalizations, fuse_attention) and near misses
that must not be."""

import numpy as np
import pytest

from graphs import Graph, dump, error, reference, run

rng = np.random.default_rng(0)
f32 = np.float32


def R(*s):
    return rng.standard_normal(s).astype(f32)


def check(g, outputs, tmp_path, has=(), lacks=(), bound=2e-6, shapes={}):
    model = g.model(*outputs, shapes=shapes)
    for got, want in zip(run(model, g.feed), reference(model, g.feed)):
        assert got.shape == want.shape
        assert error(got, want) < bound
    text = dump(model, tmp_path)[0]
    for op in has:
        assert op in text
    for op in lacks:
        assert op not in text


def square(g, d, how):
    return g("Mul", d, d) if how == "mul" else g("Pow", d, f32(2))


def normalized(g, d, v, eps, how):
    s = g("Add", v, f32(eps))
    if how == "reciprocal":
        return g("Mul", d, g("Div", f32(1), g("Sqrt", s)))
    root = g("Pow", s, f32(0.5)) if how == "pow" else g("Sqrt", s)
    return g("Div", d, root)


@pytest.mark.parametrize("sq", ["mul", "pow"])
@pytest.mark.parametrize("root", ["sqrt", "pow", "reciprocal"])
@pytest.mark.parametrize("affine", [0, 1, 2])
@pytest.mark.parametrize("axes", [[-1], [1, 2]])
def test_layer_norm(sq, root, affine, axes, tmp_path):
    g = Graph(x=R(3, 5, 32) + 7)
    d = g("Sub", "x", g("ReduceMean", "x", np.array(axes)))
    y = normalized(g, d, g("ReduceMean", square(g, d, sq), np.array(axes)), 1e-5, root)
    row = (3, 5, 32)[axes[0] :]
    if affine > 0:
        y = g("Mul", y, R(*row))
    if affine > 1:
        y = g("Add", R(*row), y)
    check(g, [y], tmp_path, ["tenfold.layer_norm"], ["sqrt", "stablehlo.reduce"])


def test_rms_norm(tmp_path):
    g = Graph(x=R(4, 48))
    v = g("ReduceMean", g("Pow", "x", f32(2)), np.array([-1]))
    y = g("Mul", normalized(g, "x", v, 1e-6, "reciprocal"), R(48))
    check(g, [y], tmp_path, ["tenfold.rms_norm"], ["sqrt"])


def near_layer_norm(kind):
    g = Graph(x=R(6, 6) + 1, z=R(6, 6))
    mean = g("ReduceMean", "x", np.array([0 if kind == "mean_of_columns" else -1]))
    d = g("Sub", "z" if kind == "another_operand" else "x", mean)
    other = g("Sub", "z", mean) if kind == "another_square" else d
    power = g("Pow", other, f32(3)) if kind == "a_cube" else g("Mul", other, other)
    v = g("ReduceMean", power, np.array([-1]))
    if kind == "a_sum":
        v = g("ReduceSum", power, np.array([-1]))
    v = g("Abs", v)
    if kind == "abs":
        pass
    else:
        g.nodes[-1].op_type = "Identity"
    s = g("Sqrt", g("Add", v, f32(1e-5)))
    y = g("Mul", d, s) if kind == "times_the_root" else g("Div", d, s)
    used = [n for n in g.feed if any(n in node.input for node in g.nodes)]
    g.feed = {n: g.feed[n] for n in used}
    return g, y


@pytest.mark.parametrize(
    "kind",
    ["mean_of_columns", "another_square", "a_sum", "times_the_root", "abs"],
)
def test_near_layer_norm(kind, tmp_path):
    g, y = near_layer_norm(kind)
    check(g, [y], tmp_path, [], ["tenfold.layer_norm"])


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("log", [False, True])
def test_softmax(axis, log, tmp_path):
    g = Graph(x=R(3, 9, 17) * 20)
    axes = np.array([axis])
    d = g("Sub", "x", g("ReduceMax", "x", axes))
    e = g("Exp", d)
    s = g("ReduceSum", e, axes)
    y = g("Sub", d, g("Log", s)) if log else g("Div", e, s)
    if log:  # only the difference itself is the softmax of x
        check(g, [y], tmp_path, ["tenfold.softmax"])
    else:
        check(g, [y], tmp_path, ["tenfold.softmax"], ["exponential"])


def test_exp_over_another_sum_is_no_softmax(tmp_path):
    g = Graph(x=R(5, 5))
    e = g("Exp", "x")
    check(g, [g("Div", e, g("ReduceSum", e, np.array([0])))], tmp_path, ["tenfold.softmax"])
    h = Graph(x=R(5, 5))
    e = h("Exp", "x")
    y = h("Div", e, h("ReduceSum", h("Mul", e, f32(2)), np.array([0])))
    check(h, [y], tmp_path, [], ["tenfold.softmax"])


def heads(g, x, b, s, h, d, perm=(0, 2, 1, 3)):
    return g("Transpose", g("Reshape", x, np.array([b, s, h, d])), perm=list(perm))


@pytest.mark.parametrize("scale", ["div", "mul", "none", "query"])
@pytest.mark.parametrize("mask", ["none", "bias", "padding", "where"])
@pytest.mark.parametrize("lengths", [(16, 16), (37, 70)])
def test_attention(scale, mask, lengths, tmp_path):
    n, m = lengths
    b, h, d = 2, 3, 24
    g = Graph(q=R(b, n, h * d), k=R(b, m, h * d), v=R(b, m, h * d))
    q = heads(g, "q", b, n, h, d)
    if scale == "query":
        q = g("Mul", q, f32(0.2))
    s = g("MatMul", q, heads(g, "k", b, m, h, d, (0, 2, 3, 1)))
    if scale == "div":
        s = g("Div", s, f32(5))
    if scale == "mul":
        s = g("Mul", s, f32(0.2))
    if mask == "bias":
        s = g("Add", s, R(1, h, n, m))
    if mask == "padding":
        s = g("Add", s, np.where(np.arange(m) < m - 5, 0, -1e4).astype(f32).reshape(1, 1, 1, m))
    if mask == "where":
        s = g("Where", np.tri(n, m, 3).astype(bool)[None, None], s, f32(np.finfo(f32).min))
    y = g("MatMul", g("Softmax", s, axis=-1), heads(g, "v", b, m, h, d))
    y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), np.array([b, n, h * d]))
    check(g, [y], tmp_path, ["tenfold.attention"], ["tenfold.softmax"], 5e-6)


def test_attention_of_open_lengths(tmp_path):
    g = Graph(q=R(1, 2, 19, 8), k=R(1, 2, 40, 8), v=R(1, 2, 40, 16))
    s = g("MatMul", "q", g("Transpose", "k", perm=[0, 1, 3, 2]))
    y = g("MatMul", g("Softmax", s, axis=-1), "v")
    shapes = {"q": ["b", 2, "n", 8], "k": ["b", 2, "m", 8], "v": ["b", 2, "m", 16]}
    check(g, [y], tmp_path, ["tenfold.attention"], [], 5e-6, shapes)


def test_scores_that_are_read_stay(tmp_path):
    g = Graph(q=R(2, 16, 8), k=R(2, 8, 16), v=R(2, 16, 8))
    p = g("Softmax", g("MatMul", "q", "k"), axis=-1)
    check(g, [g("MatMul", p, "v"), p], tmp_path, ["tenfold.softmax"], ["tenfold.attention"])


def test_softmax_over_queries_is_no_attention(tmp_path):
    g = Graph(q=R(2, 16, 8), k=R(2, 8, 16), v=R(2, 16, 8))
    p = g("Softmax", g("MatMul", "q", "k"), axis=-2)
    check(g, [g("MatMul", p, "v")], tmp_path, ["tenfold.softmax"], ["tenfold.attention"])
