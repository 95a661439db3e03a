"""Samplers: ops that move, pick and make elements."""
import numpy as np
from onnx import helper, numpy_helper

from gen_graph import FLOATS, Node, sampler

I64 = np.int64


def ints(g, values, const=None):
    return g.new(np.array(values, I64), const)


@sampler("Concat")
def concat(g, s):
    d = g.a_type(s)
    x = g.take([d], 1)
    axis = g.axis(g[x].ndim, g.opset >= 11)
    more = []
    for _ in range(g.int(0, 3)):
        shape = list(g[x].shape)
        shape[axis] = g.int(0, 4)
        more.append(g.new(g.data(d, shape)))
    return Node([x, *more], {"axis": axis})


@sampler("Split")
def split(g, s):
    x = g.take([g.a_type(s)], 1)
    axis = g.axis(g[x].ndim, g.opset >= 11)
    n = g[x].shape[axis]
    cuts = np.sort(g.rng.integers(0, n + 1, g.int(0, 2)))
    sizes = np.diff([0, *cuts, n]).tolist()
    attrs = {"axis": axis}
    if g.opset >= 18 and g.chance(0.3):
        k = g.int(1, n)
        if -(-n // k) * (k - 1) >= n and k > 1:
            return None
        return Node([x], attrs | {"num_outputs": k}, k)
    if g.opset < 13:
        return Node([x], attrs | {"split": sizes}, len(sizes))
    return Node([x, ints(g, sizes, True)], attrs, len(sizes))


@sampler("Transpose")
def transpose(g, s):
    x = g.take([g.a_type(s)])
    return Node([x], {"perm": g.rng.permutation(g[x].ndim).tolist()} if g.chance(0.8) and g[x].ndim
                else {})


@sampler("Reshape")
def reshape(g, s):
    x = g.take([g.a_type(s)])
    shape, left = [], g[x].size
    while left > 1 and len(shape) < 4 and g.chance(0.8):
        f = g.pick([k for k in range(1, left + 1) if left % k == 0])
        shape.append(f)
        left //= f
    shape.append(left)
    g.rng.shuffle(shape)
    if g.chance(0.4):
        shape[g.int(0, len(shape) - 1)] = -1
    attrs = {"allowzero": g.int(0, 1)} if g.opset >= 14 and g.chance(0.3) else {}
    if not attrs.get("allowzero") and shape[0] == (g[x].shape or (None,))[0] and g.chance(0.5):
        shape[0] = 0
    return Node([x, ints(g, shape)], attrs)


@sampler("Flatten")
def flatten(g, s):
    x = g.take([g.a_type(s, "T", None if g.opset >= 9 else FLOATS)], 1)
    r = g[x].ndim
    return Node([x], {"axis": g.int(-r if g.opset >= 11 else 0, r)} if g.chance(0.7) else {})


@sampler("Squeeze")
def squeeze(g, s):
    d = g.a_type(s)
    shape = [1 if g.chance(0.5) else g.int(2, 4) for _ in range(g.int(0, 4))]
    x = g.new(g.data(d, shape))
    ones = [i for i, n in enumerate(shape) if n == 1 and g.chance(0.7)]
    ones = [i - len(shape) if g.opset >= 11 and g.chance(0.3) else i for i in ones]
    if not ones or g.chance(0.2):
        return Node([x])
    return Node([x], {"axes": ones}) if g.opset < 13 else Node([x, ints(g, ones, True)])


@sampler("Unsqueeze")
def unsqueeze(g, s):
    x = g.take([g.a_type(s)], 0, 3)
    k = g.int(1, 2)
    r = g[x].ndim + k
    axes = sorted(g.rng.permutation(r)[:k].tolist())
    axes = [a - r if g.opset >= 11 and g.chance(0.3) else a for a in axes]
    return Node([x], {"axes": axes}) if g.opset < 13 else Node([x, ints(g, axes, True)])


@sampler("Expand")
def expand(g, s):
    x = g.take([g.a_type(s)], 0, 3)
    shape = [g.int(1, 4) if n == 1 else g.pick([1, n]) for n in g[x].shape]
    return Node([x, ints(g, [g.int(1, 3)] * g.int(0, 1) + shape)])


@sampler("Tile")
def tile(g, s):
    x = g.take([g.a_type(s)], 1, 3)
    return Node([x, ints(g, [g.int(0, 3) if g.chance(0.2) else g.int(1, 3) for _ in g[x].shape])])


@sampler("Slice")
def slice_(g, s):
    x = g.take([g.a_type(s)], 1)
    r = g[x].ndim
    axes = g.some_axes(r)
    steps = [g.pick([1, 1, 2, 3] + ([-1, -2] if g.opset >= 10 else [])) for _ in axes]

    def bound():
        return g.pick([g.int(-6, 6), g.int(0, 4), 2**31 - 1, -(2**31) + 1, 2**63 - 1])
    starts, ends = [bound() for _ in axes], [bound() for _ in axes]
    # onnxruntime takes INT_MAX for "to the end" backwards too, where the text has INT_MIN for it.
    ends = [e if step > 0 or e < 2**31 - 1 else -(2**31) for e, step in zip(ends, steps)]
    if g.opset < 10:
        axes = [a % r for a in axes]
        return Node([x], {"starts": starts, "ends": ends, "axes": axes})
    given = [starts, ends, axes, steps]
    if g.chance(0.2):
        given = given[:3]
    if g.chance(0.2) and axes == list(range(r)):
        given = given[:2]
    const = g.chance(0.5)
    return Node([x] + [ints(g, v, const or i == 2) for i, v in enumerate(given)])


@sampler("Pad")
def pad(g, s):
    x = g.take([g.a_type(s)], 1, 4, fits=lambda sh: all(sh))
    a = g[x]
    mode = g.pick(["constant", "edge", "reflect"] + (["wrap"] if g.opset >= 19 else []))
    axes = sorted(i % a.ndim for i in g.some_axes(a.ndim)) if g.opset >= 18 and g.chance(0.4) else None
    over = range(a.ndim) if axes is None else axes

    def amount(i):
        top = {"reflect": a.shape[i] - 1, "wrap": a.shape[i]}.get(mode, 3)
        low = -1 if mode == "constant" and a.shape[i] > 2 and g.chance(0.2) else 0
        return g.int(low, max(top, 0))
    pads = [amount(i) for i in over] + [amount(i) for i in over]
    if g.opset < 11:
        return Node([x], {"pads": pads, "mode": mode} | ({"value": 1.5} if mode == "constant" else {}))
    ins = [x, ints(g, pads)]
    value = mode == "constant" and g.chance(0.6)
    ins.append(g.new(g.data(a.dtype, ())) if value else "")
    ins.append(ints(g, axes, True) if axes is not None else "")
    return Node(ins, {"mode": mode})


def index(g, n, shape, negative):
    return g.rng.integers(-n if negative else 0, n, shape).astype(g.pick([np.int32, I64]))


@sampler("Gather")
def gather(g, s):
    x = g.take([g.a_type(s)], 1)
    axis = g.axis(g[x].ndim, g.opset >= 11)
    i = index(g, g[x].shape[axis], g.shape(0, 2), g.opset >= 11) if g[x].shape[axis] else None
    return None if i is None else Node([x, g.new(i)], {"axis": axis})


@sampler("GatherElements")
def gather_elements(g, s):
    x = g.take([g.a_type(s)], 1, fits=lambda sh: all(sh))
    axis = g.axis(g[x].ndim)
    shape = [g.int(1, n) for n in g[x].shape]
    shape[axis] = g.int(1, 5)
    return Node([x, g.new(index(g, g[x].shape[axis], shape, True))], {"axis": axis})


@sampler("GatherND")
def gather_nd(g, s):
    x = g.take([g.a_type(s)], 1, fits=lambda sh: all(sh))
    a = g[x]
    b = g.int(0, a.ndim - 1) if g.opset >= 12 and g.chance(0.4) else 0
    k = g.int(1, a.ndim - b)
    shape = a.shape[:b] + g.shape(0, 2, 3)
    i = np.stack([g.rng.integers(-n, n, shape) for n in a.shape[b:b + k]], -1).astype(I64)
    if i.ndim <= b:
        return None
    return Node([x, g.new(i)], {"batch_dims": b} if b else {})


@sampler("ScatterElements")
def scatter_elements(g, s):
    x = g.take([g.a_type(s)], 1, fits=lambda sh: all(sh))
    a = g[x]
    axis = g.axis(a.ndim)
    how = "none"
    if g.opset >= 16 and a.dtype != bool:
        how = g.pick(["none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else []))
    shape = [g.int(1, n) for n in a.shape]
    # Without a reduction each place may be written once only.
    order = g.rng.permuted(np.broadcast_to(
        np.arange(a.shape[axis]).reshape([-1 if i == axis % a.ndim else 1 for i in range(a.ndim)]),
        a.shape), axis=axis)
    i = order[tuple(slice(n) for n in shape)] if how == "none" else index(g, a.shape[axis], shape, True)
    return Node([x, g.new(i.astype(I64)), g.new(g.data(a.dtype, shape))],
                {"axis": axis} | ({"reduction": how} if g.opset >= 16 else {}))


@sampler("ScatterND")
def scatter_nd(g, s):
    x = g.take([g.a_type(s)], 1, fits=lambda sh: all(sh))
    a = g[x]
    k = g.int(1, a.ndim)
    how = "none"
    if g.opset >= 16 and a.dtype != bool:
        how = g.pick(["none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else []))
    places = int(np.prod(a.shape[:k]))
    n = g.int(1, min(4, places))
    flat = g.rng.permutation(places)[:n] if how == "none" else g.rng.integers(0, places, n)
    i = np.stack(np.unravel_index(flat, a.shape[:k]), -1).astype(I64)
    return Node([x, g.new(i), g.new(g.data(a.dtype, (n, *a.shape[k:])))],
                {"reduction": how} if g.opset >= 16 else {})


@sampler("TopK")
def top_k(g, s):
    x = g.take([g.a_type(s, "T")], 1, fits=lambda sh: all(sh))
    axis = g.axis(g[x].ndim)
    k = g.int(1, g[x].shape[axis])
    if g.opset < 10:
        return Node([x], {"axis": axis % g[x].ndim, "k": k}, 2)
    attrs = {"axis": axis}
    if g.opset >= 11:
        attrs |= {"largest": g.int(0, 1), "sorted": 1}
    return Node([x, ints(g, [k])], attrs, 2)


@sampler("OneHot")
def one_hot(g, s):
    t = g.a_type(s, "T1", ("int32", "int64", "float32"))
    i = g.rng.integers(-4, 6, g.shape(0, 3)).astype(t)
    v = g.a_type(s, "T3", ("int32", "int64", "float32"))
    depth = np.array(g.int(3, 5), I64) if g.chance(0.5) else np.array([g.int(3, 5)], I64)
    return Node([g.new(i), g.new(depth), g.new(g.data(v, (2,)))], {"axis": g.axis(i.ndim + 1)})


@sampler("NonZero")
def non_zero(g, s):
    return Node([g.take([g.a_type(s)], 1)])


@sampler("Compress")
def compress(g, s):
    x = g.take([g.a_type(s)], 1)
    axis = g.axis(g[x].ndim, g.opset >= 11) if g.chance(0.7) else None
    n = g[x].size if axis is None else g[x].shape[axis]
    return Node([x, g.new(g.data(bool, (g.int(0, n),)))], {} if axis is None else {"axis": axis})


@sampler("Unique")
def unique(g, s):
    d = g.a_type(s, "T", ("float32", "float64", "int64", "int8"))
    x = g.new(g.data(np.int64, g.shape(1, 3), 0, 3).astype(d))
    attrs = {"sorted": g.int(0, 1)}
    if g.chance(0.5):
        attrs["axis"] = g.axis(g[x].ndim)
    return Node([x], attrs, g.int(1, 4))


@sampler("Shape", "Size")
def shape(g, s):
    x = g.take([g.a_type(s)])
    attrs = {}
    if s.name == "Shape" and g.opset >= 15:
        attrs = {a: g.int(-5, 5) for a in ("start", "end") if g.chance(0.4)}
    return Node([x], attrs)


@sampler("ConstantOfShape")
def constant_of_shape(g, s):
    d = g.a_type(s, "T2")
    value = numpy_helper.from_array(g.data(d, (1,)))
    return Node([ints(g, g.shape(0, 3))], {"value": value} if g.chance(0.8) else {})


@sampler("Constant")
def constant(g, s):
    d = g.a_type(s)
    if g.opset >= 12 and g.chance(0.5):
        return Node([], g.pick([{"value_float": 1.5}, {"value_int": 7}, {"value_ints": [1, -2, 3]},
                                {"value_floats": [0.5, -1.5]}]))
    return Node([], {"value": numpy_helper.from_array(g.data(d, g.shape()))})


@sampler("EyeLike")
def eye_like(g, s):
    x = g.take([g.a_type(s, "T1")], 2, 2)
    attrs = {"k": g.int(-3, 3)} if g.chance(0.6) else {}
    if g.chance(0.5):
        attrs["dtype"] = helper.np_dtype_to_tensor_dtype(g.a_type(s, "T2", ("float32", "int32", "int64")))
    return Node([x], attrs)


@sampler("Range")
def range_(g, s):
    d = g.a_type(s)
    a, step = g.int(-4, 4), g.pick([1, 2, 3, -1, -2])
    if d.kind == "u":
        a, step = abs(a), abs(step)
    b = a + step * g.int(-1, 6)
    if d.kind == "u":
        b = max(b, 0)
    return Node([g.new(np.array(v, d)) for v in (a, b, step)])


@sampler("Trilu")
def trilu(g, s):
    x = g.take([g.a_type(s)], 2)
    return Node([x] + ([g.new(np.array(g.int(-4, 4), I64))] if g.chance(0.6) else []),
                {"upper": g.int(0, 1)})


@sampler("ReverseSequence")
def reverse_sequence(g, s):
    x = g.take([g.a_type(s)], 2, fits=lambda sh: all(sh))
    batch = g.int(0, 1)
    n, t = g[x].shape[batch], g[x].shape[1 - batch]
    return Node([x, g.new(g.rng.integers(1, t + 1, n).astype(I64))],
                {"batch_axis": batch, "time_axis": 1 - batch})


@sampler("DepthToSpace", "SpaceToDepth")
def depth_to_space(g, s):
    d, b = g.a_type(s, "T", ("float32", "float64")), g.int(1, 3)
    n, c, h, w = g.int(1, 2), g.int(1, 2), g.int(1, 3), g.int(1, 3)
    if s.name == "SpaceToDepth":
        return Node([g.new(g.data(d, (n, c, h * b, w * b)))], {"blocksize": b})
    attrs = {"mode": g.pick(["DCR", "CRD"])} if g.opset >= 11 else {}
    return Node([g.new(g.data(d, (n, c * b * b, h, w)))], attrs | {"blocksize": b})


@sampler("CenterCropPad")
def center_crop_pad(g, s):
    x = g.take([g.a_type(s)], 1)
    r = g[x].ndim
    axes = g.some_axes(r) if g.chance(0.5) else None
    n = r if axes is None else len(axes)
    return Node([x, ints(g, [g.int(1, 7) for _ in range(n)])], {} if axes is None else {"axes": axes})


@sampler("TensorScatter")
def tensor_scatter(g, s):
    d = g.a_type(s)
    shape = [g.int(1, 2), g.int(1, 3), g.int(3, 6), g.int(1, 3)]
    axis = g.pick([-2, 2, 1])
    n = shape[axis]
    mode = g.pick(["linear", "circular"])
    up = list(shape)
    up[axis] = g.int(1, n)
    top = n - up[axis] if mode == "linear" else n - 1
    at = g.rng.integers(0, top + 1, shape[0]).astype(I64)
    return Node([g.new(g.data(d, shape)), g.new(g.data(d, up))] + ([g.new(at)] if g.chance(0.8) else []),
                {"mode": mode, "axis": axis})


@sampler("If")
def if_(g, s):
    x = g.take([np.float32])

    def branch(op):
        return helper.make_graph([helper.make_node(op, [x, x] if op == "Add" else [x], ["r" + op])],
                                 op, [], [helper.make_tensor_value_info("r" + op, 1, None)])
    ops = g.rng.permutation(["Neg", "Exp", "Add", "Abs"])
    return Node([g.new(np.array(g.chance(0.5)))],
                {"then_branch": branch(ops[0]), "else_branch": branch(ops[1])})


@sampler("Loop")
def loop(g, s):
    x = g.take([np.float32], 0, 2)
    shape = list(g[x].shape)

    def info(n, t, sh):
        return helper.make_tensor_value_info(n, t, sh)
    body = helper.make_graph(
        [helper.make_node("Cast", ["i"], ["f"], to=1), helper.make_node("Add", ["v", "f"], ["w"]),
         helper.make_node("ReduceMax", ["w"], ["m"], keepdims=0),
         helper.make_node("Less", ["m", "limit"], ["go"]), helper.make_node("Identity", ["w"], ["out"])],
        "body", [info("i", 7, []), info("c", 9, []), info("v", 1, shape)],
        [info("go", 9, []), info("w", 1, shape), info("out", 1, shape)],
        [numpy_helper.from_array(np.array(float(g.int(2, 12)), np.float32), "limit")])
    return Node([ints(g, g.int(0, 5)) if g.chance(0.8) else "",
                 g.new(np.array(True)) if g.chance(0.7) else "", x], {"body": body}, 2)


@sampler("Scan")
def scan(g, s):
    if g.opset < 9:
        return None
    n, k = g.int(1, 4), g.int(1, 3)

    def info(name):
        return helper.make_tensor_value_info(name, 1, [k])
    body = helper.make_graph([helper.make_node("Add", ["st", "e"], ["st2"]),
                              helper.make_node("Mul", ["st2", "e"], ["o"])],
                             "body", [info("st"), info("e")], [info("st2"), info("o")])
    attrs = {"num_scan_inputs": 1, "body": body}
    if g.chance(0.5):
        attrs |= {"scan_input_directions": [g.int(0, 1)], "scan_output_directions": [g.int(0, 1)]}
    axis = g.int(0, 1)
    shape = (n, k) if axis == 0 else (k, n)
    attrs["scan_input_axes"] = [axis]
    if g.chance(0.5):
        attrs["scan_output_axes"] = [g.int(0, 1)]
    return Node([g.new(g.data(np.float32, (k,))), g.new(g.data(np.float32, shape))], attrs, 2)
