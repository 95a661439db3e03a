"""Samplers: elementwise ops, reductions, casts, quantization, normalization."""
import numpy as np
from onnx import helper

from gen_graph import FLOATS, SIGNED, UNSIGNED, Node, sampler

UNARY = {  # op: where it is defined
    "Abs": None, "Acos": (-1, 1), "Acosh": (1, 9), "Asin": (-1, 1), "Asinh": None, "Atan": None,
    "Atanh": (-0.99, 0.99), "BitwiseNot": None, "Ceil": None, "Cos": None, "Cosh": None, "Erf": None,
    "Exp": None, "Floor": None, "HardSwish": None, "IsNaN": None, "Log": (0.01, 9), "Mish": None,
    "Neg": None, "Not": None, "Reciprocal": (0.2, 5), "Relu": None, "Round": None, "Sigmoid": None,
    "Sign": None, "Sin": None, "Sinh": None, "Softplus": None, "Softsign": None, "Sqrt": (0, 9),
    "Tan": (-1.2, 1.2), "Tanh": None, "Identity": None}
WITH_ALPHA = {"Celu": ("alpha",), "Elu": ("alpha",), "HardSigmoid": ("alpha", "beta"),
              "LeakyRelu": ("alpha",), "Selu": ("alpha", "gamma"), "ThresholdedRelu": ("alpha",),
              "Shrink": ("lambd", "bias"), "Swish": ("alpha",)}


def type_param(schema):
    return schema.inputs[0].type_str


@sampler(*UNARY, *WITH_ALPHA, "Gelu", "IsInf")
def unary(g, s):
    p = type_param(s)
    d = g.a_type(s, p) if not p.startswith("tensor(") else np.dtype(p[7:-1].replace("float", "float32"))
    attrs = {a: round(float(g.rng.uniform(0.1, 2)), 2) for a in WITH_ALPHA.get(s.name, ())
             if g.chance(0.7)}
    if s.name == "Gelu" and g.chance(0.5):
        attrs["approximate"] = g.pick(["none", "tanh"])
    if s.name == "IsInf":
        attrs = {a: g.int(0, 1) for a in ("detect_negative", "detect_positive") if g.chance(0.5)}
    where = UNARY.get(s.name)
    if where and d.name in FLOATS:
        x = g.new(g.data(d, g.shape(), *where))
    elif d.name in FLOATS and g.chance(0.2):  # the special values
        x = g.data(d, g.shape(1, 2, 6)).reshape(-1)
        x[::2] = g.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, -2.5], x[::2].shape)
        x = g.new(x)
    else:
        x = g.take([d])
    return Node([x], attrs)


@sampler("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Greater", "Less", "GreaterOrEqual", "LessOrEqual",
         "Equal", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "PRelu")
def binary(g, s):
    d = g.a_type(s, type_param(s))
    x = g.take([d])
    e = g.a_type(s, s.inputs[1].type_str) if s.inputs[1].type_str != type_param(s) else d
    shape = g.broadcastable(g[x].shape)
    attrs, low, high = {}, None, None
    if s.name in ("Div", "Mod") and d.name not in FLOATS:
        low, high = 1, 9
    if s.name == "Mod":
        attrs["fmod"] = 1 if d.name in FLOATS else g.int(0, 1)
        low, high = (0.5, 3) if d.name in FLOATS else (1, 9)
    if s.name == "Pow":
        x = g.new(g.data(d, g[x].shape, *((0.2, 3) if d.name in FLOATS else (1, 3))))
        low, high = (-2, 2) if e.name in FLOATS and d.name in FLOATS else (0, 3)
    if s.name == "BitShift":
        attrs["direction"], low, high = g.pick(["LEFT", "RIGHT"]), 0, 7
    y = g.data(e, shape, low, high)
    if s.name in ("Div", "Mod") and d.kind == "i":
        y = (y * g.pick([1, -1])).astype(e)
    y = g.new(y)
    one_way = s.name == "PRelu"
    return Node([y, x] if not one_way and d == e and s.name not in ("Div", "Mod", "BitShift", "Pow")
                and g.chance(0.3) else [x, y], attrs)


