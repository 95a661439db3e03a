"""onnx's own node tests, importer and evaluator against the stored answers.

No case may give other numbers (but for other_answers.txt), fail to evaluate, or crash. Those that are
refused are the ones named in refused.txt. Both lists give the reasons.
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


def names(file):
    lines = (HERE / file).read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def test_no_wrong_answers_and_no_crashes(results):
    bad = {name: r for name, r in results.items() if r[0] not in ("PASS", "REFUSED")}
    others = names("other_answers.txt")
    assert {name: r for name, r in bad.items() if name not in others} == {}
    assert {r[0] for r in bad.values()} <= {"WRONG"}
    assert others - set(bad) == set(), "listed in other_answers.txt, but they agree"


def test_refusals_are_listed(results):
    listed = names("refused.txt")
    refused = {name for name, r in results.items() if r[0] == "REFUSED"}
    assert refused - listed == set(), "refused, but not listed"
    assert (listed & set(results)) - refused == set(), "listed, but not refused"
    assert len(refused) <= 0.03 * len(results)
