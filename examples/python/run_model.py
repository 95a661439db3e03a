"""Compiles a model, runs it, saves it and runs the artifact.

    python examples/python/run_model.py model.onnx

Open dimensions get the size 2; the inputs are random.
"""

import pathlib
import sys
import tempfile

import numpy as np
import tenfold


def main(path: str) -> None:
    model = tenfold.load(path)
    print(model)
    rng = np.random.default_rng(0)
    inputs = {}
    for t in model.inputs:
        shape = [2 if isinstance(d, str) else d for d in t.shape]
        inputs[t.name] = rng.standard_normal(shape).astype(t.numpy_dtype)
    outputs = model.run(inputs)
    for name, value in outputs.items():
        print(f"{name}: {value.dtype} {value.shape}, largest {np.abs(value).max():.4f}")

    with tempfile.TemporaryDirectory() as folder:
        artifact = pathlib.Path(folder) / "model.tenfold"
        model.save(artifact)
        again = tenfold.load(artifact).run(inputs)
        same = all(np.array_equal(again[k], v, equal_nan=True) for k, v in outputs.items())
        print(f"artifact of {artifact.stat().st_size} bytes gives",
              "the same bits" if same else "OTHER VALUES")

    slowest = max(model.profile(**inputs), key=lambda k: k.microseconds)
    print(f"slowest kernel: {slowest.kernel}, {slowest.microseconds:.1f} us")

    try:
        model.run({**inputs, "no_such_input": 1})
    except tenfold.Error as e:
        print(f"refused: {e.id}")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
