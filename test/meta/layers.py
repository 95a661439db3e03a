"""Which folder of src/ may include which: the table of the architecture, for the tests beside it."""

# Folder -> folders whose headers it may name; what those may use comes with them.
DIRECT = {
    "base": [],
    "array": ["base"],
    "tpu": ["array"],
    "loop": ["array"],
    "graph": ["array", "loop"],
    "ops": ["graph", "loop"],
    "passes": ["ops", "graph", "loop", "runtime/program.h"],
    "runtime": ["array", "tpu"],
    "backends": ["passes", "graph", "loop", "runtime", "tpu/isa", "tpu/chips", "tpu/matrix/isa.h"],
    "tune": ["loop", "backends/backend.h", "runtime"],
    "frontends": ["ops", "graph"],
    "driver": [
        "base", "array", "tpu", "loop", "graph", "ops", "passes", "runtime", "backends", "tune",
        "frontends",
    ],
}

# Includes that only some places may have: (start of the include, places it may stand in).
OUTSIDE = [
    (("llvm/", "llvm-c/", "lld/"), ("src/backends/cpu/", "src/backends/ptx/", "cmake/pch/")),
    (("onnx-ml.pb.h", "google/protobuf/"), ("src/frontends/", "test/", "tools/")),
    (("CLI/",), ("tools/", "test/", "bench/")),
    (("sqlite3.h",), ("src/tune/", "src/driver/", "test/")),
]


def allowed(folder):
    """Everything `folder` may include, itself and the closure of DIRECT."""
    seen, todo = set(), [folder]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += DIRECT.get(name, [])
            if name in ("tpu/isa", "tpu/chips"):
                todo += DIRECT["tpu"]
    if folder == "backends":  # never the simulator, though runtime may see it
        seen.discard("tpu")
    return seen


def may_include(folder, target):
    """May a file under src/`folder` say #include "`target`"?"""
    return any(target == entry or target.startswith(entry + "/") for entry in allowed(folder))
