#!/usr/bin/env python3
"""One layer's projections and attention by length: streaming, decomposed, onnxruntime; a Markdown table.

    build/venv/bin/python bench/attention.py [--tenfold build/release/bin/tenfold] [LENGTH ...]

12 heads of 64, width 768, one thread, minimum ms of `tenfold bench` and its MiB of temporaries (`arena_mib`).
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HEADS, DEPTH = 12, 64
WIDTH = HEADS * DEPTH


def model(length):
    rng = np.random.default_rng(0)
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(value, name))
        return name

    def op(kind, inputs, name, **attributes):
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    split = constant("split", np.array([1, length, HEADS, DEPTH]))
    heads = {}
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        weights = constant(f"w{name}", (rng.standard_normal((WIDTH, WIDTH)) * 0.04).astype(np.float32))
        rows = op("Reshape", [op("MatMul", ["x", weights], f"{name}_rows"), split], f"{name}_split")
        heads[name] = op("Transpose", [rows], name, perm=perm)
    scale = constant("scale", np.float32(np.sqrt(DEPTH)).reshape(()))
    scores = op("Div", [op("MatMul", [heads["q"], heads["k"]], "products"), scale], "scores")
    mixed = op("MatMul", [op("Softmax", [scores], "weights", axis=-1), heads["v"]], "mixed")
    joined = op("Transpose", [mixed], "joined", perm=[0, 2, 1, 3])
    op("Reshape", [joined, constant("join", np.array([1, length, WIDTH]))], "y")
    shape = [1, length, WIDTH]
    graph = helper.make_graph(nodes, "attention", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def tenfold_bench(tenfold, path, *options):
    command = [tenfold, "bench", path, "--threads", "1", "--rounds", "7", "--json", *options]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return f"{figures['min_ms']:.3g} | {figures['arena_mib']:.3g}"


def onnxruntime_ms(path, length):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).standard_normal((1, length, WIDTH)).astype(np.float32)
    times = []
    for _ in range(8):
        start = time.perf_counter()
        session.run(None, {"x": x})
        times.append(time.perf_counter() - start)
    return min(times[1:]) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lengths", nargs="*", type=int, default=[128, 512, 2048])
    parser.add_argument("--tenfold", default="build/release/bin/tenfold")
    args = parser.parse_args()
    print("| length | streaming ms | MiB | decomposed ms | MiB | onnxruntime ms |\n" + "|---" * 6 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for length in args.lengths:
            path = pathlib.Path(folder) / f"attention{length}.onnx"
            onnx.save(model(length), path)
            print(f"| {length} | {tenfold_bench(args.tenfold, path)} | "
                  f"{tenfold_bench(args.tenfold, path, '--disable-pass', 'fuse_attention')} | "
                  f"{onnxruntime_ms(path, length):.3g} |", flush=True)


if __name__ == "__main__":
    main()
