#!/usr/bin/env python3
"""Square f32 matrix products through `tenfold bench`: rate, and share of the machine's f32 peak.

    matmul.py [--tenfold build/release/bin/tenfold] [--threads 1,2] [--sizes 512,...] [--repeat 3]

Twice for each size: the right matrix constant (packed when compiled), and both given at run time. The peak is the
highest that the tool measured in all runs with as many threads, so that a busy machine does not flatter the share.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper


def product(n, constant):
    given = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [n, n]) for x in ("a", "b", "y")]
    b = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"])], "product",
                              given[:1 if constant else 2], given[2:],
                              [onnx.numpy_helper.from_array(b, "b")] if constant else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tenfold", default="build/release/bin/tenfold")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--sizes", default="512,768,1024,1536,2048")
    p.add_argument("--repeat", type=int, default=3)
    a = p.parse_args()
    best, peak = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for n in map(int, a.sizes.split(",")):
            for constant in (True, False):
                path = str(pathlib.Path(folder) / "product.onnx")
                onnx.save(product(n, constant), path)
                for threads in a.threads.split(","):
                    for _ in range(a.repeat):
                        run = subprocess.run([a.tenfold, "bench", path, "--threads", threads, "--json"],
                                             check=True, capture_output=True, text=True)
                        d = json.loads(run.stdout)
                        key = (n, constant, threads)
                        best[key] = max(best.get(key, 0), 2e-6 * n**3 / d["min_ms"])
                        peak[threads] = max(peak.get(threads, 0), d["peak_gflops"])
    print(f"{'n':>5}  {'right':8}  threads  GFLOP/s  share of peak")
    for (n, constant, threads), rate in best.items():
        print(f"{n:5}  {'constant' if constant else 'given':8}  {threads:>7}  {rate:7.1f}  {rate / peak[threads]:.2f}")
    print("peak, GFLOP/s: " + ", ".join(f"{v:.1f} on {t}" for t, v in peak.items()))


if __name__ == "__main__":
    main()
