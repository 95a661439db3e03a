"""The example in ARCHITECTURE.md is what the compiler writes.

A block of the page is named by the comment above it. `dense.mlir` is the input; the others must equal
what the command line dumps. TENFOLD_UPDATE=1 writes them into the page instead.
"""

import os
import pathlib
import re
import subprocess

import pytest

PAGE = pathlib.Path(os.environ["TENFOLD_SOURCE"]) / "ARCHITECTURE.md"
BIN = os.environ["TENFOLD_BIN"]
BLOCK = re.compile(r"(<!-- example: (\S+) -->\n```\w*\n)(.*?)(```\n)", re.S)
# A named processor, so that the text does not depend on the machine.
TARGET = "cpu:x86-64-v3"


def blocks(page):
    return {m[2]: m[3] for m in BLOCK.finditer(page)}


def dump(folder, name, *options):
    done = subprocess.run([BIN, "compile", "dense.mlir", "-o", f"{name}.tenfold", "--target", TARGET,
                           "--dump", name, *options],
                          cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / name


def kernels(folder):
    return "".join(p.read_text() for p in sorted(folder.glob("kernel-*.loop")))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example")
    (folder / "dense.mlir").write_text(blocks(PAGE.read_text())["dense.mlir"])
    full = dump(folder, "full")
    return {
        "graph": sorted(full.glob("*.mlir"))[-1].read_text(),
        "plain": kernels(dump(folder, "plain", "-O1")),
        "scheduled": kernels(dump(folder, "scheduled", "--shape", "x=6,2")),
        "program": (full / "program.txt").read_text(),
        "folder": folder,
    }


def test_the_page_shows_what_is_dumped(made):
    page = PAGE.read_text()
    shown = blocks(page)
    assert set(shown) == {"dense.mlir", "graph", "plain", "scheduled", "program"}
    if os.environ.get("TENFOLD_UPDATE"):
        page = BLOCK.sub(lambda m: m[1] + made.get(m[2], m[3]) + m[4], page)
        PAGE.write_text(page)
        shown = blocks(page)
    for name, text in shown.items():
        if name != "dense.mlir":
            assert text == made[name], f"block {name}: see the head of this chapter on how to update"


def test_the_example_computes_what_the_evaluator_says(made):
    for rows in ("0", "6", "131"):
        done = subprocess.run([BIN, "run", "dense.mlir", "--verify", "--shape", f"x={rows},2"],
                              cwd=made["folder"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


def test_the_dumped_graph_is_input_again(made):
    (made["folder"] / "again.mlir").write_text(made["graph"])
    done = subprocess.run([BIN, "run", "again.mlir", "--verify"], cwd=made["folder"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
