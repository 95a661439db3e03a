"""The ops of ai.onnx.ml on seeded arrays, against onnxruntime."""

import numpy as np
import pytest

from onnx_node import Node

rng = np.random.default_rng(0)
CASES = []
f32 = np.float32


def R(*s):
    return rng.standard_normal(s).astype(f32)


ML = "ai.onnx.ml"


def C(name, op, ins, nout=1, **kw):
    CASES.append(Node(name, op, ins, nout, domain=ML, **kw))


X = R(6, 4)
C("scaler", "Scaler", [X], offset=[0.1, 0.2, 0.3, 0.4], scale=[1.0, 2.0, 3.0, 4.0])
C("scaler1", "Scaler", [(X * 10).astype(np.int64)], offset=[0.5], scale=[2.0])
for nm in ("MAX", "L1", "L2"):
    C("norm_" + nm, "Normalizer", [X], norm=nm)
Xn = X.copy()
Xn[1, 2] = np.nan
Xn[0, 0] = np.nan
C(
    "imputer",
    "Imputer",
    [Xn],
    imputed_value_floats=[1.0, 2.0, 3.0, 4.0],
    replaced_value_float=float("nan"),
)
C("imputer1", "Imputer", [Xn], imputed_value_floats=[7.0], replaced_value_float=float("nan"))
C(
    "imputer_i",
    "Imputer",
    [rng.integers(0, 3, (4, 3)).astype(np.int64)],
    imputed_value_int64s=[9],
    replaced_value_int64=1,
)
C("binarizer", "Binarizer", [X], threshold=0.3)
C("afe", "ArrayFeatureExtractor", [X, np.array([[2, 0, 3]], np.int64)])
C("fv", "FeatureVectorizer", [X, R(6, 2)], inputdimensions=[4, 2])
C(
    "le",
    "LabelEncoder",
    [rng.integers(0, 5, (3, 4)).astype(np.int64)],
    keys_int64s=[1, 2, 3],
    values_floats=[0.5, 1.5, 2.5],
    default_float=-7.0,
)
C(
    "le2",
    "LabelEncoder",
    [np.array([1.0, np.nan, 3.0], f32)],
    keys_floats=[1.0, float("nan")],
    values_int64s=[10, 20],
    default_int64=-1,
)
C(
    "ohe",
    "OneHotEncoder",
    [rng.integers(0, 5, (3, 4)).astype(np.int64)],
    cats_int64s=[1, 2, 3],
    zeros=1,
)
C("ohe_f", "OneHotEncoder", [rng.integers(0, 5, (3,)).astype(f32)], cats_int64s=[1, 2, 3], zeros=1)
C(
    "linreg",
    "LinearRegressor",
    [X],
    coefficients=list(map(float, R(8))),
    intercepts=[0.1, 0.2],
    targets=2,
)
for pt in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"):
    C(
        "linreg_" + pt,
        "LinearRegressor",
        [X],
        coefficients=[0.1] * 8,
        intercepts=[0.5, 0.4],
        targets=2,
        post_transform=pt,
    )
    C(
        "lincls3_" + pt,
        "LinearClassifier",
        [X * 0.2],
        nout=2,
        coefficients=[0.1, 0.2, -0.1, 0.3, 0.2, 0.1, 0.1, 0.1, -0.2, -0.1, 0.3, 0.1],
        intercepts=[0.5, 0.4, 0.45],
        classlabels_ints=[5, 7, 9],
        post_transform=pt,
    )
    C(
        "lincls2_" + pt,
        "LinearClassifier",
        [X * 0.2],
        nout=2,
        coefficients=[0.1, 0.2, -0.1, 0.3, 0.2, 0.1, 0.1, 0.1],
        intercepts=[0.5, 0.4],
        classlabels_ints=[5, 7],
        post_transform=pt,
    )
    if pt == "PROBIT":
        continue  # refused for one score
    C(
        "lincls1_" + pt,
        "LinearClassifier",
        [X * 0.2],
        nout=2,
        coefficients=[0.1, 0.2, -0.1, 0.3],
        intercepts=[0.05],
        classlabels_ints=[5, 7],
        post_transform=pt,
    )


