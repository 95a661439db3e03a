"""ONNX models that are large: gigabytes of weights, thousands of nodes, deep nesting; odd names."""
import os
import pathlib
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_files import save, value
from support import tenfold, tenfold_json


def test_weights_beyond_two_gigabytes_stay_in_their_file(tmp_path):
    rows, columns = 700_000, 1024  # 2.7 GiB, of which one row is written: the file is sparse
    table = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[rows, columns],
                        data_location=TensorProto.EXTERNAL)
    for key, v in (("location", "w.bin"), ("offset", 0), ("length", rows * columns * 4)):
        table.external_data.add(key=key, value=str(v))
    last = np.arange(columns, dtype=np.float32)
    with open(tmp_path / "w.bin", "wb") as f:
        f.truncate(rows * columns * 4)
        f.seek((rows - 1) * columns * 4)
        f.write(last.tobytes())
    model = save(tmp_path / "m.onnx", [helper.make_node("Gather", ["w", "i"], ["r"]),
                                       helper.make_node("Neg", ["r"], ["y"])],
                 [value("i", [2], TensorProto.INT64)], [value("y", None)], [table])
    np.save(tmp_path / "i.npy", np.array([5, -1]))
    run = subprocess.Popen([os.environ["TENFOLD_BIN"], "run", model, "--threads", "1", "--input",
                            f"i={tmp_path / 'i.npy'}", "--output-dir", tmp_path],
                           stdout=subprocess.DEVNULL)
    own = 0  # KiB of memory that no file backs
    while run.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
            own = max(own, int(status.split("RssAnon:")[1].split()[0]))
        except (OSError, IndexError):
            pass
        time.sleep(0.01)
    assert run.returncode == 0 and own < 256 << 10
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.stack([np.zeros(columns), -last]))


def test_thousands_of_nodes_take_seconds(tmp_path):
    nodes, x = [], "x"
    for k in range(3000):
        op = ["Relu", "Sigmoid", "Add", "MatMul"][k % 4]
        more = {"Add": ["x"], "MatMul": ["w"]}.get(op, [])
        nodes.append(helper.make_node(op, [x, *more], [f"v{k}"]))
        x = f"v{k}"
    model = save(tmp_path / "m.onnx", nodes, [value("x", [8, 8])], [value(x, None)],
                 [numpy_helper.from_array(np.eye(8, dtype=np.float32), "w")])
    assert tenfold_json("run", model)["compile_s"] < 60  # 3 s on an idle machine


def nested(depth):
    """A graph of Ifs in Ifs. Written by hand: the onnx package stops at 30."""
    def field(number, body):
        size, n = b"", len(body)
        while n > 127:
            size, n = size + bytes([n & 127 | 128]), n >> 7
        return bytes([number << 3 | 2]) + size + bytes([n]) + body

    def result(k):
        return field(12, value(f"r{k}", [4]).SerializeToString())  # GraphProto.output
    flat = helper.make_node("Neg", ["x"], ["r0"]).SerializeToString()
    graph = field(1, flat) + field(2, b"g") + result(0)
    for k in range(1, depth):
        other = helper.make_graph([helper.make_node("Abs", ["x"], [f"e{k}"])], "e", [],
                                  [value(f"e{k}", [4])]).SerializeToString()
        node = helper.make_node("If", ["c"], [f"r{k}"]).SerializeToString()
        for name, g in ((b"then_branch", graph), (b"else_branch", other)):
            node += field(5, field(1, name) + field(6, g) + b"\xa0\x01\x05")  # type: GRAPH
        graph = field(1, node) + field(2, b"g") + result(k)
    for i in (value("x", [4]), value("c", [], TensorProto.BOOL)):
        graph += field(11, i.SerializeToString())
    opset = helper.make_opsetid("", 17).SerializeToString()
    return b"\x08\x08" + field(7, graph) + field(8, opset)


def test_deep_nesting_runs_or_is_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(nested(100))
    np.savez(tmp_path / "in.npz", x=np.arange(4, dtype=np.float32), c=np.array(True))
    tenfold("run", tmp_path / "m.onnx", "--inputs", tmp_path / "in.npz", "--output-dir", tmp_path)
    assert np.load(tmp_path / "r99.npy").tolist() == [0, -1, -2, -3]
    (tmp_path / "m.onnx").write_bytes(nested(5000))
    assert "onnx-invalid" in tenfold("run", tmp_path / "m.onnx", code=1).stderr


def test_names_in_other_scripts(tmp_path):
    model = save(tmp_path / "модель 模型 🙂.onnx",
                 [helper.make_node("Relu", ["вход"], ["出力"], name="узел/ノード")],
                 [value("вход", [3])], [value("出力", None)])
    np.save(tmp_path / "x.npy", np.array([-1, 0, 2], np.float32))
    report = tenfold_json("run", model, "--input", f"вход={tmp_path / 'x.npy'}", "--output-dir", tmp_path,
                          "--dump", tmp_path / "dump")
    assert report["outputs"][0]["name"] == "出力"
    assert np.load(tmp_path / report["outputs"][0]["file"]).tolist() == [0, 0, 2]
