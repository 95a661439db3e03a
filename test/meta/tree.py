"""The files of the checkout, as git sees them: committed or about to be."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(os.environ.get("TENFOLD_SOURCE") or pathlib.Path(__file__).parents[2])


def files(*patterns):
    """Paths from ROOT matching any pattern; without git (an unpacked archive), what is on disk."""
    try:
        out = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z", "--cached",
             "--others", "--exclude-standard", "--", *patterns],
            capture_output=True, check=True).stdout.decode()
        names = sorted(set(out.split("\0")) - {""})
    except (OSError, subprocess.CalledProcessError):
        skip = re.compile(r"(^|/)(build|\.git|__pycache__)(/|$)")
        names = sorted(
            str(p.relative_to(ROOT)) for pattern in patterns or ["*"]
            for p in ROOT.rglob(pattern) if not skip.search(str(p.relative_to(ROOT))))
    return [n for n in names if (ROOT / n).is_file()]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


def includes(name):
    """(line number, header, quoted?) of every #include."""
    pattern = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
    for number, line in enumerate(text(name).splitlines(), 1):
        if found := pattern.match(line):
            yield number, found[2], found[1] == '"'
