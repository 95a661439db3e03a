"""The ops of com.microsoft on seeded arrays, against onnxruntime."""

import numpy as np
import pytest

from onnx_node import Node

rng = np.random.default_rng(0)
CASES = []
f32 = np.float32


def case(name, op, inputs, nout=1, **kw):
    CASES.append(Node(name, op, inputs, nout, skip=kw.pop("skip_out", ()), **kw))


def R(*s):
    return rng.standard_normal(s).astype(f32)


def U8(*s):
    return rng.integers(0, 256, s).astype(np.uint8)


def I8(*s):
    return rng.integers(-128, 128, s).astype(np.int8)


def sc(v):
    return np.array(v, f32)


z8 = np.array(130, np.uint8)
for nm, D in (("u8", U8), ("i8", I8)):
    z = np.array(3, D(1).dtype)
    case(
        "qadd_" + nm, "QLinearAdd", [D(3, 4), sc(0.1), z, D(4), sc(0.05), z, sc(0.12), z], atol=1.01
    )
    case(
        "qmul_" + nm,
        "QLinearMul",
        [D(3, 4), sc(0.1), z, D(3, 1), sc(0.05), z, sc(0.5), z],
        atol=1.01,
    )
    case(
        "qsig_" + nm,
        "QLinearSigmoid",
        [D(3, 40), sc(0.03), z, sc(1 / 256), z],
        const=(1, 2, 3, 4),
        atol=1.01,
    )
    case(
        "qleaky_" + nm,
        "QLinearLeakyRelu",
        [D(3, 40), sc(0.03), z, sc(0.04), z],
        const=(1, 2, 3, 4),
        alpha=0.1,
        atol=1.01,
    )
    case(
        "qgap_" + nm,
        "QLinearGlobalAveragePool",
        [D(2, 3, 5, 4), sc(0.03), z, sc(0.02), z],
        atol=1.01,
    )
    case(
        "qgap_last_" + nm,
        "QLinearGlobalAveragePool",
        [D(2, 5, 4, 3), sc(0.03), z, sc(0.02), z],
        channels_last=1,
        atol=1.01,
    )
    case(
        "qap_" + nm,
        "QLinearAveragePool",
        [D(2, 3, 7, 6), sc(0.03), z, sc(0.02), z],
        kernel_shape=[3, 2],
        strides=[2, 1],
        pads=[1, 0, 1, 1],
        atol=1.01,
    )
    case(
        "qap_inc_" + nm,
        "QLinearAveragePool",
        [D(2, 3, 7, 6), sc(0.03), z, sc(0.02), z],
        kernel_shape=[3, 2],
        strides=[2, 1],
        pads=[1, 0, 1, 1],
        count_include_pad=1,
        atol=1.01,
    )
    case(
        "qap_ceil_" + nm,
        "QLinearAveragePool",
        [D(2, 3, 7, 6), sc(0.03), z, sc(0.02), z],
        kernel_shape=[3, 2],
        strides=[2, 2],
        ceil_mode=1,
        atol=1.01,
    )
    case(
        "qconcat_" + nm,
        "QLinearConcat",
        [sc(0.1), z, D(2, 3), sc(0.05), z, D(2, 2), sc(0.2), z],
        axis=1,
        atol=1.01,
    )
    case(
        "qwhere_" + nm,
        "QLinearWhere",
        [np.array([[True], [False]]), D(2, 3), sc(0.1), z, D(1, 3), sc(0.2), z, sc(0.15), z],
        atol=1.01,
    )
    case(
        "qconv_" + nm,
        "QLinearConv",
        [
            D(1, 2, 5, 5),
            sc(0.1),
            z,
            D(3, 2, 3, 3),
            sc(0.02),
            z,
            sc(0.8),
            z,
            rng.integers(-100, 100, (3,)).astype(np.int32),
        ],
        domain="",
        atol=1.01,
    )
    case(
        "qmm_" + nm,
        "QLinearMatMul",
        [D(2, 3, 4), sc(0.1), z, D(2, 4, 5), sc(0.02), z, sc(0.3), z],
        domain="",
        atol=1.01,
    )
