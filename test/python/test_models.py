"""Trained models from registry packages against onnxruntime (docs/third-party-models.md).

Each at several batch sizes or lengths that one compilation serves, at -O0 and -O3, on one thread
and on two, whose results must be the same bits. TENFOLD_LONG_TESTS=1 adds the large inputs.
"""

import importlib.util
import os
import pathlib

import numpy as np
import pytest
import tenfold
from onnx_reference import assert_close, reference

LONG = bool(os.environ.get("TENFOLD_LONG_TESTS"))


def model_path(package, name):
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"the package {package} is not installed (scripts/models-test.txt)")
    return pathlib.Path(list(spec.submodule_search_locations)[0]) / name


def models(path, folder):
    """(level, threads, model): compiled once a level, then loaded for each number of threads."""
    for level in (3, 0):
        artifact = folder / f"{path.stem}-{level}.tenfold"
        tenfold.load(path, opt_level=level).save(artifact)
        for threads in (1, 2):
            yield level, threads, tenfold.load(artifact, threads=threads)


def compare(path, cases, folder, unoptimised=1):
    """`unoptimised`: how many of the cases run at -O0 as well."""
    ref = reference(path)
    wanted = [ref.run(None, inputs) for inputs in cases]
    bits = {}
    for level, threads, model in models(path, folder):
        for k, inputs in enumerate(cases[:None if level else unoptimised]):
            got = model.run(inputs)
            for (output, value), want in zip(got.items(), wanted[k], strict=True):
                assert_close(value, want, f"{path.name} -O{level} case {k} {output}")
                first = bits.setdefault((level, k, output), value.tobytes())
                assert value.tobytes() == first, "the thread count changed the result"
        assert model.recompilations == []


def page(batch, height, width, seed=0):
    """Pictures with dark strokes on light paper, scaled as the models of PP-OCR want them."""
    rng = np.random.default_rng(seed)
    x = np.full((batch, 3, height, width), 0.9, np.float32)
    for b in range(batch):
        for top in range(height // 8, height - 16, 32):
            for left in range(16, width - 24, 12):
                h, w = rng.integers(4, 16), rng.integers(2, 8)
                x[b, :, top:top + h, left:left + w] = -0.8
    return x + rng.normal(0, 0.02, x.shape).astype(np.float32)


def test_text_detector(tmp_path):
    path = model_path("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx")
    sizes = [(1, 64, 96), (2, 96, 64)] + ([(1, 320, 320), (1, 640, 480)] if LONG else [])
    compare(path, [{"x": page(*s)} for s in sizes], tmp_path)


def test_text_recogniser(tmp_path):
    path = model_path("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx")
    sizes = [(1, 48, 64), (2, 48, 100)] + ([(1, 48, 320), (3, 48, 160)] if LONG else [])
    compare(path, [{"x": page(*s)} for s in sizes], tmp_path)


def test_text_direction(tmp_path):
    path = model_path("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
    compare(path, [{"x": page(*s)} for s in [(1, 48, 192), (3, 48, 192), (2, 48, 160)]], tmp_path)


def test_file_kinds(tmp_path):
    path = model_path("magika", "models/standard_v3_3/model.onnx")
    rng = np.random.default_rng(1)
    compare(path, [{"bytes": rng.integers(0, 257, (n, 2048)).astype(np.int32)} for n in (1, 3)],
            tmp_path)


def test_pitches(tmp_path):
    path = model_path("basic_pitch", "saved_models/icassp_2022/nmp.onnx")
    t = np.arange(43844, dtype=np.float32) / 22050
    tones = [np.sin(2 * np.pi * f * t) * 0.4 for f in (220, 440, 659.3)]
    name = "serving_default_input_2:0"
    compare(path, [{name: np.stack([sum(tones[:n])])[..., None]} for n in (3,)] +
            [{name: np.stack(tones[:2])[..., None]}], tmp_path,
            unoptimised=1 if LONG else 0)


# file, rate, whether the rate is an input, batch sizes
SPEECH = [("silero_vad.onnx", 16000, True, (1, 3)), ("silero_vad.onnx", 8000, True, (1, 2)),
          ("silero_vad_16k_op15.onnx", 16000, True, (1, 3)),
          ("silero_vad_half.onnx", 16000, False, (1, 3)),
          ("silero_vad_op18_ifless.onnx", 16000, True, (1, 3)),
          ("silero_vad_op18_ifless.onnx", 8000, True, (1, 2)),
          ("silero_vad_openvino_16k.onnx", 16000, False, (1,))]


def speech(rate, samples, seed):
    """A buzz that comes and goes, with some noise."""
    t = np.arange(samples) / rate
    rng = np.random.default_rng(seed)
    buzz = sum(np.sin(2 * np.pi * 120 * k * t) / k for k in range(1, 12))
    return (0.2 * buzz * (np.sin(2 * np.pi * 3 * t) > 0) +
            0.01 * rng.standard_normal(samples)).astype(np.float32)


@pytest.mark.parametrize("file,rate,rate_given,batches", SPEECH,
                         ids=[f"{s[0]}-{s[1]}" for s in SPEECH])
def test_speech_stream(file, rate, rate_given, batches, tmp_path):
    """Chunk by chunk, the state of one carried into the next, each engine its own."""
    path = model_path("silero_vad", f"data/{file}")
    ref = reference(path)
    chunk = 512 * rate // 16000
    before = chunk // 8
    for level, threads, model in models(path, tmp_path):
        for batch in batches:
            sound = np.stack([speech(rate, before + 6 * chunk, b) for b in range(batch)])
            states = [np.zeros((2, batch, 128), np.float32)] * 2
            for k in range(6):
                inputs = {"input": sound[:, k * chunk:before + (k + 1) * chunk]}
                if rate_given:
                    inputs["sr"] = np.array(rate, np.int64)
                want = ref.run(None, {**inputs, "state": states[0]})
                got = list(model.run({**inputs, "state": states[1]}).values())
                for value, expected, what in zip(got, want, ("output", "state"), strict=True):
                    assert_close(value, expected,
                                 f"{file} -O{level} batch {batch} chunk {k} {what}")
                states = [want[1], got[1]]
        assert model.recompilations == []


def test_speech_sequence(tmp_path):
    path = model_path("silero_vad", "data/silero_vad_16k_sequence.onnx")
    zero = np.zeros((1, 1, 128), np.float32)
    sound = speech(16000, 64 + 9 * 512, 0)
    frames = np.stack([sound[k * 512:k * 512 + 576] for k in range(9)])
    compare(path, [{"input": frames[:n], "h": zero, "c": zero} for n in (1, 4, 9)], tmp_path,
            unoptimised=2)


def test_size_that_was_not_squeezed():
    """The voice detector takes frames of one length; another one is refused, not computed."""
    path = model_path("silero_vad", "data/silero_vad_16k_op15.onnx")
    model = tenfold.load(path, threads=1)
    with pytest.raises(tenfold.Error, match="squeezed_size_is_one"):
        model.run({"input": np.zeros((1, 4096), np.float32),
                   "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)})
