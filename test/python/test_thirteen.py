"""The models of test/models/make_models.py (random weights, published architectures) against
onnxruntime, with the batch symbolic: one compilation serves every batch size.

The gate takes the small ones; TENFOLD_LONG_TESTS=1 takes all thirteen.
"""

import os
import pathlib
import sys

import pytest
import tenfold
from onnx_reference import assert_close, reference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import make_models  # noqa: E402

SMALL = [n for n in make_models.MODELS if n.startswith("tiny_")] + ["mobilenet_v2", "lstm", "dlrm"]
LONG = bool(os.environ.get("TENFOLD_LONG_TESTS"))


@pytest.mark.parametrize("name", list(make_models.MODELS) if LONG else SMALL)
def test_against_onnxruntime(name, tmp_path):
    proto = make_models.build(name, "batch")
    data = proto.SerializeToString()
    ref = reference(data)
    cases = []
    for batch in (1, 2, 3):
        inputs = make_models.make_inputs(proto, {"batch": batch}, seed=batch)
        cases.append((inputs, ref.run(None, inputs)))
    first = {}
    for level, threads in ((3, 1), (3, 2), (0, 1), (0, 2)):
        artifact = tmp_path / f"{level}.tenfold"
        if not artifact.exists():
            tenfold.load(data, opt_level=level).save(artifact)
        model = tenfold.load(artifact, threads=threads)
        # Unoptimised code is slow: its smallest batches tell as much.
        for k, (inputs, want) in enumerate(cases[:3 if level else 1 if name == "mobilenet_v2" else 2]):
            got = model.run(inputs)
            for (output, value), expected in zip(got.items(), want):
                assert_close(value, expected, f"{name} -O{level} batch {k + 1} {output}")
                same = first.setdefault((level, k, output), value)
                assert value.tobytes() == same.tobytes(), "the thread count changed the result"
        assert model.recompilations == []
