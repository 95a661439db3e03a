"""Every subcommand on sound input."""

import hashlib
import json

import numpy as np
import pytest

from support import tenfold, tenfold_json


def test_run_writes_what_the_formula_says(models, tmp_path):
    x = np.load(models / "x.npy")
    report = tenfold_json("run", models / "small.mlir", "--input", f"x={models / 'x.npy'}",
                          "--output-dir", tmp_path / "new" / "folder", "--verify")
    out = report["outputs"]
    assert [o["name"] for o in out] == ["result0"]
    assert out[0]["dtype"] == "f32" and out[0]["shape"] == [5, 3]
    y = np.load(tmp_path / "new" / "folder" / out[0]["file"])
    np.testing.assert_allclose(y, np.tanh(x) + x, rtol=2e-6, atol=1e-6)
    assert out[0]["sha256"] == hashlib.sha256(y.tobytes()).hexdigest()
    assert report["verified"] is True
    assert report["recompilations"] == 0
    assert report["compile_s"] > 0 and report["run_ms"] > 0


def test_run_takes_npz_and_gives_outputs_in_order(models, tmp_path):
    a, b = np.array([[1, 2], [3, 4]], np.int32), np.array([[10, 20], [-30, 40]], np.int32)
    np.savez(tmp_path / "in.npz", arg1=b, arg0=a)
    report = tenfold_json("run", models / "pair.mlir", "--inputs", tmp_path / "in.npz",
                          "--output-dir", tmp_path)
    first, second = [np.load(tmp_path / o["file"]) for o in report["outputs"]]
    assert first.tolist() == [[11, 22], [-27, 44]]
    assert second.tolist() == [[11, 44], [-81, 176]]


def test_run_without_inputs_makes_seeded_ones_and_says_so(models):
    first = tenfold("run", models / "small.mlir", "--json")
    assert "random" in first.stderr and "seed 0" in first.stderr and "x f32[1, 3]" in first.stderr
    again = tenfold_json("run", models / "small.mlir")
    other = tenfold_json("run", models / "small.mlir", "--seed", 1)
    digest = json.loads(first.stdout)["outputs"][0]["sha256"]
    assert again["outputs"][0]["sha256"] == digest
    assert other["outputs"][0]["sha256"] != digest


def test_run_shows_the_head_of_the_values(models, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((1, 3), np.float32))
    shown = tenfold("run", models / "small.mlir", "--input", f"x={tmp_path / 'x.npy'}").stdout
    assert "result0: f32 [1, 3]" in shown and "0 0 0" in shown


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_levels_and_threads_give_the_same_answer(models, level, threads, tmp_path):
    report = tenfold_json("run", models / "pair.mlir", f"-O{level}", "--threads", threads,
                          "--verify")
    assert report["threads"] == threads and report["verified"]


def test_artifacts_give_the_bits_of_the_model(models, artifact, shared_object):
    given = ["--input", f"x={models / 'x.npy'}"]
    want = tenfold_json("run", models / "small.mlir", *given)["outputs"]
    for path in (artifact, shared_object):
        assert tenfold_json("run", path, *given)["outputs"] == want
        assert tenfold_json("check", path)["ok"]
        assert tenfold_json("bench", path, *given, "--rounds", 3)["rounds"] == 3


def test_compile_writes_what_it_says(models, tmp_path):
    report = tenfold_json("compile", models / "small.mlir", "-o", tmp_path / "m.tenfold")
    assert report["bytes"] == (tmp_path / "m.tenfold").stat().st_size
    tenfold("compile", models / "small.mlir", "-o", tmp_path / "m.o")
    assert "tenfold_model_m" in (tmp_path / "m.h").read_text()
    tenfold("compile", models / "small.mlir", "-o", tmp_path / "odd.name", "--emit", "so")
    tenfold("run", tmp_path / "odd.name")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.h", "m.o", "m.tenfold", "odd.name"]


