"""Models: opening, running, saving."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from . import _tenfold
from ._arrays import from_storage, numpy_dtype, to_storage
from ._errors import Error

# A path, the bytes of a model, or anything with SerializeToString() (an onnx.ModelProto).
ModelLike = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Any]


@dataclass(frozen=True)
class TensorInfo:
    """An input or output. `dtype` is Tenfold's name ("f32"); open dimensions are their names."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def numpy_dtype(self) -> np.dtype | None:
        return numpy_dtype(self.dtype)


@dataclass(frozen=True)
class KernelTime:
    """One kernel call of a run, with the model's own nodes it computes."""

    kernel: str
    nodes: list[str]
    microseconds: float
    flops: float
    bytes: float
    threads: int


@dataclass(frozen=True)
class CheckResult:
    ok: bool
    problems: list[dict[str, Any]]  # node, op, opset, id, message
    targets: dict[str, bool]

    def __bool__(self) -> bool:
        return self.ok


class Model:
    """A compiled model. Immutable; may be called from several threads at once."""

    def __init__(self, inner: _tenfold.Model) -> None:
        self._inner = inner
        self.inputs = [TensorInfo(*t) for t in inner.inputs]
        self.outputs = [TensorInfo(*t) for t in inner.outputs]
        self._index = {t.name: i for i, t in enumerate(self.inputs)}

    name: str = property(lambda self: self._inner.name)  # type: ignore[assignment]
    target: str = property(lambda self: self._inner.target)  # type: ignore[assignment]
    threads: int = property(lambda self: self._inner.threads)  # type: ignore[assignment]
    kernels: int = property(lambda self: self._inner.kernels)  # type: ignore[assignment]

    @property
    def compile_seconds(self) -> float:
        return self._inner.compile_seconds

    @property
    def recompilations(self) -> list[str]:
        """Why the model was compiled again, once for each time."""
        return self._inner.recompilations

    def __call__(self, *args: Any, out: Any = None, **named: Any):
        """The output, or a tuple of them when the model has several.

        Inputs in the model's order or by name: NumPy arrays, anything that speaks DLPack or the
        buffer protocol, numbers and lists. `out`: an array, a sequence or a dict by name of arrays
        that outputs are written into.
        """
        results = self._run(self._ordered(args, named), out)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Any] | Sequence[Any], out: Any = None
            ) -> dict[str, np.ndarray]:
        """All outputs by name; inputs as a dict by name or a sequence in the model's order."""
        if isinstance(inputs, Mapping):
            ordered = self._ordered((), inputs)
        else:
            ordered = self._ordered(tuple(inputs), {})
        return dict(zip([o.name for o in self.outputs], self._run(ordered, out)))

    def profile(self, *args: Any, rounds: int = 10, **named: Any) -> list[KernelTime]:
        """Every kernel call of a run, each at its best of `rounds`, in order."""
        calls = self._inner.profile(self._ordered(args, named), rounds)
        return [KernelTime(*c) for c in calls]

    def save(self, path: str | os.PathLike[str], emit: str = "") -> None:
        """Writes an artifact by its suffix (.tenfold, .so, .o with a header) or by `emit`."""
        self._inner.save(os.fspath(path), emit)

    def __repr__(self) -> str:
        def side(infos: Iterable[TensorInfo]) -> str:
            return ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in infos)
        return f"<tenfold.Model {self.name} ({side(self.inputs)}) -> ({side(self.outputs)})>"

    def _fail(self, id: str, message: str) -> Error:
        return Error([(id, message, self.name, [])])

    def _ordered(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> list:
        n = len(self.inputs)
        if len(args) == n and not named:
            return [self._storage(v, t) for v, t in zip(args, self.inputs)]
        if len(args) > n:
            raise self._fail("input-count", f"the model takes {n} inputs, got {len(args)}")
        values: list[Any] = list(args) + [None] * (n - len(args))
        have = [True] * len(args) + [False] * (n - len(args))
        names = ", ".join(self._index)
        for name, value in named.items():
            i = self._index.get(name)
            if i is None:
                raise self._fail("unknown-input",
                                 f"found a value for input `{name}`, the model has {names}")
            if have[i]:
                raise self._fail("repeated-input", f"found two values for input `{name}`")
            values[i], have[i] = value, True
        missing = [t.name for t, h in zip(self.inputs, have) if not h]
        if missing:
            raise self._fail("missing-input", f"found no value for input {', '.join(missing)}")
        return [self._storage(v, t) for v, t in zip(values, self.inputs)]

    def _storage(self, value: Any, info: TensorInfo) -> tuple[np.ndarray, str]:
        try:
            return to_storage(value, info.dtype)
        except TypeError as e:
            raise self._fail("input-dtype", f"input `{info.name}`: {e}") from None

    def _run(self, ordered: list, out: Any) -> list[np.ndarray]:
        if out is None:
            results = self._inner.run(ordered, [])
            return [from_storage(r, o.dtype) for r, o in zip(results, self.outputs)]
        buffers: list[np.ndarray | None] = [None] * len(self.outputs)
        if out is not None:
            if isinstance(out, Mapping):
                known = {o.name: i for i, o in enumerate(self.outputs)}
                for name, a in out.items():
                    if name not in known:
                        raise self._fail("unknown-output", f"the model has no output `{name}`")
                    buffers[known[name]] = a
            elif isinstance(out, (list, tuple)):
                if len(out) != len(buffers):
                    raise self._fail("output-count", f"the model gives {len(buffers)} outputs, got "
                                     f"room for {len(out)}")
                buffers = list(out)
            else:
                buffers[0] = out
        raw: list[np.ndarray | None] = []
        for a, info in zip(buffers, self.outputs):
            if a is None:
                raw.append(None)
                continue
            s, dtype = to_storage(a, info.dtype)
            if not isinstance(a, np.ndarray) or s is not a and not np.shares_memory(s, a) and a.size:
                raise self._fail("output-array", f"output `{info.name}` can only be written into a "
                                 "contiguous NumPy array")
            if dtype != info.dtype:
                raise self._fail("output-dtype", f"output `{info.name}`: is {dtype}, the model "
                                 f"gives {info.dtype}")
            if not a.flags.writeable:
                raise self._fail("output-array", f"output `{info.name}`: the array is read-only")
            raw.append(s)
        results = self._inner.run(ordered, raw)
        return [b if b is not None else from_storage(r, o.dtype)
                for b, r, o in zip(buffers, results, self.outputs)]


def _options(target: str, threads: int, opt_level: int,
             shapes: Mapping[str, Sequence[int | None]] | None, **more: Any) -> _tenfold.Options:
    if opt_level not in (0, 1, 2, 3):
        raise ValueError(f"opt_level is {opt_level}, wanted 0 to 3")
    if not 0 <= threads <= 1024:
        raise ValueError(f"threads is {threads}, wanted 0 to 1024")
    o = _tenfold.Options()
    o.target, o.threads, o.opt_level = target, threads, opt_level
    o.shapes = {k: [-1 if d is None else d for d in v] for k, v in (shapes or {}).items()}
    for key, value in more.items():
        setattr(o, key, value)
    return o


def _source(model: ModelLike, name: str) -> tuple[str, bytes | None]:
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    if hasattr(model, "SerializeToString"):
        return name or "model.onnx", model.SerializeToString()
    return name or "model", bytes(model)


def _is_empty(value: Any) -> bool:
    """An optional or a sequence that holds nothing. (An empty tensor comes as an array.)"""
    return value is None or isinstance(value, (list, tuple)) and not value


def _named(inputs: Mapping[str, Any] | None, options: _tenfold.Options
           ) -> list[tuple[str, np.ndarray, str]]:
    inputs = inputs or {}
    options.empty_optionals = [k for k, v in inputs.items() if v is None]
    options.empty_sequences = [k for k, v in inputs.items() if v is not None and _is_empty(v)]
    return [(k, *to_storage(v)) for k, v in inputs.items() if not _is_empty(v)]


def compile(model: ModelLike, target: str = "cpu", threads: int = 0, opt_level: int = 3,
            shapes: Mapping[str, Sequence[int | None]] | None = None, *, fast_math: bool = False,
            per_shape: bool = False, disabled_passes: Sequence[str] = (),
            examples: Mapping[str, Any] | None = None, name: str = "") -> Model:
    """Compiles a model for `target` and loads it.

    shapes: fixed sizes by input, None leaves a dimension open. Open dimensions are compiled once
    for all sizes; per_shape compiles anew for each set of shapes instead. examples: inputs that
    decide what a model leaves open (ranks, defaults to be replaced, lengths of sequences: items are
    given as "NAME.0", "NAME.1" ..., an empty sequence as [], an empty optional as None). name:
    stands in messages when the model comes as bytes; its suffix counts.
    """
    path, data = _source(model, name)
    options = _options(target, threads, opt_level, shapes, fast_math=fast_math,
                       per_shape=per_shape, disabled=list(disabled_passes))
    return Model(_tenfold.open(path, data, options, _named(examples, options)))


def load(path: ModelLike, target: str = "cpu", threads: int = 0, opt_level: int = 3,
         shapes: Mapping[str, Sequence[int | None]] | None = None) -> Model:
    """Opens a model, compiling it, or an artifact (.tenfold, .so), which is only loaded."""
    return compile(path, target, threads, opt_level, shapes)


def evaluate(model: ModelLike, inputs: Mapping[str, Any] | Sequence[Any],
             shapes: Mapping[str, Sequence[int | None]] | None = None, *, name: str = ""
             ) -> dict[str, np.ndarray]:
    """Runs a model op by op on the plain evaluator: slow, and what compiled code is held to."""
    path, data = _source(model, name)
    if not isinstance(inputs, Mapping):
        inputs = {str(i): v for i, v in enumerate(inputs)}
        by_place = True
    else:
        by_place = False
    options = _options("cpu", 1, 0, shapes)
    given = _named(inputs, options)
    if by_place:
        given = [("", a, t) for _, a, t in given]
    return {n: from_storage(a, t) for n, t, a in _tenfold.evaluate(path, data, options, given)}


def check(model: ModelLike, target: str = "cpu",
          shapes: Mapping[str, Sequence[int | None]] | None = None, *, all_targets: bool = False,
          name: str = "") -> CheckResult:
    """Everything that is wrong with a model or unsupported, at once."""
    path, data = _source(model, name)
    ok, problems, per_target = _tenfold.check(path, data, _options(target, 1, 3, shapes),
                                              all_targets)
    keys = ("node", "op", "opset", "id", "message")
    return CheckResult(ok, [dict(zip(keys, p)) for p in problems], dict(per_target))


def targets() -> list[str]:
    """Names that `target` may have."""
    return _tenfold.targets()
