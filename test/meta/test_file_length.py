"""A file does one thing: about 400 lines is plenty, 1000 the end."""

import warnings

import tree

PLENTY, END = 400, 1000
SOURCES = ("*.cc", "*.h", "*.hpp", "*.c", "*.py", "*.cmake", "*.sh", "CMakeLists.txt", "Makefile")


def test_no_source_file_is_too_long():
    lengths = {name: tree.text(name).count("\n") for name in tree.files(*SOURCES)}
    for name, lines in sorted(lengths.items(), key=lambda item: -item[1]):
        if PLENTY < lines <= END:
            warnings.warn(f"{name} has {lines} lines; about {PLENTY} is plenty")
    too_long = [f"{name}: {lines} lines" for name, lines in lengths.items() if lines > END]
    assert not too_long, f"more than {END} lines, split by what they do: {too_long}"