@pytest.mark.parametrize("target", ["cpu:aarch64", "cpu:rv64gcv", "cpu:haswell"])
def test_compile_makes_code_for_other_machines(models, tmp_path, target):
    for suffix in ("tenfold", "so", "o"):
        tenfold("compile", models / "small.mlir", "-o", tmp_path / f"m.{suffix}", "--target", target)
    if target != "cpu:haswell":
        refused = tenfold("run", tmp_path / "m.tenfold", code=1)
        assert "artifact-machine" in refused.stderr
        refused = tenfold("run", tmp_path / "m.so", code=1)
        assert "artifact-machine" in refused.stderr


def test_shape_fixes_open_dimensions(models, tmp_path):
    tenfold("compile", models / "small.mlir", "-o", tmp_path / "m.tenfold", "--shape", "x=4,3")
    shown = tenfold("run", tmp_path / "m.tenfold")
    assert "f32 [4, 3]" in shown.stdout
    refused = tenfold("run", tmp_path / "m.tenfold", "--input", f"x={models / 'x.npy'}", code=1)
    assert "dimension 0 is 5, the model takes 4" in refused.stderr


def test_bench_has_the_promised_fields(models):
    report = tenfold_json("bench", models / "small.mlir", "--rounds", 7, "--threads", 1)
    wanted = {"model", "target", "threads", "compile_s", "first_ms", "min_ms", "median_ms",
              "peak_rss_mib", "gflop", "share_of_peak", "kernels_tuned", "recompilations"}
    assert wanted <= set(report)
    assert report["rounds"] == 7 and report["threads"] == 1
    assert 0 < report["min_ms"] <= report["median_ms"]
    assert 1 < report["peak_rss_mib"] < 1024
    assert 0 <= report["share_of_peak"] < 1.5


def test_per_shape_counts_and_explains_recompilations(models):
    report = tenfold_json("run", models / "small.mlir", "--per-shape", "--input",
                          f"x={models / 'x.npy'}")
    assert report["recompilations"] == len(report["recompilation_causes"]) == 1


def test_check_lists_targets(models):
    report = tenfold_json("check", models / "small.mlir", "--all-targets")
    assert report["ok"] and report["problems"] == []
    assert report["targets"]["cpu"] == {"ok": True, "host_ops": []}
    assert len(report["targets"]) > 5


def test_profile_names_kernels(models, tmp_path):
    report = tenfold_json("profile", models / "small.mlir", "-o", tmp_path / "p")
    assert report["kernels"] and report["kernels"][0]["microseconds"] >= 0
    trace = json.loads((tmp_path / "p" / "trace.json").read_text())
    assert trace["traceEvents"][0]["ph"] == "X"
    assert json.loads((tmp_path / "p" / "profile.json").read_text())["kernels"]
    assert "kernel (nodes)" in tenfold("profile", models / "small.mlir").stdout


def test_targets_and_version(models):
    report = tenfold_json("targets")
    assert {"name", "features", "cores", "peak_gflops"} <= set(report["host"])
    assert report["host"]["peak_gflops"] > 0.1 and "cpu" in report["targets"]
    assert tenfold("version").stdout.startswith("tenfold ")
    assert tenfold_json("version")["package_format"] == 1
    assert tenfold("--version").stdout.startswith("tenfold ")


def test_dump_shows_every_level(models, tmp_path):
    tenfold("run", models / "pair.mlir", "--dump", tmp_path / "d")
    names = [p.name for p in (tmp_path / "d").iterdir()]
    assert "00-import.mlir" in names and "code.ll" in names and "code.s" in names
    assert any(n.startswith("kernel-") and n.endswith(".loop") for n in names)
    # What is dumped is input again.
    tenfold("run", tmp_path / "d" / "00-import.mlir", "--verify")
    tenfold("run", models / "pair.mlir", "--dump", f"{tmp_path / 'f'}:fold")
    assert "00-import.mlir" not in [p.name for p in (tmp_path / "f").iterdir()]