case("dqmm", "DynamicQuantizeMatMul", [R(3, 4, 8), I8(8, 5), sc(0.02), np.array(0, np.int8), R(5)])
case("dqmm_u8", "DynamicQuantizeMatMul", [R(4, 8), U8(8, 5), R(5) ** 2 + 0.01, U8(5)])
case(
    "mmi2f",
    "MatMulIntegerToFloat",
    [U8(4, 8), I8(8, 5), sc(0.03), sc(0.02), np.array(7, np.uint8), np.array(2, np.int8), R(5)],
)
case(
    "mmi2f_col",
    "MatMulIntegerToFloat",
    [U8(2, 4, 8), U8(8, 5), sc(0.03), R(5) ** 2, np.array(7, np.uint8), U8(5)],
)
case(
    "qgemm",
    "QGemm",
    [
        U8(4, 8),
        sc(0.03),
        np.array(7, np.uint8),
        I8(8, 5),
        sc(0.02),
        np.array(1, np.int8),
        rng.integers(-500, 500, (5,)).astype(np.int32),
        sc(0.5),
        np.array(9, np.uint8),
    ],
    alpha=1.0,
    atol=1.01,
)
case(
    "qgemm_f",
    "QGemm",
    [
        U8(8, 4),
        sc(0.03),
        np.array(7, np.uint8),
        I8(5, 8),
        (R(5) ** 2 + 0.01).astype(f32),
        I8(5) * 0,
    ],
    transA=1,
    transB=1,
    alpha=2.0,
)
case(
    "mm16",
    "MatMulInteger16",
    [
        rng.integers(-3000, 3000, (3, 4)).astype(np.int16),
        rng.integers(-3000, 3000, (4, 5)).astype(np.int16),
    ],
)
for op in ["Gelu", "QuickGelu"]:
    case(op, op, [R(3, 50) * 3])