@sampler("Max", "Min", "Sum", "Mean")
def variadic(g, s):
    d = g.a_type(s)
    x = g.take([d])
    more = [g.new(g.data(d, g.broadcastable(g[x].shape))) for _ in range(g.int(0, 3))]
    return Node([x, *more])


@sampler("Clip")
def clip(g, s):
    d = g.a_type(s)
    x = g.take([d])
    low, high = (1, 6) if d.kind == "u" else (-1, 2)
    if g.opset < 11:
        return Node([x], {k: float(v) for k, v in (("min", low), ("max", high)) if g.chance(0.7)})
    return Node([x] + [g.new(np.array(v, d)) if g.chance(0.7) else "" for v in (low, high)])


@sampler("Where")
def where(g, s):
    d = g.a_type(s)
    x = g.take([d])
    shape = g[x].shape
    return Node([g.new(g.data(bool, g.broadcastable(shape))), x,
                 g.new(g.data(d, g.broadcastable(shape)))])


@sampler("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
def reduce(g, s):
    # (How the logarithm of a sum of integers is rounded, the text leaves open.)
    d = g.a_type(s, "T", FLOATS if "Exp" in s.name else None)
    lim = (None, None)
    if s.name in ("ReduceLogSum", "ReduceProd"):
        lim = (0.5, 2) if d.name in FLOATS else (1, 2)  # small: overflow is nowhere defined
    x = g.new(g.data(d, g.shape(1, 2, 4), *lim)) if lim[0] else g.take([d], 1)
    rank = g[x].ndim
    attrs = {"keepdims": g.int(0, 1)} if g.chance(0.7) else {}
    axes = g.some_axes(rank) if g.chance(0.8) else None
    if len(s.inputs) == 1:
        if axes:
            axes = [a % rank for a in axes] if g.opset < 11 else axes
        return Node([x], attrs | ({"axes": axes} if axes else {}))
    if g.chance(0.3):
        attrs["noop_with_empty_axes"] = g.int(0, 1)
    return Node([x, g.new(np.array(axes, np.int64), True) if axes else ""], attrs)


@sampler("ArgMax", "ArgMin")
def arg_max(g, s):
    x = g.take([g.a_type(s)], 1)
    attrs = {"axis": g.axis(g[x].ndim, g.opset >= 11), "keepdims": g.int(0, 1)}
    if g.opset >= 12 and g.chance(0.5):
        attrs["select_last_index"] = g.int(0, 1)
    return Node([x], attrs)


@sampler("CumSum", "CumProd")
def cumulative(g, s):
    x = g.take([g.a_type(s)], 1)
    axis = g.new(np.array(g.axis(g[x].ndim), g.pick([np.int32, np.int64])))
    return Node([x, axis], {a: g.int(0, 1) for a in ("exclusive", "reverse") if g.chance(0.6)})


@sampler("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, s):
    x = g.take([g.a_type(s)], 1)
    return Node([x], {"axis": g.axis(g[x].ndim, g.opset >= 11)} if g.chance(0.7) or g[x].ndim < 2
                else {})


@sampler("Cast")
def cast(g, s):
    kinds = ["bool", *FLOATS, *SIGNED, *UNSIGNED]
    a = g.a_type(s, "T1", kinds)
    b = g.a_type(s, "T2", kinds)
    x = g.data(a, g.shape(), *((0, 100) if b.kind == "u" and a.name in FLOATS else (None, None)))
    return Node([g.new(x)], {"to": helper.np_dtype_to_tensor_dtype(b)})


@sampler("CastLike")
def cast_like(g, s):
    kinds = ["bool", *FLOATS, *SIGNED]
    a, b = g.a_type(s, "T1", kinds), g.a_type(s, "T2", kinds)
    return Node([g.take([a]), g.new(g.data(b, (2,)))])


def quantized(g, s, param, x, axis, granularity):
    """Scale and zero point of shape () or [size of axis], or of blocks."""
    q = g.a_type(s, param, ("int8", "uint8", "int16", "uint16", "int4", "uint4"))
    shape = {"tensor": (), "axis": (x.shape[axis % max(x.ndim, 1)],) if x.ndim else ()}[granularity]
    scale = g.rng.uniform(0.05, 0.4, shape).astype(np.float32)
    zero = g.data(q, shape) if q.name in ("int4", "uint4") else g.data(q, shape, 0, 9)
    return q, scale, zero


@sampler("QuantizeLinear")
def quantize(g, s):
    x = g.take([np.float32], 1)
    axis = g.axis(g[x].ndim)
    _, scale, zero = quantized(g, s, s.outputs[0].type_str, g[x], axis,
                               "axis" if g.opset >= 13 and g.chance(0.5) else "tensor")
    return Node([x, g.new(scale), g.new(zero)] if g.chance(0.8) or zero.dtype.name != "uint8"
                else [x, g.new(scale)], {"axis": axis} if scale.ndim else {})


@sampler("DequantizeLinear")
def dequantize(g, s):
    axis0 = g.shape(1, 4)
    axis = g.axis(len(axis0))
    probe = np.zeros(axis0)
    q, scale, zero = quantized(g, s, type_param(s), probe, axis,
                               "axis" if g.opset >= 13 and g.chance(0.5) else "tensor")
    x = g.data(q, axis0)
    return Node([g.new(x), g.new(scale)] + ([g.new(zero)] if g.chance(0.7) else []),
                {"axis": axis} if scale.ndim else {})


@sampler("DynamicQuantizeLinear")
def dynamic_quantize(g, s):
    return Node([g.take([np.float32], 1)], outputs=3)


@sampler("BatchNormalization")
def batch_norm(g, s):
    d = g.a_type(s, "T", ("float32", "float64"))
    x = g.take([d], 2, 4)
    c = g[x].shape[1]
    return Node([x] + [g.new(g.data(d, (c,), 0.2, 2)) for _ in range(4)],
                {"epsilon": 1e-3} if g.chance(0.5) else {})


@sampler("InstanceNormalization")
def instance_norm(g, s):
    d = g.a_type(s, "T", ("float32", "float64"))
    x = g.take([d], 3, 4, fits=lambda sh: np.prod(sh[2:]) > 1)
    c = g[x].shape[1]
    return Node([x, g.new(g.data(d, (c,))), g.new(g.data(d, (c,)))])


@sampler("LayerNormalization", "RMSNormalization")
def layer_norm(g, s):
    d = g.a_type(s, "T", ("float32", "float64", "float16"))
    x = g.take([d], 1, 4, fits=lambda sh: sh[-1] > 1)
    axis = g.axis(g[x].ndim)
    shape = g[x].shape[axis:] if axis else g[x].shape
    ins = [x, g.new(g.data(d, shape))]
    if s.name == "LayerNormalization" and g.chance(0.6):
        ins.append(g.new(g.data(d, shape)))
    # (Of float64, onnxruntime gives statistics in float64, where the text has float.)
    outs = 3 if s.name == "LayerNormalization" and d.name != "float64" and g.chance(0.3) else 1
    return Node(ins, {"axis": axis} | ({"epsilon": 1e-3} if g.chance(0.5) else {}), outs)


@sampler("GroupNormalization")
def group_norm(g, s):
    groups = g.int(1, 3)
    c = groups * g.int(1, 2)
    x = g.new(g.data(np.float32, (g.int(1, 2), c, g.int(2, 4), g.int(1, 3))))
    n = groups if g.opset < 21 else c
    return Node([x, g.new(g.data(np.float32, (n,))), g.new(g.data(np.float32, (n,)))],
                {"num_groups": groups})


@sampler("LpNormalization")
def lp_norm(g, s):
    x = g.take([g.a_type(s, "T", ("float32", "float64"))], 1)
    return Node([x], {"axis": g.axis(g[x].ndim), "p": g.int(1, 2)})


@sampler("LRN")
def lrn(g, s):
    return Node([g.take([np.float32], 3, 4)], {"size": g.pick([1, 3, 5]), "alpha": 0.01, "bias": 1.5})


@sampler("MeanVarianceNormalization")
def mvn(g, s):
    return Node([g.take([np.float32], 4, 4, fits=lambda sh: sh[0] * sh[2] * sh[3] > 3)])


@sampler("Dropout")
def dropout(g, s):
    return Node([g.take([g.a_type(s, "T", FLOATS)])], outputs=g.int(1, 2) if g.opset >= 12 else 1)
