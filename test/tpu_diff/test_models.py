"""Whole models on simulated chips against onnxruntime, within bf16: f32 products are one bf16 pass."""

import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest

SOURCE, BIN = os.environ["TENFOLD_SOURCE"], os.environ["TENFOLD_BIN"]
SMALL = ["tiny_ad_autoencoder", "tiny_kws_dscnn", "tiny_ic_resnet8", "tiny_vww_mobilenet"]
LARGE = ["mobilenet_v2", "resnet50", "bert_base", "dlrm", "efficientnet_lite0", "mobilenet_v3_large"]
MODELS = SMALL + (LARGE if os.environ.get("TENFOLD_LONG_TESTS") else [])


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    maker = os.path.join(SOURCE, "test", "models", "make_models.py")
    subprocess.run([sys.executable, maker, folder, *MODELS, "--inputs"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def simulate(model, chip, *options):
    return subprocess.run([BIN, "simulate", model, "--target", f"tpu:{chip}", "--no-advice", *options],
                          check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("chip", ["v5e", "v6e"])
@pytest.mark.parametrize("name", MODELS)
def test_model_gives_the_values_of_onnxruntime(models, tmp_path, name, chip):
    model, inputs = models / f"{name}.onnx", models / f"{name}.inputs.npz"
    report = json.loads(simulate(model, chip, "--inputs", inputs, "--output-dir", tmp_path, "--json"))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    with np.load(inputs) as given:
        expected = session.run(None, dict(given))
    for output, want in zip(session.get_outputs(), expected):
        got = np.load(tmp_path / f"{output.name}.npy")
        assert got.shape == want.shape
        assert np.abs(got - want).max() <= 0.03 * np.abs(want).max()
    # Each unit's causes add up, and values do not change the clock.
    for causes in report["units"].values():
        assert sum(causes.values()) == report["cycles"]
    timed = json.loads(simulate(model, chip, "--timing-only", "--mode", "bundle", "--json"))
    assert timed["cycles"] == report["cycles"]
