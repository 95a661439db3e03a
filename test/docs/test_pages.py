"""What the written pages quote is in the sources, and what they point at exists."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(os.environ["TENFOLD_SOURCE"])
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
QUOTE = re.compile(r"<!-- from: (\S+) -->\n```\w*\n(.*?)```\n", re.S)
FOLDERS = ("src/", "test/", "docs/", "cmake/", "scripts/", "tools/", "examples/", "include/", "bindings/")


def text(page):
    return (ROOT / page).read_text()


def words(code):
    """Without line breaks, which the formatter decides, between words and inside literals."""
    return re.sub(r"\s+", " ", re.sub(r'"\s+"', "", code)).strip()


@pytest.mark.parametrize("page", PAGES)
def test_quoted_code_is_in_its_file(page):
    for name, quoted in QUOTE.findall(text(page)):
        assert words(quoted) in words(text(name)), f"{page} quotes what {name} does not say:\n{quoted}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if not re.match(r"[a-z]+:|#", target):
            assert ((ROOT / page).parent / target.split("#")[0]).exists(), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page):
    # Not in the changelog and decisions: they speak of their own time.
    if page == "CHANGELOG.md" or "/decisions/" in page:
        return
    for name in re.findall(r"`([\w./*-]+)`", text(page)):
        if name.startswith(FOLDERS) and not re.search(r"NAME|\*", name):
            assert (ROOT / name).exists(), f"{page}: {name}"


def test_each_decision_has_a_number_of_its_own():
    numbers = [int(p.name[:4]) for p in (ROOT / "docs/decisions").glob("*.md")]
    assert numbers and len(set(numbers)) == len(numbers)


def test_commands_in_the_pages_are_commands_of_the_program():
    known = subprocess.run([os.environ["TENFOLD_BIN"], "--help"], capture_output=True, text=True,
                           timeout=60).stdout
    for page in PAGES:
        for command in re.findall(r"(?:^|`)tenfold ([a-z]+)\b", text(page), re.M):
            assert re.search(rf"^\s+{command}\b", known, re.M), f"{page}: tenfold {command}"
