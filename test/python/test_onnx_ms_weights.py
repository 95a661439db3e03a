"""com.microsoft's mixtures of experts and weights of a few bits, on seeded arrays, against onnxruntime."""
import numpy as np
import pytest

from onnx_node import Node

rng = np.random.default_rng(0)
CASES = []
T, H, I, E = 5, 16, 32, 4  # tokens, hidden and inner sizes, experts
SWIGLU = dict(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0)


def R(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def U8(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def case(name, op, inputs, const=(), outputs=1, **kw):
    const = tuple(i for i in const if i < len(inputs) and inputs[i] is not None and i != 7)
    CASES.append(Node(name, op, inputs, outputs, const=const, rtol=1e-3, atol=1e-3, **kw))


for act in ("relu", "silu", "gelu", "identity", "swiglu"):
    for norm in (0, 1):
        rows = 2 * I if act == "swiglu" else I
        more = SWIGLU | {"swiglu_limit": 1.5} if act == "swiglu" else {}
        case(f"moe_{act}_{norm}", "MoE",
             [R(T, H), R(T, E), R(E, rows, H), R(E, rows), R(E, H, I), R(E, H)], k=2,
             activation_type=act, normalize_routing_weights=norm, **more)
case("moe_3d", "MoE", [R(2, 3, H), R(6, E), R(E, I, H), None, R(E, H, I)], k=1,
     activation_type="silu")
# (Of 8 bits in blocks onnxruntime quantizes the activations as well.)
for bits, block in ((4, 0), (4, 16), (8, 0)):
    for zero_points in (0, 1):
        pack = 8 // bits
        columns = (lambda n: (n // block,)) if block else (lambda n: ())
        zeros = [None, None]
        if zero_points and block:
            zeros = [U8(E, 2 * I, -(-(H // block) // pack)), U8(E, H, -(-(I // block) // pack))]
        elif zero_points:
            zeros = [U8(E, 2 * I // pack), U8(E, H // pack)]
        case(f"qmoe_{bits}_{block}_{zero_points}", "QMoE",
             [R(T, H), R(T, E), U8(E, 2 * I, H // pack), abs(R(E, 2 * I, *columns(H))) * 0.02,
              R(E, 2 * I), U8(E, H, I // pack), abs(R(E, H, *columns(I))) * 0.02, R(E, H), None, None,
              None, *zeros],
             const=range(2, 13), k=2, activation_type="swiglu", normalize_routing_weights=1,
             expert_weight_bits=bits, **SWIGLU, **({"block_size": block} if block else {}))
# (Zero points beside g_idx are not as the text has them in onnxruntime.)
group = rng.permutation(np.repeat([0, 1, 2], 16)).astype(np.int32)
case("nbits_g_idx", "MatMulNBits", [R(3, 48), U8(6, 3, 8), abs(R(18)), None, group],
     const=(1, 2, 3, 4), K=48, N=6, bits=4, block_size=16)
for kind in (0, 1):
    for k, n in ((32, 6), (48, 5)):
        case(f"bnb4_{kind}_{k}", "MatMulBnb4", [R(3, k), U8(k * n // 2), abs(R((k * n + 15) // 16))],
             const=(1, 2), K=k, N=n, quant_type=kind, block_size=16)
ids = rng.integers(0, 9, (2, 4)).astype(np.int32)
scales = [np.array(v, np.float32) for v in (0.02, 0.03, 0.01, 0.02, 0.01)]
for segments in (False, True):
    tables = [U8(9, 6), U8(5, 6), U8(2, 6) if segments else None, U8(6), U8(6)]
    zeros = [U8() if t is not None else None for t in tables]
    case(f"qembed_{segments}", "QEmbedLayerNormalization",
         [ids, ids % 2 if segments else None, *tables, (ids > 3).astype(np.int32),
          *[s if t is not None else None for s, t in zip(scales, tables)], *zeros],
         const=range(2, 18), outputs=2)
case("nhwc_max_pool", "NhwcMaxPool", [U8(2, 5, 6, 3)], kernel_shape=[3, 2], strides=[2, 1],
     pads=[1, 0, 1, 1])


@pytest.mark.parametrize("node", CASES, ids=repr)
def test_evaluator_agrees_with_onnxruntime(node):
    node.check(node.evaluated())


@pytest.mark.parametrize("node", CASES[::4], ids=repr)
def test_compiled_code_agrees_with_onnxruntime(node):
    node.check(node.compiled(3))
