"""What ONNX leaves open and the given inputs decide: ranks, defaults, sequences; narrow types in files."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_files import save, value
from support import tenfold, tenfold_json


def test_a_rank_comes_from_the_input(tmp_path):
    unranked = onnx.ValueInfoProto()
    unranked.name = "x"
    unranked.type.tensor_type.elem_type = TensorProto.FLOAT
    model = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], [unranked],
                 [value("y", None)])
    assert "onnx-unknown-rank" in tenfold("run", model, code=1).stderr
    np.save(tmp_path / "x.npy", np.array([[-1, 2], [3, -4]], np.float32))
    report = tenfold_json("run", model, "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path)
    assert report["outputs"][0]["shape"] == [2, 2] and report["recompilations"] == 0
    assert np.load(tmp_path / "y.npy").tolist() == [[0, 2], [3, 0]]


def test_a_default_can_be_replaced(tmp_path):
    model = save(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"])],
                 [value("x", [2]), value("w", [2])], [value("y", [2])],
                 [numpy_helper.from_array(np.array([1, 2], np.float32), "w")])
    np.save(tmp_path / "x.npy", np.array([10, 20], np.float32))
    np.save(tmp_path / "w.npy", np.array([5, 6], np.float32))
    x, w = (["--input", f"{n}={tmp_path / n}.npy"] for n in "xw")
    tenfold("run", model, *x, "--output-dir", tmp_path / "plain")
    assert np.load(tmp_path / "plain" / "y.npy").tolist() == [11, 22]
    tenfold("run", model, *x, *w, "--output-dir", tmp_path / "replaced")
    assert np.load(tmp_path / "replaced" / "y.npy").tolist() == [15, 26]


def test_names_become_safe_file_names(tmp_path):
    model = save(tmp_path / "m.onnx",
                 [helper.make_node("Relu", ["a/b:0"], ["out/1"]),
                  helper.make_node("Neg", ["a/b:0"], ["out:1"])],
                 [value("a/b:0", [2])], [value("out/1", [2]), value("out:1", [2])])
    np.savez(tmp_path / "in.npz", **{"a/b:0": np.array([1, -1], np.float32)})
    report = tenfold_json("run", model, "--inputs", tmp_path / "in.npz", "--output-dir",
                          tmp_path / "out")
    assert [o["name"] for o in report["outputs"]] == ["out/1", "out:1"]
    files = [o["file"] for o in report["outputs"]]
    assert files[0] == "out_1.npy" and len(set(files)) == 2
    assert np.load(tmp_path / "out" / files[0]).tolist() == [1, 0]
    assert np.load(tmp_path / "out" / files[1]).tolist() == [-1, 1]


@pytest.mark.parametrize("kind,dtype,stored", [
    (TensorProto.BFLOAT16, ml_dtypes.bfloat16, "V2"),
    (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, "V1"),
    (TensorProto.FLOAT16, np.float16, "float16"),
])
def test_types_that_numpy_lacks_travel_as_raw_bytes(tmp_path, kind, dtype, stored):
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value("x", [4], kind)],
                              [value("y", [4], kind)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9),
              tmp_path / "m.onnx")
    x = np.array([1, -2, 0.5, 0], dtype)
    np.save(tmp_path / "x.npy", x)
    tenfold("run", tmp_path / "m.onnx", "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", tmp_path)
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == np.dtype(stored)
    assert y.tobytes() == x.tobytes()
