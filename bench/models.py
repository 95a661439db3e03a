#!/usr/bin/env python3
"""The README's table of models against peers, as Markdown on standard output.

    PYTHONPATH=build/release/python build/venv/bin/python bench/models.py [--models DIR] [--rounds 6] [NAME ...]

Wants a quiet machine and the packages of `scripts/install_deps.sh test bench`. The models are those of
test/models/make_models.py, made into DIR where they are missing; bench/peers.py runs and interleaves the peers.
"""

import argparse
import collections
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
    for (name, threads), row in sorted(rows.items(), key=lambda kv: (kv[0][1], names.index(kv[0][0]))):
        ours = row["tenfold"]
        ratio = ours["min"] / min(row[p]["min"] for p in PEERS)
        ratios[threads].append(ratio)
        times = " | ".join(f"{row[p]['min']:.3g}" for p in ["tenfold"] + PEERS)
        openvino = row["openvino"]
        print(f"| {name} | {threads} | {times} | {ratio:.2f} | {ours['compile_s']:.2f} | {openvino['compile_s']:.2f} | "
              f"{ours['peak_mb']:.0f} | {openvino['peak_mb']:.0f} | {ours['err']:.0e} |")
    for threads, values in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, values)))
        print(f"| geometric mean (worst) | {threads} | | | | {mean:.2f} ({max(values):.2f}) | | | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.models or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        models_table(folder, args.names, args.rounds)


if __name__ == "__main__":
    main()

