"""Every error id of the sources has its line in docs/errors.md, and every line there its source."""

import re

import tree

PAGE = "docs/errors.md"
SOURCES = ("src/*.cc", "src/*.h", "tools/*.cc", "tools/*.h", "include/*.hpp", "bindings/python/*.cc",
           "bindings/python/*.py")
DASHED = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+"

# Dashed words in quotes that are no error ids: attributes and flags of LLVM, names of machines, words
# of messages. In files that are tables of processors only what stands at the place of an id counts.
NOT_IDS = {"floating-point", "tenfold-code", "x86-64"}
LLVM_CALL = re.compile(r"(?:FnAttr(?:ibute)?|ModuleFlag)\([^;]*;")
TABLES = re.compile(r"^src/backends/[a-z]+/target\.cc$")
PLACE = re.compile(r'(?:Error\s*\w*\s*[{(]|return\s*\{|push_back\(\{|(?:fail|error)\()\s*"(' + DASHED + ')"')


def without_comments(name, text):
    if name.endswith(".py"):
        return re.sub(r"(^|\s)#.*", "", text)
    # A literal may hold "//", a comment may hold a literal: read them in order.
    return re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text, flags=re.S)


def ids_in(name, text):
    text = without_comments(name, text)
    if TABLES.match(name):
        return set(PLACE.findall(text))
    return set(re.findall(f'"({DASHED})"', LLVM_CALL.sub(" ", text))) - NOT_IDS


def documented():
    rows = [line for line in tree.text(PAGE).splitlines() if line.startswith("| `")]
    return [re.match(r"\| `([^`]+)` \|", row)[1] for row in rows]


def ids():
    found = {}
    for name in tree.files(*SOURCES):
        for i in ids_in(name, tree.text(name)):
            found.setdefault(i, name)
    return found


def test_every_id_of_the_sources_is_documented():
    known = set(documented())
    missing = [f"{i}  ({name})" for i, name in sorted(ids().items()) if i not in known]
    assert not missing, (
        f"add a line to {PAGE} for each, or, if it is no error id, a word to NOT_IDS here:\n"
        + "\n".join(missing))


def test_every_documented_id_is_in_the_sources():
    gone = sorted(set(documented()) - set(ids()))
    assert not gone, f"{PAGE} documents what no source says: {gone}"


def test_every_id_has_one_line_with_its_meaning_and_what_to_do():
    rows = [line for line in tree.text(PAGE).splitlines() if line.startswith("| `")]
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 3 and all(cells), row
    names = documented()
    assert len(names) == len(set(names)), "an id has two lines"


def test_every_id_has_a_dash():
    """Or it could not be told from other words. (Labels of constraints, in ops, are no ids.)"""
    single = re.compile(r'\bError\s*\w*[{(]\s*"([a-z_]*)"|\bError \w+\([^()]*\) \{\s*return \{"([a-z_]*)"')
    wrong = [f"{name}: {found[0]}" for name in tree.files(*SOURCES)
             for found in single.finditer(without_comments(name, tree.text(name)))]
    assert not wrong, wrong


def test_the_check_itself_sees_an_id():
    assert ids_in("src/a.cc", 'return Error{"new-id", "no \\"x\\" // here", {}}; // "old-id"') == {"new-id"}
    assert ids_in("src/a.cc", 'f->addFnAttr("no-builtins"); fail(op, "a-b", x);') == {"a-b"}
    assert ids_in("src/backends/cpu/target.cc",
                  '{"avx2", "x86-64-v3"}, return Error{"too-old", "cpu"};') == {"too-old"}
    assert ids_in("a.py", 'raise fail("my-id", x)  # "not-me"') == {"my-id"}