case("fastgelu", "FastGelu", [R(3, 50) * 3])
case("fastgelu_b", "FastGelu", [R(3, 50) * 3, R(50)])
case("biasgelu", "BiasGelu", [R(3, 50) * 3, R(50)])
case(
    "fusedconv",
    "FusedConv",
    [R(1, 4, 6, 6), R(4, 2, 3, 3), R(4)],
    group=2,
    pads=[1, 1, 1, 1],
    activation="LeakyRelu",
    activation_params=[0.1],
)
case(
    "fusedconv_z",
    "FusedConv",
    [R(1, 2, 6, 6), R(4, 2, 3, 3), R(4), R(1, 4, 4, 4)],
    activation="Relu",
)
case(
    "fusedconv_clip",
    "FusedConv",
    [R(1, 2, 6, 6), R(4, 2, 3, 3)],
    activation="Clip",
    activation_params=[-0.5, 0.5],
)
case(
    "fusedconv_hs",
    "FusedConv",
    [R(1, 2, 6, 6), R(4, 2, 3, 3)],
    activation="HardSigmoid",
    activation_params=[0.2, 0.5],
)
case("fmm", "FusedMatMul", [R(2, 4, 3), R(2, 5, 4)], transA=1, transB=1, alpha=0.5)
case("fmm_b", "FusedMatMul", [R(4, 2, 3), R(2, 3, 5)], transBatchA=1)
case("fmm_bt", "FusedMatMul", [R(3, 2, 4), R(2, 3, 5)], transBatchA=1, transA=1)
case("fmm_bb", "FusedMatMul", [R(2, 4, 3), R(3, 2, 5)], transBatchB=1)
case(
    "fgemm",
    "FusedGemm",
    [R(4, 3), R(5, 4), R(5)],
    transA=1,
    transB=1,
    alpha=0.5,
    beta=0.7,
    activation="LeakyRelu",
    activation_alpha=0.2,
)
case("fgemm_relu", "FusedGemm", [R(3, 4), R(4, 5), R(5)], activation="Relu")
case(
    "skipln",
    "SkipLayerNormalization",
    [R(2, 3, 8), R(2, 3, 8), R(8), R(8), R(8)],
    nout=4,
    skip_out=(1, 2),
    epsilon=1e-5,
)
case("skipln2", "SkipLayerNormalization", [R(2, 3, 8), R(3, 8), R(8)], epsilon=1e-5)
case(
    "skipsln",
    "SkipSimplifiedLayerNormalization",
    [R(2, 3, 8), R(2, 3, 8), R(8), R(8)],
    nout=4,
    skip_out=(1, 2),
    epsilon=1e-5,
)
case("sln", "SimplifiedLayerNormalization", [R(2, 3, 8), R(8)], domain="", epsilon=1e-5, axis=-1)
ids = rng.integers(0, 10, (2, 5)).astype(np.int32)
case(
    "embedln",
    "EmbedLayerNormalization",
    [
        ids,
        ids % 2,
        R(10, 8),
        R(6, 8),
        R(2, 8),
        R(8),
        R(8),
        (rng.integers(0, 2, (2, 5))).astype(np.int32),
    ],
    nout=3,
    epsilon=1e-5,
)
case(
    "embedln2",
    "EmbedLayerNormalization",
    [ids, None, R(10, 8), R(6, 8), None, R(8), R(8)],
    nout=2,
    epsilon=1e-5,
)
B, S, H, N = 2, 4, 8, 2
D = H // N
W = R(6, 3 * H)
b = R(3 * H)
X = R(B, S, 6)
case("att", "Attention", [X, W, b], num_heads=N)
case("att_len", "Attention", [X, W, b, np.array([3, 4], np.int32)], num_heads=N)
case("att_2b", "Attention", [X, W, b, np.array([3, 4, 1, 0], np.int32)], num_heads=N)
m2 = np.array([[1, 1, 0, 1], [1, 0, 1, 1]], np.int32)
case("att_m2", "Attention", [X, W, b, m2], num_heads=N)
case("att_uni", "Attention", [X, W, b], num_heads=N, unidirectional=1)
case("att_uni_m2", "Attention", [X, W, b, m2], num_heads=N, unidirectional=1)
case(
    "att_m3",
    "Attention",
    [X, W, b, rng.integers(0, 2, (B, S, S)).astype(np.int32)],
    num_heads=N,
    scale=0.3,
)
case(
    "att_past",
    "Attention",
    [X, W, b, None, R(2, B, N, 3, D)],
    nout=2,
    num_heads=N,
    unidirectional=1,
)
case("att_bias", "Attention", [X, W, b, None, None, R(B, N, S, S)], num_heads=N)
case("att_sizes", "Attention", [X, R(6, 8 + 8 + 4), R(20)], num_heads=N, qkv_hidden_sizes=[8, 8, 4])
case(
    "qatt",
    "QAttention",
    [
        U8(B, S, 6),
        I8(6, 3 * H),
        R(3 * H),
        sc(0.02),
        sc(0.01),
        None,
        np.array(120, np.uint8),
        np.array(0, np.int8),
    ],
    num_heads=N,
    atol=1e-4,
)
case(
    "qatt_m",
    "QAttention",
    [
        U8(B, S, 6),
        I8(6, 3 * H),
        R(3 * H),
        sc(0.02),
        sc(0.01),
        np.array([3, 4], np.int32),
        np.array(120, np.uint8),
        np.array(3, np.int8),
    ],
    num_heads=N,
    atol=1e-4,
    unidirectional=1,
)
Q, K, V = R(B, S, H), R(B, 5, H), R(B, 5, 12)
case("mha", "MultiHeadAttention", [Q, K, V], num_heads=N)
case("mha_bias", "MultiHeadAttention", [Q, K, V, R(8 + 8 + 12)], num_heads=N)
case("mha_len", "MultiHeadAttention", [Q, K, V, None, np.array([3, 5], np.int32)], num_heads=N)
case(
    "mha_m2",
    "MultiHeadAttention",
    [Q, K, V, None, np.array([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]], np.int32)],
    num_heads=N,
)
case("mha_ab", "MultiHeadAttention", [Q, K, V, None, None, R(1, N, S, 5)], num_heads=N)
case(
    "mha_past",
    "MultiHeadAttention",
    [Q, R(B, S, H), R(B, S, H), None, None, None, R(B, N, 3, D), R(B, N, 3, D)],
    nout=3,
    num_heads=N,
    unidirectional=1,
)
case("mha_4d", "MultiHeadAttention", [Q, R(B, N, 5, D), R(B, N, 5, D)], num_heads=N)
cs = R(16, D // 2)
for il in (0, 1):
    case(
        f"rot_{il}",
        "RotaryEmbedding",
        [R(B, S, H), rng.integers(0, 16, (B, S)).astype(np.int64), cs, cs + 1],
        interleaved=il,
    )
case("rot_off", "RotaryEmbedding", [R(B, N, S, D), np.array([3], np.int64), cs, cs + 1])
case(
    "rot_dim",
    "RotaryEmbedding",
    [R(B, S, H), np.array([2], np.int64), cs[:, :1], cs[:, :1] + 1],
    rotary_embedding_dim=2,
    num_heads=N,
)
# GQA: head_size must be multiple of 8 for rotary
hs = 16
nq, nk = 4, 2


def gqa(name, S, P, total, lens, rot=False, packed=False, **kw):
    q = R(B, S, nq * hs)
    k = R(B, S, nk * hs)
    v = R(B, S, nk * hs)
    pk, pv = R(B, nk, P, hs), R(B, nk, P, hs)
    c = R(32, hs // 2)
    ins = [q, k, v] if not packed else [np.concatenate([q, k, v], 2), None, None]
    ins += [pk, pv, np.array(lens, np.int32), np.array(total, np.int32)]
    ins += [c, c + 1] if rot else [None, None]
    ex = kw.pop("extra", [])
    case(
        name,
        "GroupQueryAttention",
        ins + ex,
        nout=3,
        num_heads=nq,
        kv_num_heads=nk,
        const=(6,),
        **kw,
    )


gqa("gqa_dec", 1, 5, 6, [5, 5])
gqa("gqa_prompt", 4, 0, 4, [3, 3])
gqa("gqa_rot", 1, 5, 6, [5, 5], rot=True, do_rotary=1)
gqa("gqa_rot_prompt", 4, 0, 4, [3, 3], rot=True, do_rotary=1, rotary_interleaved=1)
gqa("gqa_packed", 1, 5, 6, [5, 5], packed=True, rot=True, do_rotary=1)
gqa("gqa_win", 4, 0, 4, [3, 3], local_window_size=2)
gqa("gqa_soft", 1, 5, 6, [5, 5], softcap=5.0)
gqa("gqa_smooth", 1, 5, 6, [5, 5], smooth_softmax=1)
gqa("gqa_sink", 1, 5, 6, [5, 5], extra=[None, None, R(nq)])
gqa("gqa_bias", 1, 5, 6, [5, 5], extra=[None, R(1, nq, 1, 6)])
# nbits
for bits in (4, 8, 2):
    K_, N_, bl = 40, 6, 16
    nb = 3
    case(
        f"nbits{bits}",
        "MatMulNBits",
        [R(3, K_), U8(N_, nb, bl * bits // 8), R(N_, nb)],
        const=(1, 2),
        K=K_,
        N=N_,
        bits=bits,
        block_size=bl,
        atol=1e-3,
    )
    case(
        f"nbits{bits}_z",
        "MatMulNBits",
        [
            R(2, 3, K_),
            U8(N_, nb, bl * bits // 8),
            R(N_, nb),
            U8(N_, (nb * bits + 7) // 8),
            None,
            R(N_),
        ],
        const=(1, 2, 3),
        K=K_,
        N=N_,
        bits=bits,
        block_size=bl,
        atol=1e-3,
    )
case(
    "nbits_fz",
    "MatMulNBits",
    [R(3, 40), U8(6, 3, 8), R(6, 3), R(6, 3)],
    const=(1, 2, 3),
    K=40,
    N=6,
    bits=4,
    block_size=16,
    atol=1e-3,
)
case(
    "gbq",
    "GatherBlockQuantized",
    [U8(10, 16), np.array([[1, -2], [0, 3]], np.int64), R(10, 2)],
    gather_axis=0,
    quantize_axis=1,
    block_size=16,
    bits=4,
)
case(
    "gbq_z",
    "GatherBlockQuantized",
    [U8(10, 16), np.array([[1, -2], [0, 3]], np.int64), R(10, 2), U8(10, 1)],
    gather_axis=0,
    quantize_axis=1,
    block_size=16,
    bits=4,
)
case(
    "gbq8",
    "GatherBlockQuantized",
    [U8(10, 32), np.array([1, 2], np.int64), R(10, 2), U8(10, 2)],
    gather_axis=0,
    quantize_axis=1,
    block_size=16,
    bits=8,
)
for a in (0, 1):
    case(
        f"msq{a}",
        "QuantizeLinear",
        [
            R(3, 4) * 50,
            R(4 if a else 3) ** 2 + 0.1,
            rng.integers(0, 1000, (4 if a else 3,)).astype(np.uint16),
        ],
        axis=a,
    )
case(
    "msdq",
    "DequantizeLinear",
    [rng.integers(-3000, 3000, (3, 4)).astype(np.int16), sc(0.1), np.array(5, np.int16)],
)
case(
    "gs",
    "GridSample",
    [R(1, 2, 4, 5), R(1, 3, 3, 2)],
    mode="bicubic",
    padding_mode="reflection",
    align_corners=1,
)
case("uniq", "Unique", [np.array([2, 1, 1, 3, 4, 3], f32)], nout=3)
case("trilu", "Trilu", [R(4, 5), np.array(1, np.int64)], upper=0)
case("expd", "ExpandDims", [R(4, 5), np.array(1, np.int32)], const=(1,))
case("rng", "Range", [sc(1), sc(5), sc(0.7)])
case(
    "car",
    "CropAndResize",
    [
        R(2, 3, 6, 5),
        np.array([[0, 0, 1, 1], [0.2, 0.1, 1.3, 0.8], [0.5, 0.5, 0.5, 0.5]], f32),
        np.array([0, 1, 0], np.int32),
        np.array([3, 4], np.int32),
    ],
    const=(3,),
    extrapolation_value=2.5,
)
case("inv", "Inverse", [R(2, 4, 4)])


@pytest.mark.parametrize("node", CASES, ids=repr)
def test_evaluator_agrees_with_onnxruntime(node):
    node.check(node.evaluated())


@pytest.mark.parametrize("node", CASES[::3], ids=repr)
def test_compiled_code_agrees_with_onnxruntime(node):
    node.check(node.compiled(3))
