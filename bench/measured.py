#!/usr/bin/env python3
"""Measures what the README's section "Measured" shows, and prints it as that section's Markdown.

    bench/measured.py --tenfold build/release/bin/tenfold [--models DIR] [--rounds 6] [NAME ...]

Wants a quiet machine, the packages of `scripts/install_deps.sh test bench`, and PYTHONPATH=build/release/python.
The models are those of test/models/make_models.py, made into DIR where they are missing. Models against peers go
through bench/peers.py, which interleaves them; matrix multiplication through `tenfold bench`, against the machine's
peak as `tenfold targets` measures it (with several cores at work at once, as the product runs).
"""

import argparse
import collections
import datetime
import importlib.metadata
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAMES = [
    "resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_lite0", "bert_base", "lstm", "dlrm",
    "gpt2_small", "gpt2_small_decode", "tiny_ad_autoencoder", "tiny_ic_resnet8", "tiny_kws_dscnn",
    "tiny_vww_mobilenet",
]
PEERS = ["ort", "openvino"]
THREADS = [1, 2]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def machine(tenfold):
    """A paragraph: processor, peaks, date, versions."""
    host = json.loads(output(tenfold, "targets", "--json"))["host"]
    versions = ", ".join(f"{p} {importlib.metadata.version(p)}" for p in ("onnxruntime", "openvino"))
    # Eight tries: what another program takes away in one is no property of the machine.
    tries = [json.loads(output(tenfold, "targets", "--json"))["host"] for _ in range(8)]
    one = max(h["peak_gflops_one_thread"] for h in tries)
    all_cores = max(h["peak_gflops"] for h in tries)
    return (f"{host['name']}, {host['cores']} cores, f32 peak {one:.0f} GFLOP/s on one and {all_cores:.0f} on all "
            f"(measured, `tenfold targets`); {datetime.date.today()}; {versions}."), {1: one, 2: all_cores}


def make_matmul(path, n):
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    w = numpy_helper.from_array(np.random.default_rng(n).standard_normal((n, n), dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], f"matmul{n}",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [n, n])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [n, n])], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def matmul_table(tenfold, folder, peaks):
    print("| n | one thread | two threads |\n|---|---|---|")
    for n in (512, 1024, 2048):
        path = folder / f"matmul{n}.onnx"
        make_matmul(path, n)
        cells = []
        for threads in THREADS:
            best = min(json.loads(output(tenfold, "bench", path, "--threads", str(threads), "--rounds", "60", "--json"))
                       ["min_ms"] for _ in range(3))
            cells.append(f"{2 * n ** 3 / best / 1e6 / peaks[threads]:.0%}")
        print(f"| {n} | {cells[0]} | {cells[1]} |")
    print(flush=True)


def models_table(folder, names, rounds):
    rows = collections.defaultdict(dict)
    for name in names:
        model, inputs = folder / f"{name}.onnx", folder / f"{name}.inputs.npz"
        if not model.exists() or not inputs.exists():
            make = HERE.parent / "test" / "models" / "make_models.py"
            subprocess.run([sys.executable, make, folder, name, "--inputs"], check=True, stdout=sys.stderr)
        with tempfile.NamedTemporaryFile("r", suffix=".json") as result:
            subprocess.run([
                sys.executable, HERE / "peers.py", model, "--inputs", inputs, "--peers", ",".join(["tenfold"] + PEERS),
                "--threads", ",".join(map(str, THREADS)), "--rounds", str(rounds), "--json", result.name
            ], check=True, stdout=sys.stderr)
            for line in open(result.name):
                row = json.loads(line)
                rows[name, row["threads"]][row["peer"]] = row
    print("| model | threads | Tenfold | onnxruntime | OpenVINO | ratio | compile, s | OpenVINO's | "
          "peak memory, MiB | OpenVINO's | largest error |\n" + "|---" * 11 + "|")
    ratios = collections.defaultdict(list)
    for (name, threads), row in sorted(rows.items(), key=lambda kv: (names.index(kv[0][0]), kv[0][1])):
        ours = row["tenfold"]
        ratio = ours["min"] / min(row[p]["min"] for p in PEERS)
        ratios[threads].append(ratio)
        times = " | ".join(f"{row[p]['min']:.3g}" for p in ["tenfold"] + PEERS)
        openvino = row["openvino"]
        print(f"| {name} | {threads} | {times} | {ratio:.2f} | {ours['compile_s']:.2f} | {openvino['compile_s']:.2f} | "
              f"{ours['peak_mb']:.0f} | {openvino['peak_mb']:.0f} | {ours['err']:.0e} |")
    for threads, values in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, values)))
        print(f"| geometric mean | {threads} | | | | **{mean:.2f}** | | | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--tenfold", required=True, type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.models or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        text, peaks = machine(args.tenfold.resolve())
        print(text + "\n", flush=True)
        matmul_table(args.tenfold.resolve(), pathlib.Path(scratch), peaks)
        models_table(folder, args.names, args.rounds)


if __name__ == "__main__":
    main()
