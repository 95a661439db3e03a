"""No file names a place of one machine: a home folder, a checkout, a temporary or build folder."""

import re

import tree

# Home folders, the places checkouts are put, and this very checkout. System places (/usr, /proc,
# /dev, /etc) exist everywhere and are fine; a "/tmp" is fine only as a name made at run time.
MACHINE = re.compile(r"(?<![\w.$}/<-])/(home|root|Users|work|workspace|mnt|srv|opt|tmp)/[\w.-]+")
BINARY = (".onnx", ".npy", ".npz", ".png", ".bin", ".tflite", ".bc", ".jpg", ".gz")


def breaches(name, content):
    here = str(tree.ROOT) + "/"
    for number, line in enumerate(content.splitlines(), 1):
        if found := MACHINE.search(line):
            yield f"{name}:{number}: {found[0]}"
        elif len(here) > 5 and here in line:
            yield f"{name}:{number}: {here}"


def test_no_absolute_path_of_a_machine():
    wrong = []
    for name in tree.files():
        if name == "test/meta/test_paths.py" or name.endswith(BINARY) or "/corpus/" in name:
            continue
        wrong += breaches(name, tree.text(name))
    assert not wrong, "\n".join(wrong)


def test_the_check_itself_sees_a_breach():
    assert list(breaches("x", 'open("/home/somebody/model.onnx")'))
    assert list(breaches("x", "cd /work/main && make"))
    assert not list(breaches("x", '"/usr/bin/python3" src/home/x ../work/y https://a.example/home/b'))
