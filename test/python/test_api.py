"""The Python package: arrays of every kind in and out, memory, errors, threads."""

import gc
import pathlib
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest
import tenfold

SMALL = b"""
module @small {
  func.func @main(%x: tensor<?x3xf32, #tenfold.dims<n, 3>>) -> tensor<?x3xf32, #tenfold.dims<n, 3>> {
    %0 = stablehlo.tanh %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
    %1 = stablehlo.add %0, %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
    return %1 : tensor<?x3xf32, #tenfold.dims<n, 3>>
  }
}
"""
PAIR = b"""
module @pair {
  func.func @main(%arg0: tensor<2x2xi32>, %arg1: tensor<2x2xi32>)
      -> (tensor<2x2xi32>, tensor<2x2xi32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x2xi32>
    %1 = stablehlo.multiply %arg0, %arg1 : tensor<2x2xi32>
    return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
  }
}
"""
A = np.array([[1, 2], [3, 4]], np.int32)
B = np.array([[10, 20], [30, -40]], np.int32)


def negation(mlir_type):
    """A model of one op on four elements of a type."""
    t = f"tensor<4x{mlir_type}>"
    return (f"module {{ func.func @main(%x: {t}) -> {t} {{ %0 = stablehlo.negate %x : {t}\n"
            f"return %0 : {t} }} }}").encode()


@pytest.fixture(scope="module")
def small():
    return tenfold.compile(SMALL, name="small.mlir", threads=1)


@pytest.fixture(scope="module")
def pair():
    return tenfold.compile(PAIR, name="pair.mlir")


def test_a_model_describes_itself(small):
    assert small.inputs == [tenfold.TensorInfo("x", "f32", ("n", 3))]
    assert small.outputs[0].shape == ("n", 3)
    assert small.inputs[0].numpy_dtype == np.float32
    assert small.target == "cpu" and small.threads == 1 and small.kernels >= 1
    assert "x: f32[n, 3]" in repr(small)


@pytest.mark.parametrize("n", [1, 2, 17, 1000])
def test_one_compilation_serves_every_length(small, n):
    x = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
    np.testing.assert_allclose(small(x), np.tanh(x) + x, rtol=2e-6, atol=1e-6)
    assert small.recompilations == []


def test_inputs_by_place_and_by_name(pair):
    for total, product in (pair(A, B), pair(A, arg1=B), pair(arg1=B, arg0=A),
                           pair.run({"arg0": A, "arg1": B}).values(), pair.run([A, B]).values()):
        assert total.tolist() == [[11, 22], [33, -36]]
        assert product.tolist() == [[10, 40], [90, -160]]
    assert list(pair.run([A, B])) == ["result0", "result1"]


