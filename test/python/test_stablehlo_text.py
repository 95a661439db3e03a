"""StableHLO text against jaxlib: what it prints we read, what we print it reads, and the graph
evaluator computes what JAX computes."""
import os
import pathlib
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

TOOL = pathlib.Path(os.environ.get("TENFOLD_BUILD", "build/release")) / "bin" / "graph_tool"

RNG = np.random.RandomState(7)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def i32(lo, hi, *shape):
    return RNG.randint(lo, hi, shape).astype(np.int32)


def c64(*shape):
    return (f32(*shape) + 1j * f32(*shape)).astype(np.complex64)


def grad_of_pool(x):
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")
    return jax.grad(lambda x: pool(x).sum())(x)


BIG = f32(10, 20)
MASK = RNG.rand(300) > 0.5

# name -> (function, arguments, rtol)
CASES = {
    "dense_relu": (lambda x, w, b: jax.nn.relu(x @ w + b), [f32(4, 8), f32(8, 3), f32(3)], 1e-5),
    "softmax": (jax.nn.softmax, [f32(4, 8)], 1e-5),
    "conv": (lambda x, k: lax.conv_general_dilated(
        x, k, (2, 1), [(1, 1), (0, 2)], lhs_dilation=(1, 2), rhs_dilation=(2, 1),
        feature_group_count=2), [f32(2, 4, 9, 9), f32(6, 2, 3, 3)], 1e-4),
    "conv_nhwc": (lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        [f32(2, 9, 9, 4), f32(3, 3, 4, 6)], 1e-4),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * a), x[0], x), [f32(5, 3)], 1e-5),
    "while_loop": (lambda n: lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2.0), (0, 1.0)), [np.int32(5)], 0),
    "cond": (lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: x * 2, x),
             [np.bool_(True), f32(3)], 0),
    "switch": (lambda p, x: lax.switch(p, [lambda x: x + 1, lambda x: x * 2, jnp.sin], x),
               [np.int32(2), f32(3)], 1e-6),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(x, axis=0)), [f32(3, 5)], 0),
    "top_k": (lambda x: lax.top_k(x, 2), [f32(3, 5)], 0),
    "gather": (lambda x, i: x[i], [f32(7, 5), i32(-7, 7, 3, 2)], 0),
    "scatter": (lambda x, i, u: x.at[i].add(u), [f32(7, 5), i32(-7, 7, 3), f32(3, 5)], 1e-6),
    "dynamic_update_slice": (lambda x, u, i: lax.dynamic_update_slice(x, u, (i, i)),
                             [f32(7, 5), f32(2, 2), np.int32(3)], 0),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)),
                      [f32(7, 5), np.int32(9)], 0),
    "pool": (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "SAME"),
             [f32(2, 5, 5)], 0),
    "grad_of_pool": (grad_of_pool, [f32(2, 6, 6)], 0),
    "complex": (lambda x: jnp.abs(x * (1 + 2j)).sum() + jnp.real(jnp.exp(x)), [c64(4)], 1e-5),
    "erf": (lambda x: jax.scipy.special.erf(x) + jnp.arctan(x), [f32(4)], 1e-5),
    "random_bits": (lambda k: jax.random.bits(k, (5,)), [np.array([3, 7], np.uint32)], 0),
    "random_normal": (lambda k: jax.random.normal(k, (5,)), [np.array([3, 7], np.uint32)], 1e-5),
    "cumsum": (lambda x: jnp.cumsum(x, 0), [f32(4, 3)], 1e-5),
    "argmax": (lambda x: jnp.argmax(x, 1), [f32(4, 3)], 0),
    "views": (lambda x: (x[1:5:2, ::-1], jnp.pad(x, ((1, 2), (0, 3)), constant_values=1.5),
                         x.reshape(-1).astype(jnp.bfloat16).astype(jnp.float32),
                         jnp.tile(x, (2, 1)), x.T), [f32(7, 5)], 0),
    "bits": (lambda x: (lax.bitcast_convert_type(x, jnp.int32),
                        lax.population_count(lax.bitcast_convert_type(x, jnp.uint32)),
                        lax.clz((x * 100).astype(jnp.int32)),
                        jnp.right_shift((x * 100).astype(jnp.int32), 2)), [f32(7)], 0),
    "constants": (lambda x: x + np.array([[1e30, np.inf, -np.inf], [np.nan, 0.1, -0.0]],
                                         np.float32), [f32(2, 3)], 0),
    "big_constant": (lambda x: x * BIG, [f32(10, 20)], 0),
    "bool_constant": (lambda x: x & MASK, [RNG.rand(300) > 0.5], 0),
    "rounding": (lambda x: lax.reduce_precision(x, 5, 10) + lax.clamp(-0.5, x, 0.5) +
                 jnp.round(x * 3), [f32(30)], 1e-6),
    "narrow": (lambda x: (x.astype(jnp.float8_e4m3fn).astype(jnp.float32),
                          x.astype(jnp.float16)), [f32(9)], 0),
    "grad": (jax.grad(lambda w, x: (jnp.tanh(x @ w) ** 2).mean()), [f32(3, 3), f32(2, 3)], 1e-5),
    "einsum": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b, precision="highest"),
               [f32(2, 3, 4), f32(2, 4, 5)], 1e-5),
    "nested_jit": (lambda x: jax.jit(lambda y: y * 2)(x) + jax.checkpoint(jnp.sin)(x),
                   [f32(3)], 1e-6),
    "reductions": (lambda x: (jnp.prod(x, 1), jnp.any(x > 0), jnp.all(x > 0, 0), x.min(),
                              lax.reduce((x, x), (np.float32(0), np.float32(1)),
                                         lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,))),
                   [f32(3, 4)], 1e-5),
    "barrier": (lambda x: lax.optimization_barrier((x, x + 1)), [f32(3)], 0),
    "empty": (lambda x: jnp.concatenate([x, x * 2]).sum(), [f32(0, 3)], 0),
    "integers": (lambda a, b: (lax.div(a, b), lax.rem(a, b), a // b, a % b, jnp.sign(a)),
                 [i32(-50, 50, 20), i32(1, 9, 20)], 0),
}


