"""Writes cases of whole models for tools/onnx_eval/onnx_eval.cc, in the form of dump_onnx_cases.py.

    dump_model_cases.py cases OUT SHARED_CASES      every ONNX case of shared/cases
    dump_model_cases.py model OUT MODEL.onnx [DIM=SIZE...]
                                                    random inputs, answers by onnxruntime
"""
import json
import pathlib
import shutil
import sys

import numpy as np

from dump_onnx_cases import write_array


def shared_cases(out, root):
    for path in sorted(root.glob("*/case.json")):
        for check in json.loads(path.read_text())["checks"]:
            if not check["model"].endswith(".onnx"):
                continue
            folder = out / f"{path.parent.name}.{check['id']}"
            shutil.rmtree(folder, ignore_errors=True)
            source = path.parent / check["model"]
            # External data lies beside the model, so the whole folder goes along.
            shutil.copytree(path.parent, folder / "files", symlinks=True)
            model = folder / "files" / check["model"]
            (folder / "path.txt").write_text(str(model.relative_to(folder)))
            lines = []
            rtol = max([o["rtol"] for o in check.get("outputs", [])], default=0)
            atol = max([o["atol"] for o in check.get("outputs", [])], default=0)
            lines.append(f"set {rtol} {atol}")
            for kind in ("inputs", "outputs"):
                for k, v in enumerate(check.get(kind, [])):
                    file = f"{kind}_{k}.bin"
                    write_array(folder / file, np.load(source.parent / v["file"]))
                    lines.append(f"{kind[:-1]} {v['name']} {file}")
            (folder / "cases.txt").write_text("\n".join(lines) + "\n")


def model_case(out, model, sizes):
    import onnx
    import onnxruntime as ort
    session = ort.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
             "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_, "tensor(float16)": np.float16,
             "tensor(double)": np.float64, "tensor(int8)": np.int8}
    feeds = {}
    for i in session.get_inputs():
        shape = [sizes.get(d, sizes.get(f"{i.name}.{k}", 1 if isinstance(d, str) or d is None else d))
                 for k, d in enumerate(i.shape)]
        t = types[i.type]
        if f"{i.name}=" in sizes:
            feeds[i.name] = np.full(shape, sizes[f"{i.name}="], t)
        elif np.issubdtype(t, np.floating):
            feeds[i.name] = rng.standard_normal(shape).astype(t)
        else:
            feeds[i.name] = rng.integers(0, 2 if t == np.bool_ else 5, shape).astype(t)
    results = session.run(None, feeds)
    folder = out / (model.stem + "".join(f".{k}{v}" for k, v in sizes.items()))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "path.txt").write_text(str(model.resolve()))
    lines = ["set 1e-4 1e-4 peak"]
    for k, (name, v) in enumerate(feeds.items()):
        write_array(folder / f"input_{k}.bin", v)
        lines.append(f"input {name} input_{k}.bin")
    for k, (o, v) in enumerate(zip(session.get_outputs(), results)):
        write_array(folder / f"output_{k}.bin", v)
        lines.append(f"output {o.name} output_{k}.bin")
    (folder / "cases.txt").write_text("\n".join(lines) + "\n")
    print(folder, onnx.load(str(model), load_external_data=False).opset_import[0].version,
          [(o.name, v.shape) for o, v in zip(session.get_outputs(), results)])


def main():
    out = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "cases":
        shared_cases(out, pathlib.Path(sys.argv[3]))
    else:
        sizes = dict(a.rsplit("=", 1) if not a.count("==") else (a.split("==")[0] + "=", a.split("==")[1])
                     for a in sys.argv[4:])
        model_case(out, pathlib.Path(sys.argv[3]), {k: float(v) if k.endswith("=") and "." in v
                                                    else int(v) for k, v in sizes.items()})


if __name__ == "__main__":
    main()
