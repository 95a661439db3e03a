#!/usr/bin/env python3
"""One compilation with open sizes against a compilation for exactly those sizes.

    dynamic.py [NAME ...] [--threads 1] [--rounds 6] [--slice 0.2] [--sizes 2]

Names: the models of test/models/make_models.py (their batch open), ocr_det, ocr_rec, ocr_cls, silero, basic_pitch
(from registry packages, where installed). For each size the two compiled models run in turn; printed are the compile
times, the minimum of one inference of each, and their ratio, which should be at most 1.3.
"""
import argparse
import importlib.util
import math
import pathlib
import sys
import time

import numpy as np
import tenfold

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "models"))
import make_models  # noqa: E402


def in_package(package, path):
    spec = importlib.util.find_spec(package)
    if not spec:
        return None
    path = pathlib.Path(spec.submodule_search_locations[0]) / path
    return path if path.exists() else None


def noise(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def silero(batch):
    return {"input": noise(batch, 576), "state": np.zeros((2, batch, 128), np.float32), "sr": np.array(16000)}


OCR = "rapidocr_onnxruntime"
PACKAGED = {  # file, inputs for a size, sizes
    "ocr_det": (OCR, "models/ch_PP-OCRv4_det_infer.onnx", lambda n: {"x": noise(1, 3, n, n + 64)}, (320, 640)),
    "ocr_rec": (OCR, "models/ch_PP-OCRv4_rec_infer.onnx", lambda n: {"x": noise(n, 3, 48, 320 // n)}, (1, 2)),
    "ocr_cls": (OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", lambda n: {"x": noise(n, 3, 48, 192)}, (1, 4)),
    "silero": ("silero_vad", "data/silero_vad.onnx", silero, (1, 4)),
    "basic_pitch": ("basic_pitch", "saved_models/icassp_2022/nmp.onnx",
                    lambda n: {"serving_default_input_2:0": noise(n, 43844, 1)}, (1, 2)),
}


def models(names):
    """(name, model, inputs of a size, sizes)"""
    for name in names or [*make_models.MODELS, *PACKAGED]:
        if name in PACKAGED:
            package, file, inputs, sizes = PACKAGED[name]
            path = in_package(package, file)
            if path:
                yield name, str(path), inputs, sizes
            continue
        proto = make_models.build(name, "batch")
        yield (name, proto.SerializeToString(),
               lambda n, p=proto: make_models.make_inputs(p, {"batch": n}, seed=n), (1, 3))


def compiled(model, inputs, threads, shapes):
    start = time.perf_counter()
    m = tenfold.compile(model, threads=threads, shapes=shapes, examples=inputs)
    m(**inputs)
    return m, time.perf_counter() - start


def minima(pair, inputs, rounds, slice_s):
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for i, m in enumerate(pair):
            end = time.perf_counter() + slice_s
            while True:
                start = time.perf_counter()
                m(**inputs)
                now = time.perf_counter()
                best[i] = min(best[i], now - start)
                if now > end:
                    break
    return best


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--slice", type=float, default=0.2)
    p.add_argument("--sizes", type=int, default=2, help="how many sizes of each model")
    a = p.parse_args()
    print(f"{'model':20} size  compile s: open  fixed   run ms: open     fixed  ratio")
    ratios = []
    for name, model, make, sizes in models(a.names):
        opened = None
        for n in sizes[:a.sizes]:
            inputs = make(n)
            if opened is None:
                opened, open_s = compiled(model, inputs, a.threads, None)
            fixed, fixed_s = compiled(model, inputs, a.threads, {k: v.shape for k, v in inputs.items()})
            o, f = minima((opened, fixed), inputs, a.rounds, a.slice)
            ratios.append(o / f)
            print(f"{name:20} {n:4}  {open_s:15.2f} {fixed_s:6.2f}   {o * 1e3:12.3f} {f * 1e3:9.3f}  {o / f:5.2f}",
                  flush=True)
            assert opened.recompilations == []
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
