"""Runs the `// RUN:` lines of a test file: a shell pipeline with %s for the file, FileCheck for LLVM's."""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def main(path):
    lines = pathlib.Path(path).read_text().splitlines()
    runs = [l.split("// RUN:", 1)[1].strip() for l in lines if l.startswith("// RUN:")]
    if not runs:
        sys.exit(f"{path}: no `// RUN:` line")
    filecheck = shutil.which("FileCheck-19") or shutil.which("FileCheck")
    if not filecheck:
        sys.exit("FileCheck is missing; run `make deps`")
    with tempfile.TemporaryDirectory() as tmp:
        for run in runs:
            command = run.replace("%s", path).replace("%t", f"{tmp}/t")
            command = f'set -o pipefail; FileCheck() {{ "{filecheck}" "$@"; }}; {command}'
            done = subprocess.run(["bash", "-c", command])
            if done.returncode:
                sys.exit(f"{path}: RUN line failed with {done.returncode}: {run}")


main(sys.argv[1])