class DlpackOnly:
    """An array of another framework."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **kwargs):
        return self.a.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.a.__dlpack_device__()


@pytest.mark.parametrize("given", [
    A, DlpackOnly(A), memoryview(A), A.tolist(), np.asfortranarray(A), A[::1],
    np.repeat(A, 2, axis=0)[::2], A.astype(">i4"),
], ids=["numpy", "dlpack", "buffer", "list", "fortran", "view", "strided", "big-endian"])
def test_arrays_of_any_kind_are_taken(pair, given):
    assert pair(given, B)[0].tolist() == [[11, 22], [33, -36]]


def test_unaligned_and_read_only_inputs_are_read_where_they_lie(small):
    raw = np.zeros(4 * 6 + 4, np.uint8)[4:]
    x = np.frombuffer(raw, np.float32).reshape(2, 3).copy()
    for shift in range(0, 64, 4):
        memory = np.zeros(200, np.uint8)
        x = memory[shift:shift + 24].view(np.float32).reshape(2, 3)
        x[:] = 0.5
        x.flags.writeable = False
        np.testing.assert_allclose(small(x), np.tanh(x) + x, rtol=2e-6)


def test_outputs_own_their_memory(pair):
    first = pair(A, B)[0]
    second = pair(B, B)[0]
    assert first.tolist() == [[11, 22], [33, -36]]
    assert not np.shares_memory(first, second)
    first[0, 0] = 5  # ours to change
    model = tenfold.compile(PAIR, name="pair.mlir")
    kept = model(A, B)[1]
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert kept.tolist() == [[10, 40], [90, -160]]
    assert np.shares_memory(np.from_dlpack(kept), kept)


def test_out_is_written_in_place(pair, small):
    total = np.zeros((2, 2), np.int32)
    results = pair(A, B, out=[total, None])
    assert results[0] is total and total.tolist() == [[11, 22], [33, -36]]
    named = pair.run([A, B], out={"result1": total})
    assert named["result1"] is total and total.tolist() == [[10, 40], [90, -160]]
    x = np.ones((2, 3), np.float32)
    memory = np.zeros(8, np.float32)
    y = memory[1:7].reshape(2, 3)
    assert small(x, out=y) is y
    np.testing.assert_allclose(memory, [0, *[np.tanh(1) + 1] * 6, 0], rtol=1e-6)
    for wrong, error in [(np.zeros((3, 3), np.float32), "output-shape"),
                         (np.zeros((2, 3), np.float64), "output-dtype"),
                         (np.zeros((2, 6), np.float32)[:, ::2], "output-array")]:
        with pytest.raises(tenfold.Error) as e:
            small(x, out=wrong)
        assert e.value.id == error
    y.flags.writeable = False
    with pytest.raises(tenfold.Error, match="read-only"):
        small(x, out=y)


@pytest.mark.parametrize("mlir,dtype", [
    ("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f64", np.float64),
    ("f8E4M3FN", ml_dtypes.float8_e4m3fn), ("f8E5M2", ml_dtypes.float8_e5m2), ("i8", np.int8),
    ("i16", np.int16), ("i64", np.int64), ("complex<f32>", np.complex64),
    ("i4", ml_dtypes.int4),
])
def test_every_type_crosses_over(mlir, dtype):
    model = tenfold.compile(negation(mlir), name="negate.mlir")
    x = np.array([1, -2, 3, 0], dtype=dtype)
    y = model(x)
    assert y.dtype == np.dtype(dtype)
    assert (y.astype(np.complex128) == -x.astype(np.complex128)).all()
    assert model.inputs[0].numpy_dtype == np.dtype(dtype)


def test_scalars_and_empty_arrays():
    t = "tensor<f32>"
    model = tenfold.compile(f"module {{ func.func @main(%x: {t}) -> {t} {{ "
                            f"%0 = stablehlo.negate %x : {t}\nreturn %0 : {t} }} }}".encode(),
                            name="scalar.mlir")
    assert model(2.5) == -2.5 and model(np.float32(2.5)).shape == ()
    s = "tensor<?xf32, #tenfold.dims<n>>"
    model = tenfold.compile(f"module {{ func.func @main(%x: {s}) -> {s} {{ "
                            f"%0 = stablehlo.negate %x : {s}\nreturn %0 : {s} }} }}".encode(),
                            name="empty.mlir")
    assert model(np.zeros(0, np.float32)).shape == (0,)


def test_errors_say_what_and_where(pair, tmp_path):
    def error(call):
        with pytest.raises(tenfold.Error) as e:
            call()
        return e.value

    assert error(lambda: pair(A)).id == "missing-input"
    assert error(lambda: pair(A, B, A)).id == "input-count"
    assert error(lambda: pair(A, B, arg0=A)).id == "repeated-input"
    assert error(lambda: pair(A, B, c=A)).id == "unknown-input"
    assert error(lambda: pair(A, B.astype(np.int64))).id == "input-dtype"
    assert error(lambda: pair(A, np.array(["a"]))).id == "input-dtype"
    assert error(lambda: pair(A, B[0])).id == "input-rank"
    wrong = error(lambda: pair(A, B[:, :1]))
    assert wrong.id == "input-shape" and wrong.location == "pair.mlir"
    assert "`arg1`: dimension 1 is 1, the model takes 2" in str(wrong)
    assert error(lambda: tenfold.load(tmp_path / "none.onnx")).id == "file-not-found"
    assert error(lambda: tenfold.compile(b"", name="x.onnx")).problems
    assert error(lambda: tenfold.compile(PAIR, "gpu", name="p.mlir")).id == "unknown-target"
    with pytest.raises(ValueError):
        tenfold.compile(PAIR, opt_level=4)


def test_artifacts_of_every_kind_load(small, tmp_path):
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    for name in ("m.tenfold", "m.so"):
        small.save(tmp_path / name)
        loaded = tenfold.load(tmp_path / name)
        np.testing.assert_array_equal(loaded(x), small(x))
        assert loaded.inputs == small.inputs
        with pytest.raises(tenfold.Error):
            loaded.save(tmp_path / "again.so")
    from_bytes = tenfold.load((tmp_path / "m.tenfold").read_bytes())
    np.testing.assert_array_equal(from_bytes(x), small(x))
    small.save(pathlib.Path(tmp_path) / "m.o")
    assert (tmp_path / "m.h").exists()


def test_shapes_can_be_fixed():
    model = tenfold.compile(SMALL, name="small.mlir", shapes={"x": [2, None]})
    assert model.inputs[0].shape == (2, 3)


def test_per_shape_tells_why_it_compiled_again():
    model = tenfold.compile(SMALL, name="small.mlir", per_shape=True)
    for n in (2, 2, 5, 2):
        model(np.zeros((n, 3), np.float32))
    assert len(model.recompilations) == 2
    assert model.recompilations[1] == "dimension 0 of `x` was 2, is 5"


def test_threads_share_a_model(small):
    wrong = []

    def work(seed):
        x = np.random.default_rng(seed).standard_normal((50, 3)).astype(np.float32)
        want = small(x)
        for _ in range(200):
            if not np.array_equal(small(x), want):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_many_models_live_at_once():
    """Models compiled in one process keep their own code apart."""
    models = [tenfold.compile(negation("f32"), name="a.mlir") if i % 2 else
              tenfold.compile(negation("f32").replace(b"negate", b"abs"), name="b.mlir")
              for i in range(20)]
    x = np.array([1, -2, 3, -4], np.float32)
    for i, m in enumerate(models):
        np.testing.assert_array_equal(m(x), -x if i % 2 else np.abs(x))


def test_evaluator_and_levels_agree():
    x = np.random.default_rng(3).standard_normal((6, 3)).astype(np.float32)
    want = tenfold.evaluate(SMALL, {"x": x}, name="small.mlir")["result0"]
    assert np.array_equal(tenfold.evaluate(SMALL, [x], name="small.mlir")["result0"], want)
    for level in range(4):
        got = tenfold.compile(SMALL, name="small.mlir", opt_level=level)(x)
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
    with pytest.raises(tenfold.Error):
        tenfold.evaluate(SMALL, {"y": x}, name="small.mlir")


def test_check_lists_problems_and_targets():
    good = tenfold.check(SMALL, name="small.mlir")
    assert good and good.problems == [] and good.targets == {"cpu": True}
    bad = tenfold.check(SMALL.replace(b"stablehlo.tanh", b"stablehlo.tunh"), name="bad.mlir")
    assert not bad and bad.problems[0]["id"] and "tunh" in bad.problems[0]["message"]
    assert "cpu" in tenfold.targets()


def test_profile_gives_a_line_a_kernel_call(pair):
    times = pair.profile(A, B, rounds=2)
    assert times and all(t.microseconds >= 0 and t.kernel for t in times)


def test_onnx_models_come_as_objects_and_bytes():
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"], name="relu")], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.array([[1, -1], [np.nan, 2]], np.float32)
    for model in (proto, proto.SerializeToString()):
        compiled = tenfold.compile(model)
        assert compiled.inputs[0].shape == ("batch", 2)
        np.testing.assert_array_equal(compiled(x), [[1, 0], [np.nan, 2]])