# trees
def tree(
    prefix,
    nt,
    ntree=3,
    depth=3,
    ids=None,
    pos=True,
    feats=4,
    multi=False,
    miss=False,
    modes=("BRANCH_LEQ",),
):
    a = dict(
        nodes_treeids=[],
        nodes_nodeids=[],
        nodes_featureids=[],
        nodes_values=[],
        nodes_modes=[],
        nodes_truenodeids=[],
        nodes_falsenodeids=[],
        nodes_missing_value_tracks_true=[],
    )
    v = dict(treeids=[], nodeids=[], ids=[], weights=[])
    for t in range(ntree):
        n = 2 ** (depth + 1) - 1
        for i in range(n):
            leaf = 2 * i + 1 >= n
            a["nodes_treeids"].append(t)
            a["nodes_nodeids"].append(i)
            a["nodes_featureids"].append(0 if leaf else int(rng.integers(feats)))
            a["nodes_values"].append(0.0 if leaf else float(R(1)[0]))
            a["nodes_modes"].append("LEAF" if leaf else modes[int(rng.integers(len(modes)))])
            a["nodes_truenodeids"].append(0 if leaf else 2 * i + 1)
            a["nodes_falsenodeids"].append(0 if leaf else 2 * i + 2)
            a["nodes_missing_value_tracks_true"].append(int(rng.integers(2)) if miss else 0)
            if leaf:
                for k in (
                    range(nt) if multi else [ids if ids is not None else int(rng.integers(nt))]
                ):
                    v["treeids"].append(t)
                    v["nodeids"].append(i)
                    v["ids"].append(k)
                    w = float(R(1)[0])
                    v["weights"].append(abs(w) / ntree if pos else w)
    a.update({f"{prefix}_{k}": x for k, x in v.items()})
    return a


for agg in ("SUM", "AVERAGE", "MIN", "MAX"):
    C(
        "treg_" + agg,
        "TreeEnsembleRegressor",
        [X],
        n_targets=1,
        aggregate_function=agg,
        base_values=[0.3],
        **tree("target", 1, pos=False),
    )
    C(
        "treg2_" + agg,
        "TreeEnsembleRegressor",
        [X],
        n_targets=2,
        aggregate_function=agg,
        base_values=[0.3, 0.1],
        **tree("target", 2, pos=False, multi=True),
    )
for pt in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
    C(
        "treg_" + pt,
        "TreeEnsembleRegressor",
        [X],
        n_targets=2,
        post_transform=pt,
        **tree("target", 2, pos=False),
    )
    C(
        "tcls3_" + pt,
        "TreeEnsembleClassifier",
        [X],
        nout=2,
        classlabels_int64s=[3, 5, 7],
        post_transform=pt,
        **tree("class", 3, pos=False, multi=True),
    )
    for i in (0, 1):
        for pos in (True, False):
            C(
                f"tcls1_{pt}_{i}_{pos}",
                "TreeEnsembleClassifier",
                [X],
                nout=2,
                classlabels_int64s=[3, 5],
                post_transform=pt,
                **tree("class", 2, ids=i, pos=pos),
            )
            # One base value belongs to no class but the first.
            if i == 1:
                continue
            C(
                f"tcls1b_{pt}_{i}_{pos}",
                "TreeEnsembleClassifier",
                [X],
                nout=2,
                classlabels_int64s=[3, 5],
                post_transform=pt,
                base_values=[0.2],
                **tree("class", 2, ids=i, pos=pos),
            )
