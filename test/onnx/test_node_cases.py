"""onnx's own node tests and shared model cases, importer and evaluator against the stored answers.

No case may give other numbers, fail to evaluate, or crash. Those that are refused are the ones named
in refused.txt, each with its reason there.
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("TENFOLD_BUILD", HERE.parents[1] / "build/release"))
TOOL = BUILD / "bin/onnx_eval"
TOOLS = HERE.parents[1] / "tools/onnx_eval"


def evaluate(folders):
    out = {}
    for at in range(0, len(folders), 200):
        run = subprocess.run([TOOL, "--verbose", *folders[at:at + 200]], capture_output=True,
                             text=True, timeout=500)
        for line in run.stdout.splitlines():
            found = re.match(r"(\S+): (PASS|REFUSED|WRONG|FAILED|CRASH|TIMEOUT)(.*)", line)
            if found:
                out[found[1]] = (found[2], found[3].strip())
    return out


@pytest.fixture(scope="module")
def results():
    if not TOOL.exists():
        pytest.skip("onnx_eval is not built")
    cases = BUILD / "onnx_cases"
    if not (cases / "complete").exists():
        subprocess.run([sys.executable, TOOLS / "dump_onnx_cases.py", cases], check=True,
                       capture_output=True)
        (cases / "complete").touch()
    return evaluate(sorted(p for p in cases.iterdir() if p.is_dir()))


def test_every_case_ran(results):
    assert len(results) >= 1884


def test_no_wrong_answers_and_no_crashes(results):
    bad = {name: r for name, r in results.items() if r[0] not in ("PASS", "REFUSED")}
    assert not bad


def test_refusals_are_listed(results):
    listed = set()
    for line in (HERE / "refused.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            listed.add(line.split()[0])
    refused = {name for name, r in results.items() if r[0] == "REFUSED"}
    assert refused - listed == set(), "refused, but not listed"
    assert listed - refused == set(), "listed, but not refused"
    assert len(refused) <= 0.03 * len(results)
