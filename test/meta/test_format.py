"""C++ files are formatted as .clang-format says (`make format` does it) and every text file is tidy."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import tree

CPP = ("*.cc", "*.h", "*.hpp", "*.c")
BATCH = 40


def test_cpp_files_are_formatted():
    tool = shutil.which("clang-format-19")
    assert tool, "clang-format-19 is missing; run `make deps`"
    # What was found formatted is remembered by content, so that only changed files cost time.
    cache = pathlib.Path(os.environ.get("TENFOLD_BUILD") or tree.ROOT / "build") / "formatted.json"
    style = (tree.ROOT / ".clang-format").read_bytes()
    digests = {
        name: hashlib.sha256(style + (tree.ROOT / name).read_bytes()).hexdigest()
        for name in tree.files(*CPP)
    }
    try:
        known = set(json.loads(cache.read_text()))
    except (OSError, ValueError):
        known = set()
    todo = [name for name, digest in digests.items() if digest not in known]
    wrong = set()
    for start in range(0, len(todo), BATCH):
        done = subprocess.run([tool, "--dry-run", "-Werror", *todo[start:start + BATCH]],
                              cwd=tree.ROOT, capture_output=True, text=True)
        wrong |= {line.split(":")[0] for line in done.stderr.splitlines() if ": error:" in line}
        assert wrong or not done.returncode, done.stderr
    assert not wrong, "run `make format`; it will change " + ", ".join(sorted(wrong))
    if cache.parent.is_dir():
        aside = cache.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(sorted(digests.values())))
        aside.replace(cache)


def test_headers_have_pragma_once():
    wrong = [n for n in tree.files("src/*.h", "include/*.hpp", "test/*.h")
             if "#pragma once" not in tree.text(n)]
    assert not wrong, wrong


def test_cpp_lines_end_without_blanks_and_tabs():
    wrong = []
    for name in tree.files(*CPP, "*.cmake", "*.md"):
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            if line != line.rstrip() or "\t" in line:
                wrong.append(f"{name}:{number}")
    assert not wrong, wrong
