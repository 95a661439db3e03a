"""Samplers: contractions, windows, resampling, recurrent and attention ops, ai.onnx.ml."""
import numpy as np

from gen_graph import FLOATS, Node, sampler

f32 = np.float32
REAL = ("float32", "float64")


@sampler("MatMul")
def matmul(g, s):
    d = g.a_type(s, "T", (*FLOATS, "int32", "int64", "uint32"))
    x = g.take([d], 1)
    k = g[x].shape[-1]
    batch = g.broadcastable(g[x].shape[:-2]) if g.chance(0.5) else ()
    return Node([x, g.new(g.data(d, (*batch, k, g.int(1, 6)) if batch or g.chance(0.8) else (k,)))])


@sampler("Gemm")
def gemm(g, s):
    d = g.a_type(s, "T", FLOATS)
    m, k, n = g.int(1, 6), g.int(1, 6), g.int(1, 20)
    ta, tb = g.int(0, 1), g.int(0, 1)
    a, b = g.data(d, (k, m) if ta else (m, k)), g.data(d, (n, k) if tb else (k, n))
    ins = [g.new(a), g.new(b)]
    if g.opset < 11 or g.chance(0.7):
        ins.append(g.new(g.data(d, g.pick([(m, n), (1, n), (n,), (m, 1), (), (1,)]))))
    attrs = {"transA": ta, "transB": tb}
    if g.chance(0.5):
        attrs |= {"alpha": 0.5, "beta": g.pick([0.0, 1.0, 2.0])}
    return Node(ins, attrs)


@sampler("MatMulInteger")
def matmul_integer(g, s):
    a, b = (g.pick([np.int8, np.uint8]) for _ in range(2))
    m, k, n = (g.int(1, 6) for _ in range(3))
    ins = [g.new(g.data(a, (m, k))), g.new(g.data(b, (k, n)))]
    if g.chance(0.6):
        ins += [g.new(g.data(a, ())), g.new(g.data(b, ()))]
    return Node(ins)


@sampler("Einsum")
def einsum(g, s):
    letters = "ijkl"[:g.int(2, 4)]
    size = {c: g.int(1, 4) for c in letters}
    terms = ["".join(g.rng.permutation(list(letters))[:g.int(1, len(letters))]) for _ in range(g.int(1, 3))]
    used = sorted(set("".join(terms)))
    out = "".join(g.rng.permutation(used)[:g.int(0, len(used))])
    d = g.pick([f32, np.float64])
    return Node([g.new(g.data(d, [size[c] for c in t])) for t in terms],
                {"equation": ",".join(terms) + "->" + out})


