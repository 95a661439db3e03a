"""Writes onnx's own node tests as folders that tools/onnx_eval/onnx_eval.cc reads.

    dump_onnx_cases.py OUT [pattern]

A folder a case: model.onnx, and cases.txt with one line a value:
    set RTOL ATOL | input NAME FILE | seq NAME LENGTH | none NAME | text NAME | output NAME FILE
A FILE is a line "dtype dims..." and the row-major bytes, one byte per element of sub-byte types.
"""
import os
import pathlib
import re
import sys

import numpy as np

NAMES = {"bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64", "float16": "f16",
         "float32": "f32", "float64": "f64", "bfloat16": "bf16", "complex64": "complex<f32>",
         "complex128": "complex<f64>", "int4": "i4", "uint4": "ui4", "int2": "i2",
         "uint2": "ui2", "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ",
         "float8_e5m2": "f8E5M2", "float8_e5m2fnuz": "f8E5M2FNUZ", "float4_e2m1fn": "f4E2M1FN",
         "float8_e8m0fnu": "f8E8M0FNU", "float6_e2m3fn": "f6E2M3FN", "float6_e3m2fn": "f6E3M2FN"}


def write_array(path, a):
    a = np.ascontiguousarray(a) if a.ndim else a
    with open(path, "wb") as f:
        f.write((" ".join([NAMES[a.dtype.name], *map(str, a.shape)]) + "\n").encode())
        if a.dtype.name in ("int4", "int2"):
            a = a.astype(np.int8)  # sign-extended
        f.write(a.tobytes())


def is_text(a):
    return a.dtype.kind in "OUST" or a.dtype.name.startswith("Str")


def as_value(v):
    """Arrays, lists (sequences) or None; protobufs are turned into those."""
    from onnx import numpy_helper
    kind = type(v).__name__
    if kind == "TensorProto":
        return numpy_helper.to_array(v)
    if kind == "SequenceProto":
        return numpy_helper.to_list(v)
    if kind == "OptionalProto":
        return numpy_helper.to_optional(v)
    if kind in ("list", "tuple"):
        return [as_value(x) for x in v]
    return None if v is None else np.asarray(v)


def write_case(folder, case):
    folder.mkdir(parents=True, exist_ok=True)
    model = case.model
    if model is None:
        return False
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    lines = []
    for k, (inputs, outputs) in enumerate(case.data_sets):
        lines.append(f"set {case.rtol} {case.atol}")
        for what, infos, values in (("input", model.graph.input, inputs),
                                    ("output", model.graph.output, outputs)):
            for i, info in enumerate(infos):
                v = as_value(values[i]) if i < len(values) else None
                if v is None:
                    lines.append(f"none {info.name}")
                    continue
                items = [(info.name, v)]
                if isinstance(v, list):
                    if what == "input":
                        lines.append(f"seq {info.name} {len(v)}")
                    items = [(f"{info.name}.{j}", x) for j, x in enumerate(v)]
                for j, (name, x) in enumerate(items):
                    if x is None or isinstance(x, list) or is_text(x):
                        lines.append(f"text {name}")
                        continue
                    file = f"{what}_{k}_{i}_{j}.bin"
                    write_array(folder / file, x)
                    lines.append(f"{what} {name} {file}")
    (folder / "cases.txt").write_text("\n".join(lines) + "\n")
    return True


def main():
    out = pathlib.Path(sys.argv[1])
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from onnx.backend.test.case.node import collect_testcases
    count = 0
    for case in collect_testcases(None):
        if pattern.search(case.name):
            count += write_case(out / case.name, case)
    print(count, "cases")


if __name__ == "__main__":
    main()
