"""The page of ONNX ops by opset and type says what is true: it is made by trying."""
import importlib.util
import os
import pathlib

import pytest
from onnx import defs

SOURCE = pathlib.Path(os.environ["TENFOLD_SOURCE"])
# What is refused whole, and why: docs/limits.md.
REFUSED = {"ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"}


@pytest.fixture(scope="module")
def rows():
    spec = importlib.util.spec_from_file_location("onnx_coverage",
                                                  SOURCE / "tools/docgen/onnx_coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.rows())


def test_every_op_of_the_standard_has_its_rows(rows):
    ops = {(d, op) for d, op, _, _ in rows}
    assert {(s.domain, s.name) for s in defs.get_all_schemas() if not s.deprecated} <= ops
    assert len(rows) > 550


def test_types_are_taken_and_refusals_are_the_known_ones(rows):
    by = {(op, since): types for _, op, since, types in rows}
    assert {t for t, why in by["Conv", 11].items() if not why} >= {"f32", "f64", "f16"}
    assert {t for t, why in by["Add", 14].items() if not why} >= {"f32", "bf16", "i8", "u64"}
    refused = {(op, t, why) for _, op, _, types in rows for t, why in types.items() if why}
    assert {op for op, t, _ in refused if t != "string"} == REFUSED & {"ImageDecoder"}
    assert {op for op, t, _ in refused if t == "string"} <= REFUSED | {"Equal", "LabelEncoder"}
    assert all(why.startswith("onnx-unsupported") for _, _, why in refused)
