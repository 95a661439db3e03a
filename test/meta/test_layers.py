"""Folders include only what the architecture lets them, and outside headers stay in their corner."""

import re

import layers
import tree

CPP = ("*.cc", "*.h", "*.hpp")


def test_each_folder_of_src_is_in_the_table():
    folders = {n.split("/")[1] for n in tree.files("src/*") if n.count("/") > 1}
    assert folders <= set(layers.DIRECT), "a new folder in src/ needs a row in test/meta/layers.py"


def test_folders_include_only_what_lies_below_them():
    wrong = []
    for name in tree.files("src/*"):
        if not name.endswith((".cc", ".h")) or name.count("/") < 2:
            continue
        folder = name.split("/")[1]
        for line, header, _ in tree.includes(name):
            first = header.split("/")[0]
            if "/" in header and first in layers.DIRECT and not layers.may_include(folder, header):
                wrong.append(f'{name}:{line}: {folder} may not include "{header}"')
    assert not wrong, "\n".join(wrong)


def test_project_headers_are_quoted_and_found():
    wrong = []
    for name in tree.files(*CPP):
        if name.startswith("cmake/"):
            continue
        for line, header, quoted in tree.includes(name):
            if "/" not in header or header.split("/")[0] not in layers.DIRECT:
                continue  # <array> is the standard library's
            if not quoted:
                wrong.append(f"{name}:{line}: <{header}> is ours, so it is written in quotes")
            helper = name.startswith("test/") and (tree.ROOT / "test" / header).exists()
            if not helper and not (tree.ROOT / "src" / header).exists():
                wrong.append(f'{name}:{line}: no file src/{header}')
    assert not wrong, "\n".join(wrong)


def test_outside_headers_stay_in_their_folders():
    wrong = []
    for name in tree.files(*CPP):
        for line, header, _ in tree.includes(name):
            for starts, places in layers.OUTSIDE:
                if header.startswith(starts) and not name.startswith(places):
                    wrong.append(f"{name}:{line}: <{header}> belongs in {', '.join(places)}")
    assert not wrong, "\n".join(wrong)


def test_public_headers_stand_alone():
    wrong = [
        f'{name}:{line}: "{header}"' for name in tree.files("include/*")
        for line, header, _ in tree.includes(name)
        if "/" in header and header.split("/")[0] in layers.DIRECT
    ]
    assert not wrong, "public headers may not include src/:\n" + "\n".join(wrong)


def test_the_build_declares_the_same_table():
    """cmake/TenfoldLibraries.cmake links no folder against one it may not include."""
    calls = re.findall(r"tenfold_library\(([a-z]+)\b([^)]*)\)", tree.text("cmake/TenfoldLibraries.cmake"))
    for folder, rest in calls:
        uses = re.search(r"MAY_USE((?:\s+(?!LINK|SOURCES|TOP_ONLY|LLVM)[a-z/]+)*)", rest)
        for used in uses[1].split() if uses else []:
            if folder in layers.DIRECT and used in layers.DIRECT and folder != used:
                reach = {entry.split("/")[0] for entry in layers.allowed(folder)}
                assert used in reach, f"{folder} links {used}, which it may not include"


def test_the_check_itself_sees_a_breach():
    assert layers.may_include("ops", "base/result.h")
    assert not layers.may_include("base", "array/dtype.h")
    assert not layers.may_include("loop", "graph/ir.h")
    assert layers.may_include("backends", "tpu/isa/isa.h")
    assert not layers.may_include("backends", "tpu/sim/core.h")
    assert layers.may_include("tune", "backends/backend.h")
    assert not layers.may_include("tune", "backends/cpu/emit.h")