def window(g, spatial, ceil=False):
    """Attributes of a sliding window over `spatial`, that leave at least one place."""
    n = len(spatial)
    kernel = [g.int(1, min(3, d)) for d in spatial]
    attrs = {"kernel_shape": kernel}
    if g.chance(0.6):
        attrs["strides"] = [g.int(1, 3) for _ in spatial]
    how = g.pick(["none", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if how == "pads":
        attrs["pads"] = [g.int(0, k - 1) for k in kernel * 2]
    elif how != "none":
        attrs["auto_pad"] = how
        if how != "VALID" and "strides" in attrs:
            # With a stride beyond the kernel the padding would be negative: every runtime differs.
            attrs["strides"] = [min(k, st) for k, st in zip(kernel, attrs["strides"])]
    if ceil and how in ("none", "pads") and g.chance(0.4):
        attrs["ceil_mode"] = 1
    if how in ("none", "pads") and g.chance(0.4):
        attrs["dilations"] = [g.int(1, max(1, (d - 1) // max(k - 1, 1))) for d, k in zip(spatial, kernel)]
        attrs["dilations"] = [min(v, 2) for v in attrs["dilations"]]
    return n, attrs


def image(g, d, low=1, high=3):
    spatial = [g.int(2, 8) for _ in range(g.int(low, high))]
    return spatial, lambda c: g.new(g.data(d, (g.int(1, 2), c, *spatial)))


@sampler("Conv", "ConvInteger")
def conv(g, s):
    integer = s.name == "ConvInteger"
    d = np.dtype(np.uint8) if integer else g.a_type(s, "T", REAL)
    spatial, x = image(g, d, 1 if not integer else 2, 3 if not integer else 2)
    _, attrs = window(g, spatial)
    group = g.int(1, 3)
    c, m = group * g.int(1, 3), group * g.int(1, 4)
    ins = [x(c), g.new(g.data(d, (m, c // group, *attrs["kernel_shape"])))]
    if integer:
        ins += [g.new(g.data(d, ())) for _ in range(g.int(0, 2))]
    elif g.chance(0.6):
        ins.append(g.new(g.data(d, (m,))))
    if g.chance(0.3):
        del attrs["kernel_shape"]
    return Node(ins, attrs | {"group": group})


@sampler("ConvTranspose")
def conv_transpose(g, s):
    d = g.a_type(s, "T", ("float32",))
    spatial, x = image(g, d, 1, 2)
    _, attrs = window(g, spatial)
    if attrs.get("auto_pad") in ("SAME_UPPER", "SAME_LOWER"):
        del attrs["auto_pad"]
    strides = attrs.get("strides", [1] * len(spatial))
    if g.chance(0.3):
        attrs["output_padding"] = [g.int(0, st - 1) for st in strides]
    group = g.int(1, 2)
    c, m = group * g.int(1, 3), g.int(1, 3)
    ins = [x(c), g.new(g.data(d, (c, m, *attrs["kernel_shape"])))]
    if g.chance(0.5):
        ins.append(g.new(g.data(d, (m * group,))))
    return Node(ins, attrs | {"group": group})


@sampler("MaxPool", "AveragePool", "LpPool")
def pool(g, s):
    d = g.a_type(s, "T", REAL if s.name == "MaxPool" else ("float32",))
    spatial, x = image(g, d)
    _, attrs = window(g, spatial, ceil=g.opset >= (18 if s.name == "LpPool" else 10))
    dilated = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[s.name]
    if g.opset < dilated:
        attrs.pop("dilations", None)
    if s.name == "AveragePool" and g.chance(0.5):
        attrs["count_include_pad"] = 1
    if s.name == "LpPool":
        attrs["p"] = g.int(1, 3)
    outs = 1
    if s.name == "MaxPool" and g.opset >= 8 and g.chance(0.3):
        outs = 2
        if g.chance(0.5):
            attrs["storage_order"] = g.int(0, 1)
    return Node([x(g.int(1, 3))], attrs, outs)


@sampler("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, s):
    _, x = image(g, f32)
    return Node([x(g.int(1, 3))], {"p": g.int(1, 3)} if s.name == "GlobalLpPool" else {})


@sampler("Resize")
def resize(g, s):
    rank = g.int(2, 4)
    resized = {i for i in range(max(rank - 2, 0), rank)} if g.chance(0.8) else {rank - 1}
    x = g.new(g.data(f32, [g.int(1, 2) if i not in resized else g.int(2, 6) for i in range(rank)]))
    a = g[x]
    scale = [float(g.pick([0.5, 0.6, 1.0, 1.5, 2.0, 3.0])) if i in resized else 1.0 for i in range(rank)]
    if any(int(n * k) < 1 for n, k in zip(a.shape, scale)):
        return None
    mode = g.pick(["nearest", "linear", "cubic"])
    if g.opset < 11:
        return Node([x, g.new(np.array(scale, f32), True)], {"mode": g.pick(["nearest", "linear"])})
    if mode == "cubic" and (rank != 4 or len(resized) != 2):
        mode = "linear"
    how = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    if any(n * k != int(n * k) for n, k in zip(a.shape, scale)):
        # The standard's own tests divide by the length before it is cut to an integer, onnxruntime
        # by the one after.
        how.remove("align_corners")
    attrs = {"mode": mode, "coordinate_transformation_mode": g.pick(how)}
    if mode == "nearest":
        attrs["nearest_mode"] = g.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attrs |= {"cubic_coeff_a": g.pick([-0.75, -0.5]), "exclude_outside": g.int(0, 1)}
    if g.opset >= 18 and mode in ("linear", "cubic") and g.chance(0.3):
        attrs["antialias"] = 1
    if g.chance(0.5):
        return Node([x, "", g.new(np.array(scale, f32))], attrs)
    sizes = [int(n * k) for n, k in zip(a.shape, scale)]
    return Node([x, "", "", g.new(np.array(sizes, np.int64))], attrs)


@sampler("GridSample")
def grid_sample(g, s):
    n, c = g.int(1, 2), g.int(1, 2)
    mode = g.pick(["bilinear", "nearest"] if g.opset < 20 else ["linear", "nearest"])
    pad = g.pick(["zeros", "border", "reflection"])
    x = g.data(f32, (n, c, g.int(2, 5), g.int(2, 5)))
    grid = g.data(f32, (n, g.int(1, 4), g.int(1, 4), 2), -1.4, 1.4)
    return Node([g.new(x), g.new(grid)],
                {"mode": mode, "padding_mode": pad, "align_corners": g.int(0, 1)}, rtol=1e-4)


@sampler("RoiAlign")
def roi_align(g, s):
    k = g.int(1, 4)
    x = g.data(f32, (2, 2, 6, 7))
    corner = g.data(f32, (k, 2), 0, 3)
    rois = np.concatenate([corner, corner + g.data(f32, (k, 2), 0.5, 4)], 1)
    attrs = {"output_height": g.int(1, 3), "output_width": g.int(1, 3), "sampling_ratio": g.int(0, 3),
             "mode": g.pick(["avg", "max"]), "spatial_scale": g.pick([1.0, 0.5])}
    if g.opset >= 16:
        attrs["coordinate_transformation_mode"] = g.pick(["half_pixel", "output_half_pixel"])
    return Node([g.new(x), g.new(rois), g.new(g.rng.integers(0, 2, k).astype(np.int64))], attrs)


@sampler("RNN", "GRU", "LSTM")
def recurrent(g, s):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[s.name]
    direction = g.pick(["forward", "reverse", "bidirectional"])
    dirs = 2 if direction == "bidirectional" else 1
    t, b, i, h = g.int(1, 4), g.int(1, 3), g.int(1, 4), g.int(1, 4)
    layout = g.int(0, 1) if g.opset >= 14 and g.chance(0.2) else 0
    attrs = {"hidden_size": h, "direction": direction}
    if layout:
        attrs["layout"] = 1
    if s.name == "GRU":
        attrs["linear_before_reset"] = g.int(0, 1)
    if s.name == "LSTM" and g.chance(0.2):
        attrs["input_forget"] = 1
    if g.chance(0.2):
        attrs["clip"] = 0.5

    def state():
        return g.new(g.data(f32, (b, dirs, h) if layout else (dirs, b, h)))
    ins = [g.new(g.data(f32, (b, t, i) if layout else (t, b, i))),
           g.new(g.data(f32, (dirs, gates * h, i))), g.new(g.data(f32, (dirs, gates * h, h)))]
    ins.append(g.new(g.data(f32, (dirs, 2 * gates * h))) if g.chance(0.6) else "")
    ins.append(g.new(g.rng.integers(1, t + 1, b).astype(np.int32)) if g.chance(0.4) else "")
    ins.append(state() if g.chance(0.5) else "")
    if s.name == "LSTM":
        ins.append(state() if g.chance(0.5) else "")
        ins.append(g.new(g.data(f32, (dirs, 3 * h))) if g.chance(0.3) else "")
    return Node(ins, attrs, 3 if s.name == "LSTM" else 2)


@sampler("Attention")
def attention(g, s):
    b, hkv, n, m, d, e = g.int(1, 2), g.int(1, 2), g.int(1, 4), g.int(1, 5), g.int(1, 4), g.int(1, 4)
    hq = hkv * g.int(1, 2)
    attrs = {"is_causal": g.int(0, 1)} if g.chance(0.4) else {}
    if g.chance(0.3):
        attrs["softcap"] = 2.0
    flat = g.chance(0.4)

    def make(h, length, size):
        x = g.data(f32, (b, length, h * size) if flat else (b, h, length, size))
        return g.new(x)
    if flat:
        attrs |= {"q_num_heads": hq, "kv_num_heads": hkv}
    ins = [make(hq, n, d), make(hkv, m, d), make(hkv, m, e)]
    if g.chance(0.5):
        shape = g.pick([(n, m), (1, 1, n, m), (b, hq, n, m)])
        ins.append(g.new(g.data(bool, shape) | (np.arange(m) == 0) if g.chance(0.5) else g.data(f32, shape)))
    return Node(ins, attrs)


@sampler("Det")
def det(g, s):
    n = g.int(1, 4)
    return Node([g.new(g.data(f32, (*g.shape(0, 2, 3), n, n)))], rtol=1e-4)


@sampler("DFT")
def dft(g, s):
    x = g.new(g.data(f32, (g.int(1, 2), g.int(2, 6), g.int(2, 5), 1)))
    if g.opset < 20:
        return Node([x], {"axis": g.int(1, 2), "onesided": g.int(0, 1)}, rtol=1e-4)
    return Node([x, "", g.new(np.array(g.pick([1, 2, -2]), np.int64), True)], {"onesided": g.int(0, 1)},
                rtol=1e-4)


@sampler("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(g, s):
    return Node([g.new(np.array(g.int(2, 9), np.int64))], {"periodic": g.int(0, 1)}, rtol=1e-4)


@sampler("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g, s):
    n, c = g.int(1, 3), g.int(2, 4)
    extra = g.shape(0, 2, 3)
    target = g.rng.integers(0, c, (n, *extra)).astype(np.int64)
    ins = [g.new(g.data(f32, (n, c, *extra))), g.new(target)]
    if g.chance(0.5):
        ins.append(g.new(g.data(f32, (c,), 0.2, 2)))
    attrs = {"reduction": g.pick(["none", "mean", "sum"])}
    if g.chance(0.3) and len(set(target.reshape(-1).tolist())) > 1:
        attrs["ignore_index"] = int(target.reshape(-1)[0])
    return Node(ins, attrs)


@sampler("NonMaxSuppression")
def nms(g, s):
    n, k = g.int(1, 8), g.int(1, 2)
    corner = g.data(f32, (1, n, 2), 0, 4)
    boxes = np.concatenate([corner, corner + g.data(f32, (1, n, 2), 0.5, 3)], -1)
    scores = g.rng.permutation(n * k).reshape(1, k, n).astype(f32) / 10
    return Node([g.new(boxes), g.new(scores), g.new(np.array([g.int(1, n)], np.int64)),
                 g.new(np.array([0.4], f32)), g.new(np.array([0.2], f32)) if g.chance(0.5) else ""],
                {"center_point_box": g.int(0, 1)})


@sampler("Scaler", "Normalizer", "Binarizer", "Imputer", "LinearRegressor", domain="ai.onnx.ml")
def ml(g, s):
    n, c = g.int(1, 4), g.int(1, 4)
    x = g.data(f32, (n, c))
    floats = g.rng.standard_normal
    attrs = {"Scaler": lambda: {"offset": floats(c).tolist(), "scale": floats(g.pick([1, c])).tolist()},
             "Normalizer": lambda: {"norm": g.pick(["MAX", "L1", "L2"])},
             "Binarizer": lambda: {"threshold": 0.25},
             "Imputer": lambda: {"imputed_value_floats": floats(g.pick([1, c])).tolist(),
                                 "replaced_value_float": float("nan")},
             "LinearRegressor": lambda: {"coefficients": floats(2 * c).tolist(), "targets": 2,
                                         "intercepts": floats(2).tolist()}}[s.name]()
    if s.name == "Scaler" and len(attrs["scale"]) != c:
        attrs["offset"] = attrs["offset"][:1]
    if s.name == "Imputer":
        x[g.data(bool, x.shape)] = np.nan
    return Node([g.new(x)], attrs)