def test_passes_can_be_timed_stopped_and_left_out(models):
    timed = tenfold("run", models / "pair.mlir", "--time-passes").stderr
    assert "pass fold_constants" in timed and "stage codegen" in timed
    left_out = tenfold("run", models / "pair.mlir", "--time-passes", "--disable-pass",
                       "fold_constants", "--disable-pass", "simplify_views").stderr
    assert "fold_constants" not in left_out and "simplify_views" not in left_out
    stopped = tenfold("run", models / "pair.mlir", "--time-passes", "--stop-after",
                      "fold_constants").stderr
    assert "sink_transposes" not in stopped


def test_a_dump_is_taken_up_where_it_was_made(tmp_path):
    model = tmp_path / "model"
    model.write_text("""
module {
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.tanh %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<?xf32, #tenfold.dims<n>>) -> tensor<4xf32> {
    %a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %b = stablehlo.add %a, %a : tensor<4xf32>
    %c = func.call @f(%b) : (tensor<4xf32>) -> tensor<4xf32>
    %d = stablehlo.reshape %x : (tensor<?xf32, #tenfold.dims<n>>) -> tensor<4xf32>
    %e = stablehlo.multiply %c, %d : tensor<4xf32>
    return %e : tensor<4xf32>
  }
}
""")
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    x = ["--input", f"x={tmp_path / 'x.npy'}"]
    want = tenfold_json("run", model, *x, "--dump", tmp_path)["outputs"]
    dumps = sorted(p for p in tmp_path.glob("*.mlir"))
    assert len(dumps) > 2
    for at, after in zip(dumps, dumps[1:]):
        again = tmp_path / f"again-{after.stem}"
        got = tenfold_json("run", at, *x, "--start-from", after.stem, "--dump", again)["outputs"]
        assert [o["sha256"] for o in got] == [o["sha256"] for o in want]
        # The passes after it do what they did.
        for later in dumps[dumps.index(after):]:
            assert (again / later.name).read_text() == later.read_text()
    only = tenfold("run", dumps[0], *x, "--start-from", "01-state_size_rules", "--stop-after",
                   "inline_functions", "--time-passes").stderr
    assert "inline_functions" in only and "fold_constants" not in only


def test_bisect_finds_nothing_where_nothing_is_wrong(models):
    assert "no difference" in tenfold("run", models / "pair.mlir", "--bisect").stderr


@pytest.mark.parametrize("command", ["run", "compile", "check", "bench", "profile", "targets",
                                     "version"])
def test_every_command_has_help(command):
    assert "Usage" in tenfold(command, "--help").stdout


@pytest.mark.parametrize("rows,columns", [(2, 2), (7, 19), (64, 5)])
def test_a_product_whose_tile_has_no_plain_bound(tmp_path, rows, columns):
    """An open size with a bound beside one without: the packed part of the operand is all of it."""
    m, p = "tensor<?x?xf32, #tenfold.dims<m, n>>", "tensor<?x?xf32, #tenfold.dims<m, m>>"
    (tmp_path / "a.mlir").write_text(f"""
module attributes {{tenfold.symbols = {{m = [2, 64], n = [2, 9223372036854775807]}}}} {{
  func.func public @main(%x: {m}) -> ({p}) {{
    %0 = stablehlo.tanh %x : {m}
    %1 = "stablehlo.dot_general"(%0, %x) <{{dot_dimension_numbers = #stablehlo.dot<
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}}> : ({m}, {m}) -> {p}
    return %1 : {p}
  }}
}}
""")
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tenfold_json("run", tmp_path / "a.mlir", "--input", f"x={tmp_path / 'x.npy'}",
                       "--output-dir", tmp_path)["outputs"]
    np.testing.assert_allclose(np.load(tmp_path / out[0]["file"]), np.tanh(x) @ x.T, rtol=1e-4,
                               atol=1e-4)
