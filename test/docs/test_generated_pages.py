"""`make docs` writes a page for every op, with its attributes and constraints, and the tables."""

import os
import pathlib
import re
import subprocess

import pytest

SOURCE = pathlib.Path(os.environ["TENFOLD_SOURCE"])
DOCGEN = pathlib.Path(os.environ["TENFOLD_BUILD"]) / "bin" / "docgen"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    out = tmp_path_factory.mktemp("docs")
    done = subprocess.run([DOCGEN, out, SOURCE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return out


def stems(folder):
    return {p.stem for p in (SOURCE / folder).glob("*.cc")
            if not p.name.startswith("_") and not p.stem.endswith("_util")}


def test_every_op_has_a_page_that_the_index_links(pages):
    made = {p.stem for p in (pages / "ops").glob("*.md")} - {"index"}
    assert len(made) == len(stems("src/ops"))
    links = re.findall(r"\]\(([^)]+)\.md\)", (pages / "ops" / "index.md").read_text())
    assert set(links) == made and len(links) == len(made)


def test_a_page_says_what_the_descriptor_says(pages):
    page = (pages / "ops" / "stablehlo.reverse.md").read_text()
    assert page.startswith("# stablehlo.reverse\n\nReverses the order of elements along dimensions.")
    assert "| kind | View |" in page and "| operands | 1 |" in page
    assert "| `dimensions` | integers | yes | numbers of dimensions |" in page
    assert "`C2`, `C3`" in page


def test_pages_show_the_cases_of_the_tests(pages):
    cases = [line for line in (SOURCE / "test/ops/arithmetic.test").read_text().splitlines()
             if line.startswith("stablehlo.abs ")]
    page = (pages / "ops" / "stablehlo.abs.md").read_text()
    assert cases and all(case in page for case in cases[:12])


def test_onnx_ops_and_passes_are_listed(pages):
    onnx = (pages / "onnx.md").read_text()
    assert re.search(r"\| ai\.onnx \| Conv \| 1, ", onnx) and "| ai.onnx | Trilu | 14 |" in onnx
    passes = (pages / "passes.md").read_text()
    for name in stems("src/passes/graph"):
        assert f"| `{name}` |" in passes
    assert "* `-O0`: state_size_rules, inline_functions" in passes
