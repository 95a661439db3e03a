"""The demo: a trained network tells what kind of file it is given.

Takes the model of the package `magika` (its weights and list of kinds, none of its code), runs it
with `tenfold run` on files of this checkout, prints what each one is, then how fast the model is.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

FILES = ["README.md", "CMakeLists.txt", "test/support/gtest_main.cc", "CMakePresets.json", "Makefile",
         "scripts/demo.py", "scripts/demo.sh", "pyproject.toml"]


def features(content, config):
    """The model's input: the first and last bytes without outer blanks, padded to a fixed length."""
    begin, end, pad = config["beg_size"], config["end_size"], config["padding_token"]
    head = list(content[:config["block_size"]].lstrip()[:begin])
    tail = list(content[-config["block_size"]:].rstrip()[-end:])
    return head + [pad] * (begin - len(head)) + [pad] * (end - len(tail)) + tail


def main(tenfold):
    root = pathlib.Path(__file__).resolve().parents[1]
    package = pathlib.Path(importlib.util.find_spec("magika").submodule_search_locations[0])
    folder = package / "models" / "standard_v3_3"
    config = json.loads((folder / "config.min.json").read_text())
    model = folder / "model.onnx"

    with tempfile.TemporaryDirectory() as tmp:
        rows = [features((root / name).read_bytes(), config) for name in FILES]
        np.savez(f"{tmp}/in.npz", bytes=np.array(rows, np.int32))
        command = [tenfold, "run", str(model), "--inputs", f"{tmp}/in.npz", "--output-dir", tmp, "--json"]
        print(f"$ tenfold run {model.name} --inputs in.npz\n")
        ran = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        scores = np.load(f"{tmp}/target_label.npy")
        for name, row in zip(FILES, scores):
            print(f"  {name:28} {config['target_labels_space'][row.argmax()]:12} {row.max():6.1%}")
        print(f"\ncompiled in {ran['compile_s']:.2f} s")

        np.savez(f"{tmp}/one.npz", bytes=np.array(rows[:1], np.int32))
        command = [tenfold, "bench", str(model), "--inputs", f"{tmp}/one.npz", "--rounds", "50", "--json"]
        bench = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        print(f"one file: {bench['min_ms']:.2f} ms at best, {bench['median_ms']:.2f} ms in the middle, "
              f"{bench['threads']} threads")


try:
    main(sys.argv[1])
except subprocess.CalledProcessError as failed:
    sys.exit(f"demo: `{' '.join(failed.cmd[:3])} …` ended with {failed.returncode}")
