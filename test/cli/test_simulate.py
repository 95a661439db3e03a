"""`tenfold simulate`: the fields that scripts read, causes that add up, refusals."""

import numpy as np
import pytest

from support import SMALL, tenfold, tenfold_json

PRODUCT = """
module @product {
  func.func @main(%arg0: tensor<256x512xf32>, %arg1: tensor<512x384xf32>) -> tensor<256x384xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
        : (tensor<256x512xf32>, tensor<512x384xf32>) -> tensor<256x384xf32>
    %1 = stablehlo.tanh %0 : tensor<256x384xf32>
    return %1 : tensor<256x384xf32>
  }
}
"""
FIELDS = """chip clock_mhz cycles microseconds mxu_utilization mxu_useful_share hbm_bytes hbm_bandwidth_share
hbm_peak_bytes onchip_peak_bytes cpu_seconds units nodes host_ops advice""".split()
NODE_FIELDS = "name op cycles flops hbm_bytes bound_by padding".split()
CAUSES = set("compute weight_load weight_shift memory onchip_port dependency issue sync idle".split())


@pytest.mark.parametrize("chip", ["v2", "v4", "v5e", "v6e", "7x", "v1", "edge"])
def test_every_unit_has_one_cause_a_cycle(chip, tmp_path):
    (tmp_path / "m.mlir").write_text(PRODUCT)
    report = tenfold_json("simulate", tmp_path / "m.mlir", "--target", f"tpu:{chip}")
    assert not [f for f in FIELDS if f not in report]
    assert report["chip"] == chip and report["cycles"] > 0
    assert report["microseconds"] == pytest.approx(report["cycles"] / report["clock_mhz"])
    for unit, causes in report["units"].items():
        assert sum(causes.values()) == report["cycles"], unit
        assert set(causes) <= CAUSES
    for node in report["nodes"]:
        assert not [f for f in NODE_FIELDS if f not in node]
    if chip not in ("v1", "edge"):  # f32 runs on the host of those
        assert sum(n["flops"] for n in report["nodes"]) >= 2 * 256 * 512 * 384
        assert report["hbm_bytes"] >= 4 * (256 * 512 + 512 * 384 + 256 * 384)


@pytest.mark.parametrize("chip, precision, error", [("v5e", "bf16", 2e-2), ("v6e", "bf16x3", 2e-4),
                                                    ("v3", "bf16x6", 1e-5)])
def test_values_are_those_of_the_model(chip, precision, error, tmp_path):
    (tmp_path / "m.mlir").write_text(PRODUCT)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((256, 512)).astype(np.float32) / 16
    b = rng.standard_normal((512, 384)).astype(np.float32)
    np.savez(tmp_path / "in.npz", arg0=a, arg1=b)
    tenfold("simulate", tmp_path / "m.mlir", "--target", f"tpu:{chip}", "--precision", precision,
            "--inputs", tmp_path / "in.npz", "--output-dir", tmp_path / "out")
    wanted = np.tanh(a.astype(np.float64) @ b.astype(np.float64))
    assert np.abs(np.load(tmp_path / "out" / "result0.npy") - wanted).max() < error


def test_timing_is_the_same_with_and_without_values(tmp_path):
    (tmp_path / "m.mlir").write_text(PRODUCT)
    args = ["simulate", tmp_path / "m.mlir", "--target", "tpu:v5e", "--mode", "bundle"]
    assert tenfold_json(*args)["cycles"] == tenfold_json(*args, "--timing-only")["cycles"]


def test_a_chip_file_of_ones_own(tmp_path):
    (tmp_path / "m.mlir").write_text(PRODUCT)
    chip = tenfold("targets", "--chip", "v5e").stdout
    (tmp_path / "slow.json").write_text(chip.replace('"clock_mhz": {"value": 1500', '"clock_mhz": {"value": 750'))
    report = tenfold_json("simulate", tmp_path / "m.mlir", "--target", f"tpu:{tmp_path / 'slow.json'}", "--timing-only")
    assert report["clock_mhz"] == 750
    (tmp_path / "odd.json").write_text(chip.replace('"mxu_count"', '"mxu_cout"'))
    wrong = tenfold("simulate", tmp_path / "m.mlir", "--target", f"tpu:{tmp_path / 'odd.json'}", code=1)
    assert "mxu_cout" in wrong.stderr


@pytest.mark.parametrize("target", ["tpu:v9", "tpu", "cpu", "tpu:none.json"])
def test_a_target_that_is_no_chip(target, tmp_path):
    (tmp_path / "m.mlir").write_text(SMALL)
    done = tenfold("simulate", tmp_path / "m.mlir", "--target", target, code=1)
    assert done.stdout == "" and "[" in done.stderr


def test_a_model_larger_than_the_chips_memory(tmp_path):
    t = "tensor<8x1073741824xf32>"  # 32 GiB, v5e has 16
    (tmp_path / "m.mlir").write_text(f"module @m {{\n  func.func @main(%x: {t}) -> {t} {{\n"
                                     f"    %0 = stablehlo.tanh %x : {t}\n    return %0 : {t}\n  }}\n}}\n")
    done = tenfold("simulate", tmp_path / "m.mlir", "--target", "tpu:v5e", "--timing-only", code=1)
    assert "65536 MiB of HBM" in done.stderr and "`x`" in done.stderr