def lowered(name):
    f, args, _ = CASES[name]
    return jax.jit(f, keep_unused=True).lower(*args).compiler_ir("stablehlo")


def tool(*args, ok=True):
    r = subprocess.run([str(TOOL), *map(str, args)], capture_output=True, text=True, timeout=120)
    if ok:
        assert r.returncode == 0, r.stderr
    return r


def texts(module):
    yield "pretty", str(module)
    yield "generic", module.operation.get_asm(print_generic_op_form=True)
    yield "locations", module.operation.get_asm(enable_debug_info=True)


@pytest.mark.parametrize("name", CASES)
def test_round_trip_and_values(name, tmp_path):
    module = lowered(name)
    f, args, rtol = CASES[name]
    for form, text in texts(module):
        source = tmp_path / f"{form}.mlir"
        source.write_text(text)
        printed = tool("print", source).stdout
        again = tmp_path / f"{form}_again.mlir"
        again.write_text(printed)
        assert tool("print", again).stdout == printed
        if "tenfold." not in printed:
            with module.context:
                assert ir.Module.parse(printed).operation.verify()

    inputs = []
    for i, a in enumerate(args):
        path = tmp_path / f"in{i}.npy"
        np.save(path, a)
        inputs.append(path)
    want = jax.tree_util.tree_leaves(jax.jit(f, keep_unused=True)(*args))
    for source in (tmp_path / "pretty.mlir", tmp_path / "generic_again.mlir"):
        out = tmp_path / source.stem
        out.mkdir()
        tool("eval", source, out, *inputs)
        for i, w in enumerate(want):
            got, w = np.load(out / f"{i}.npy"), np.asarray(w)
            assert got.shape == w.shape and got.dtype == w.dtype
            if rtol == 0:
                np.testing.assert_array_equal(got, w)
            else:
                np.testing.assert_allclose(got, w, rtol=rtol, atol=rtol)


def test_every_problem_has_a_place(tmp_path):
    source = tmp_path / "bad.mlir"
    source.write_text("""
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.nonsense %a : tensor<2xf32>
  %1 = stablehlo.add %a, %missing : tensor<2xf32>
  %2 = stablehlo.transpose %a, dims = [true] {shape = 1} : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
""")
    r = tool("check", source, ok=False)
    assert r.returncode == 1
    lines = r.stderr.strip().splitlines()
    assert len(lines) == 3
    assert f"{source}:3:8: op stablehlo.nonsense is not known" in lines[0]
    assert f"{source}:4:26: %missing is not defined" in lines[1]
    assert f"{source}:5:47: stablehlo.transpose: attribute shape is not taken" in lines[2]


def test_exported_with_symbolic_sizes(tmp_path):
    from jax import export

    def f(x, y):
        z = jnp.concatenate([x, y], 0)
        return (jnp.broadcast_to(z.reshape(-1)[None, :], (3, z.size)),
                jnp.arange(x.shape[0] * 2), x.sum(0),
                jnp.pad(x, ((0, x.shape[0]), (1, 0))), x @ y.T)

    n, m = export.symbolic_shape("n,m", constraints=["n<=64"])
    spec = jax.ShapeDtypeStruct((n, m), jnp.float32)
    source = tmp_path / "f.mlir"
    source.write_text(export.export(jax.jit(f))(spec, spec).mlir_module())
    printed = tool("print", source).stdout
    again = tmp_path / "again.mlir"
    again.write_text(printed)
    assert tool("print", again).stdout == printed
    for shape in ((2, 3), (5, 1)):
        args = [f32(*shape), f32(*shape)]
        out = tmp_path / f"out{shape[0]}"
        out.mkdir()
        paths = [tmp_path / "a.npy", tmp_path / "b.npy"]
        for path, a in zip(paths, args):
            np.save(path, a)
        tool("eval", again, out, *paths)
        for i, w in enumerate(jax.tree_util.tree_leaves(f(*args))):
            np.testing.assert_allclose(np.load(out / f"{i}.npy"), np.asarray(w), rtol=1e-5,
                                       atol=1e-6)
    np.save(paths[1], f32(6, 1))  # the sizes must agree
    assert "must be" in tool("eval", again, out, *paths, ok=False).stderr
