"""--precision: weights in 16 bits, arithmetic in f32."""

import os
import subprocess

import numpy as np
import pytest

from graphs import Graph, error, reference

rng = np.random.default_rng(0)
f32 = np.float32


def network(scale=1.0):
    g = Graph(x=rng.standard_normal((7, 256)).astype(f32), i=rng.standard_normal((1, 16, 12, 12)).astype(f32))
    y = g("MatMul", "x", (rng.standard_normal((256, 320)) * scale).astype(f32))
    z = g("Conv", "i", rng.standard_normal((32, 16, 3, 3)).astype(f32), pads=[1] * 4)
    return g, g.model(y, z)


def run(model, feed, folder, precision):
    path, inputs, out = folder / "net.onnx", folder / "in.npz", folder / precision
    path.write_bytes(model)
    np.savez(inputs, **feed)
    artifact = folder / f"{precision}.tenfold"
    common = [os.environ["TENFOLD_BIN"]]
    subprocess.run(common + ["compile", path, "-o", artifact, "--precision", precision], check=True)
    subprocess.run(common + ["run", artifact, "--inputs", inputs, "--output-dir", out], check=True)
    return [np.load(f) for f in sorted(out.glob("*.npy"))], artifact.stat().st_size


@pytest.mark.parametrize("precision, bound", [("f16-weights", 2**-11), ("bf16-weights", 2**-8)])
def test_weights_are_rounded_once_and_take_half(precision, bound, tmp_path):
    g, model = network()
    exact, size = run(model, g.feed, tmp_path, "f32")
    rounded, small = run(model, g.feed, tmp_path, precision)
    for got, f32_run, want in zip(rounded, exact, reference(model, g.feed)):
        assert error(f32_run, want) < 1e-6
        assert 1e-6 < error(got, want) < bound
    assert size - small > 0.9 * 2 * (256 * 320 + 32 * 16 * 9)


def test_weights_beyond_f16_stay(tmp_path):
    g, model = network(1e5)
    got, _ = run(model, g.feed, tmp_path, "f16-weights")
    assert error(got[0], reference(model, g.feed)[0]) < 1e-6
