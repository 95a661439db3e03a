"""Ops of ai.onnx on seeded arrays, against onnxruntime."""

import numpy as np
import pytest

from onnx_node import Node

rng = np.random.default_rng(0)
CASES = []
f32 = np.float32


def R(*s):
    return rng.standard_normal(s).astype(f32)


def C(name, op, ins, nout=1, **kw):
    CASES.append(Node(name, op, ins, nout, domain="", skip=kw.pop("skip_out", ()), **kw))


for i, (eq, shapes) in enumerate(
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("...ij,...jk->...ik", [(2, 1, 2, 3), (1, 4, 3, 5)]),
        ("b...i,b...i->b...", [(2, 3, 4), (2, 3, 4)]),
        ("i,j->ij", [(2,), (3,)]),
        ("ij->ji", [(2, 3)]),
        ("ijj->i", [(2, 3, 3)]),
        ("iij,jk->ik", [(2, 2, 3), (3, 4)]),
        ("bhwc,hkc->bhwk", [(1, 2, 3, 4), (2, 5, 4)]),
        ("a,b,c->abc", [(2,), (3,), (4,)]),
        ("ij,ij,ij->", [(2, 3), (2, 3), (2, 3)]),
        ("abc,cd,d->ab", [(2, 3, 4), (4, 5), (5,)]),
        ("ij,kj->ik", [(2, 1), (3, 4)]),
        (" i j , j k -> k i ", [(2, 3), (3, 4)]),
        ("...->...", [(2, 3)]),
        ("...i->...", [(2, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
        ("aBb,bA->aBA", [(2, 3, 4), (4, 5)]),
    ]
):
    C(f"einsum{i}", "Einsum", [R(*s) for s in shapes], equation=eq)
C(
    "einsum_i",
    "Einsum",
    [rng.integers(0, 9, (2, 3)).astype(np.int64), rng.integers(0, 9, (3, 4)).astype(np.int64)],
    equation="ij,jk->ik",
)
for m in ("linear", "nearest", "cubic"):
    for p in ("zeros", "border", "reflection"):
        for a in (0, 1):
            if (m, p) == ("cubic", "border"):
                continue  # onnxruntime does not move the place to the border as the text has it
            C(
                f"gs_{m}_{p}_{a}",
                "GridSample",
                [R(2, 3, 5, 4), (rng.uniform(-1.6, 1.6, (2, 3, 6, 2))).astype(f32)],
                mode=m,
                padding_mode=p,
                align_corners=a,
                opset=20,
                atol=1e-4,
            )
        if m != "cubic":
            C(
                f"gs3_{m}_{p}",
                "GridSample",
                [R(1, 2, 3, 5, 4), (rng.uniform(-1.6, 1.6, (1, 2, 3, 2, 3))).astype(f32)],
                mode=m,
                padding_mode=p,
                opset=20,
                atol=1e-4,
            )
rois = np.array([[0, 0, 7, 7], [1.5, 2.5, 6, 5], [3, 3, 3.2, 3.1], [2, 1, 9, 12]], f32)
bi = np.array([0, 1, 0, 1], np.int64)
for mode in ("avg", "max"):
    for sr in (0, 2):
        for ct in ("half_pixel", "output_half_pixel"):
            C(
                f"roi_{mode}_{sr}_{ct}",
                "RoiAlign",
                [R(2, 3, 8, 8), rois, bi],
                mode=mode,
                sampling_ratio=sr,
                coordinate_transformation_mode=ct,
                output_height=3,
                output_width=2,
                spatial_scale=0.9,
                opset=16,
            )
C("roi10", "RoiAlign", [R(2, 3, 8, 8), rois, bi], output_height=3, output_width=2, opset=10)
C(
    "mrp",
    "MaxRoiPool",
    [
        R(2, 3, 8, 8),
        np.array([[0, 0, 0, 7, 7], [1, 1, 2, 5, 4], [0, 6, 6, 7, 7], [1, 3, 3, 3, 3]], f32),
    ],
    pooled_shape=[3, 2],
    spatial_scale=1.0,
)


def boxes(B, N, c=0):
    y = rng.uniform(0, 1, (B, N, 2))
    if c:
        return np.concatenate([y, rng.uniform(0.1, 0.5, (B, N, 2))], 2).astype(f32)
    return np.concatenate([y, y + rng.uniform(-0.4, 0.4, (B, N, 2))], 2).astype(f32)


for c in (0, 1):
    C(
        f"nms{c}",
        "NonMaxSuppression",
        [
            boxes(2, 20, c),
            rng.uniform(0, 1, (2, 3, 20)).astype(f32),
            np.array([6], np.int64),
            np.array([0.3], f32),
            np.array([0.2], f32),
        ],
        center_point_box=c,
    )
C(
    "nms_all",
    "NonMaxSuppression",
    [
        boxes(1, 15),
        np.round(rng.uniform(0, 1, (1, 2, 15)), 1).astype(f32),
        np.array(100, np.int64),
        np.array(0.1, f32),
    ],
)
C("nms_none", "NonMaxSuppression", [boxes(1, 5), rng.uniform(0, 1, (1, 2, 5)).astype(f32)])
C(
    "nms_const",
    "NonMaxSuppression",
    [
        boxes(1, 15),
        rng.uniform(0, 1, (1, 1, 15)).astype(f32),
        np.array(3, np.int64),
        np.array(0.1, f32),
    ],
    const=(2, 3),
)
for s in (0, 1):
    C(f"uniq{s}", "Unique", [rng.integers(0, 5, (4, 5)).astype(f32)], nout=4, sorted=s)
    for a in (0, 1):
        C(
            f"uniq{s}_a{a}",
            "Unique",
            [rng.integers(0, 2, (6, 3) if a == 0 else (2, 7)).astype(np.int64)],
            nout=4,
            sorted=s,
            axis=a,
        )
C("uniq_i8", "Unique", [rng.integers(0, 5, (9,)).astype(np.int8)], nout=4)
C(
    "uniq_only_counts",
    "Unique",
    [rng.integers(0, 5, (9,)).astype(np.int64)],
    nout=4,
    skip_out=(1, 2),
)
for L in (8, 7):
    C(f"dft{L}", "DFT", [R(2, 8, 1)], opset=17, axis=1)
    C(f"dftc{L}", "DFT", [R(2, L, 3, 2)], opset=17, axis=1)
    C(f"dft1{L}", "DFT", [R(2, L, 1)], opset=17, axis=1, onesided=1)
    C(f"idft{L}", "DFT", [R(2, L, 2)], opset=17, axis=1, inverse=1)
    C(f"dftl{L}", "DFT", [R(2, L, 1), np.array(10, np.int64)], const=(1,), opset=17, axis=1)
    C(f"dftl5{L}", "DFT", [R(2, L, 1), np.array(5, np.int64)], opset=17, axis=1)
C(
    "stft",
    "STFT",
    [R(2, 40, 1), np.array(4, np.int64), R(8), np.array(8, np.int64)],
    const=(1, 3),
    opset=17,
)
C("stft2", "STFT", [R(2, 40, 1), np.array(4, np.int64), R(8)], opset=17, onesided=0)
C(
    "stft3",
    "STFT",
    [R(1, 40, 2), np.array(5, np.int64), None, np.array(7, np.int64)],
    const=(3,),
    opset=17,
    onesided=0,
)
for w in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    for p in (0, 1):
        C(f"{w}{p}", w, [np.array(9, np.int64)], periodic=p, opset=17, const=(0,))
C(
    "mel",
    "MelWeightMatrix",
    [
        np.array(8, np.int64),
        np.array(64, np.int64),
        np.array(8000, np.int64),
        np.array(100.0, f32),
        np.array(3500.0, f32),
    ],
    const=(0, 1),
    opset=17,
)
C("det", "Det", [R(2, 3, 5, 5)], rtol=1e-3)
C("det1", "Det", [R(1, 1)])
C("detsing", "Det", [np.ones((3, 3), f32)])
C(
    "col2im",
    "Col2Im",
    [R(2, 18, 12), np.array([5, 6], np.int64), np.array([3, 3], np.int64)],
    pads=[0, 0, 0, 0],
    opset=18,
)
C(
    "col2im2",
    "Col2Im",
    [R(1, 12, 9), np.array([5, 5], np.int64), np.array([2, 3], np.int64)],
    pads=[1, 1, 1, 1],
    strides=[2, 2],
    opset=18,
    const=(1, 2),
)
x = R(1, 2, 6, 6)
C(
    "ccp",
    "CenterCropPad",
    [R(5, 4, 3), np.array([3, 7], np.int64)],
    axes=[0, 1],
    opset=18,
    const=(1,),
)
C("ccp_dyn", "CenterCropPad", [R(5, 4), np.array([3, 7], np.int64)], opset=18)
C("affine", "AffineGrid", [R(2, 2, 3), np.array([2, 3, 4, 5], np.int64)], opset=20, align_corners=1)
C("affine3", "AffineGrid", [R(2, 3, 4), np.array([2, 3, 4, 5, 3], np.int64)], opset=20, const=(1,))
C(
    "deform",
    "DeformConv",
    [
        R(1, 4, 6, 6),
        R(6, 2, 3, 3),
        R(1, 2 * 9 * 2, 4, 4),
        R(6),
        rng.uniform(0, 1, (1, 2 * 9, 4, 4)).astype(f32),
    ],
    group=2,
    offset_group=2,
    opset=19,
    atol=1e-4,
)
for ax in (0, 1, -1):
    n_ = [3, 4, 5][ax]
    C(
        f"ql{ax}",
        "QuantizeLinear",
        [
            R(3, 4, 5) * 50,
            (rng.uniform(0.1, 2, n_)).astype(f32),
            rng.integers(0, 200, n_).astype(np.uint8),
        ],
        axis=ax,
        opset=13,
    )
    C(
        f"dql{ax}",
        "DequantizeLinear",
        [
            rng.integers(-128, 127, (3, 4, 5)).astype(np.int8),
            (rng.uniform(0.1, 2, n_)).astype(f32),
            rng.integers(-20, 20, n_).astype(np.int8),
        ],
        axis=ax,
        opset=13,
    )
C(
    "qlblk",
    "QuantizeLinear",
    [
        R(3, 8) * 50,
        rng.uniform(0.1, 2, (3, 2)).astype(f32),
        rng.integers(0, 200, (3, 2)).astype(np.uint8),
    ],
    axis=1,
    block_size=4,
    opset=21,
)
C(
    "qlblk7",
    "QuantizeLinear",
    [R(7, 3) * 50, rng.uniform(0.1, 2, (2, 3)).astype(f32)],
    axis=0,
    block_size=4,
    opset=21,
    output_dtype=3,
)
C(
    "dqi32",
    "DequantizeLinear",
    [rng.integers(-(10**6), 10**6, (3, 4)).astype(np.int32), np.array(0.01, f32)],
    opset=13,
)
C(
    "ql16",
    "QuantizeLinear",
    [R(3, 4) * 5000, np.array(0.3, f32), np.array(-100, np.int16)],
    opset=21,
)
C(
    "qlround",
    "QuantizeLinear",
    [
        np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9], f32),
        np.array(1, f32),
        np.array(3, np.uint8),
    ],
    opset=13,
)
C(
    "qlmm_row",
    "QLinearMatMul",
    [
        rng.integers(0, 255, (3, 4)).astype(np.uint8),
        np.array(0.1, f32),
        np.array(5, np.uint8),
        rng.integers(-128, 127, (4, 5)).astype(np.int8),
        rng.uniform(0.01, 0.1, 5).astype(f32),
        np.zeros(5, np.int8),
        np.array(0.3, f32),
        np.array(5, np.uint8),
    ],
    const=(3, 4, 5),
    atol=1.01,
)
C(
    "ci",
    "ConvInteger",
    [
        rng.integers(0, 255, (1, 4, 6, 6)).astype(np.uint8),
        rng.integers(0, 255, (4, 2, 3, 3)).astype(np.uint8),
        np.array(3, np.uint8),
        np.array(7, np.uint8),
    ],
    group=2,
    pads=[1, 1, 1, 1],
    strides=[2, 2],
)
C(
    "nll",
    "NegativeLogLikelihoodLoss",
    [R(3, 5, 2), rng.integers(0, 5, (3, 2)).astype(np.int64), rng.uniform(0.1, 1, 5).astype(f32)],
    ignore_index=2,
    opset=13,
)
C(
    "sce",
    "SoftmaxCrossEntropyLoss",
    [R(3, 5, 2), rng.integers(0, 5, (3, 2)).astype(np.int64)],
    nout=2,
    reduction="sum",
    opset=13,
)
D = 8
for il in (0, 1):
    C(
        f"rot{il}",
        "RotaryEmbedding",
        [R(2, 3, 4, D), R(10, D // 2), R(10, D // 2), rng.integers(0, 10, (2, 4)).astype(np.int64)],
        interleaved=il,
        opset=23,
    )
C(
    "att_gqa",
    "Attention",
    [R(2, 4, 3, D), R(2, 2, 5, D), R(2, 2, 5, D)],
    opset=23,
    is_causal=0,
    softcap=2.0,
)
C(
    "att_mask",
    "Attention",
    [R(2, 4, 3, D), R(2, 2, 5, D), R(2, 2, 5, D), rng.uniform(0, 1, (3, 5)) > 0.3],
    opset=23,
)


@pytest.mark.parametrize("node", CASES, ids=repr)
def test_evaluator_agrees_with_onnxruntime(node):
    node.check(node.evaluated())


@pytest.mark.parametrize("node", CASES[::3], ids=repr)
def test_compiled_code_agrees_with_onnxruntime(node):
    node.check(node.compiled(3))