C(
    "tcls3_base",
    "TreeEnsembleClassifier",
    [X],
    nout=2,
    classlabels_int64s=[3, 5, 7],
    base_values=[0.1, 0.2, 0.3],
    **tree("class", 3, pos=False, multi=True),
)
C(
    "treg_modes",
    "TreeEnsembleRegressor",
    [np.round(X)],
    n_targets=1,
    **tree(
        "target",
        1,
        modes=("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"),
    ),
)
C("treg_nan", "TreeEnsembleRegressor", [Xn], n_targets=1, **tree("target", 1, miss=True))
C("treg_f64", "TreeEnsembleRegressor", [X.astype(np.float64)], n_targets=1, **tree("target", 1))
# svm
sv = R(5, 4)
for kt, kp in (
    ("LINEAR", [0.0, 0.0, 0.0]),
    ("POLY", [0.5, 1.0, 3.0]),
    ("RBF", [0.5, 0.0, 0.0]),
    ("SIGMOID", [0.1, 0.2, 0.0]),
):
    C(
        "svmr_" + kt,
        "SVMRegressor",
        [X],
        coefficients=list(map(float, R(5))),
        support_vectors=list(map(float, sv.ravel())),
        n_supports=5,
        rho=[0.3],
        kernel_type=kt,
        kernel_params=kp,
    )
    C(
        "svmr1_" + kt,
        "SVMRegressor",
        [X],
        coefficients=list(map(float, R(5))),
        support_vectors=list(map(float, sv.ravel())),
        n_supports=5,
        rho=[0.3],
        kernel_type=kt,
        kernel_params=kp,
        one_class=1,
    )
    for pt in ("NONE", "LOGISTIC", "SOFTMAX"):
        C(
            f"svmc2_{kt}_{pt}",
            "SVMClassifier",
            [X],
            nout=2,
            classlabels_ints=[4, 8],
            coefficients=list(map(float, R(5))),
            support_vectors=list(map(float, sv.ravel())),
            vectors_per_class=[2, 3],
            rho=[0.3],
            kernel_type=kt,
            kernel_params=kp,
            post_transform=pt,
        )
        C(
            f"svmc3_{kt}_{pt}",
            "SVMClassifier",
            [X],
            nout=2,
            classlabels_ints=[4, 8, 9],
            coefficients=list(map(float, R(10))),
            support_vectors=list(map(float, sv.ravel())),
            vectors_per_class=[2, 1, 2],
            rho=[0.3, 0.1, -0.2],
            kernel_type=kt,
            kernel_params=kp,
            post_transform=pt,
        )
        C(
            f"svmc3p_{kt}_{pt}",
            "SVMClassifier",
            [X],
            nout=2,
            classlabels_ints=[4, 8, 9],
            coefficients=list(map(float, R(10))),
            support_vectors=list(map(float, sv.ravel())),
            vectors_per_class=[2, 1, 2],
            rho=[0.3, 0.1, -0.2],
            prob_a=[-1.0, -1.5, -0.7],
            prob_b=[0.1, 0.2, -0.1],
            kernel_type=kt,
            kernel_params=kp,
            post_transform=pt,
        )
        C(
            f"svmc2p_{kt}_{pt}",
            "SVMClassifier",
            [X],
            nout=2,
            classlabels_ints=[4, 8],
            coefficients=list(map(float, R(5))),
            support_vectors=list(map(float, sv.ravel())),
            vectors_per_class=[2, 3],
            rho=[0.3],
            prob_a=[-1.2],
            prob_b=[0.1],
            kernel_type=kt,
            kernel_params=kp,
            post_transform=pt,
        )
C(
    "svmr_lin0",
    "SVMRegressor",
    [X],
    coefficients=list(map(float, R(4))),
    n_supports=0,
    rho=[0.3],
    kernel_type="LINEAR",
    kernel_params=[0.0, 0.0, 0.0],  # onnxruntime does not load the node without them
)


@pytest.mark.parametrize("node", CASES, ids=repr)
def test_evaluator_agrees_with_onnxruntime(node):
    node.check(node.evaluated())


@pytest.mark.parametrize("node", CASES[::3], ids=repr)
def test_compiled_code_agrees_with_onnxruntime(node):
    node.check(node.compiled(3))
