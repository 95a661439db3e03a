"""Arrays of any kind to contiguous NumPy arrays that the extension takes, and back.

NumPy has no bfloat16 and nothing narrower than 8 bits. Such arrays (ml_dtypes) cross over as
integers of the same size, with the name of their type beside them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Tenfold's name -> NumPy's (or ml_dtypes') name.
_NAMES = {
    "i1": "bool",
    "i2": "int2", "i4": "int4", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "ui2": "uint2", "ui4": "uint4", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32",
    "ui64": "uint64",
    "f4E2M1FN": "float4_e2m1fn", "f6E2M3FN": "float6_e2m3fn", "f6E3M2FN": "float6_e3m2fn",
    "f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3", "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E5M2": "float8_e5m2", "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E8M0FNU": "float8_e8m0fnu",
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}
_FROM_NUMPY = {v: k for k, v in _NAMES.items()}
# Those that only ml_dtypes has, and the integer their elements travel as.
_STORAGE = {k: np.uint8 for k, v in _NAMES.items() if v.startswith(("float4_", "float6_", "float8_"))}
_STORAGE |= {"bf16": np.uint16, "i2": np.int8, "i4": np.int8, "ui2": np.uint8, "ui4": np.uint8}

# Arrays of these types cross over as they are; by dtype, because asking NumPy for a name takes time.
_PLAIN = {np.dtype(v): k for k, v in _NAMES.items() if k not in _STORAGE}


def numpy_dtype(name: str) -> np.dtype | None:
    """NumPy's dtype for Tenfold's name; None when it needs ml_dtypes and that is not installed."""
    if name not in _STORAGE:
        return np.dtype(_NAMES[name])
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, _NAMES[name]))
    except (ImportError, AttributeError):
        return None


def to_storage(x: Any, want: str | None = None) -> tuple[np.ndarray, str]:
    """A contiguous array on x's own memory where possible, and the name of its element type.

    `want` decides what a number or a list becomes, and what raw bytes (uint8, uint16) stand for.
    """
    if type(x) is np.ndarray:
        plain = _PLAIN.get(x.dtype)
        if plain is not None and want not in _STORAGE and x.flags.c_contiguous:
            return x, plain
    if isinstance(x, np.ndarray):
        a = x
    elif hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
        try:
            a = np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError):
            a = np.asarray(x)  # a type or a place that DLPack or NumPy lacks
    elif isinstance(x, (memoryview, bytearray, bytes, np.generic)) or hasattr(x, "__array__"):
        a = np.asarray(x)
    else:
        dtype = numpy_dtype(want) if want else None
        try:
            a = np.asarray(x, dtype=dtype)
        except (TypeError, ValueError) as e:
            raise TypeError(f"cannot make an array of {type(x).__name__}: {e}") from None
    dtype = _FROM_NUMPY.get(a.dtype.name)
    if dtype is None:
        raise TypeError(f"arrays of {a.dtype} have no counterpart in Tenfold")
    if a.dtype.byteorder == ">":
        a = a.astype(a.dtype.newbyteorder("="))
    if not a.flags.c_contiguous:
        a = np.ascontiguousarray(a).reshape(a.shape)
    if dtype in ("i2", "i4", "ui2", "ui4"):
        a = a.astype(_STORAGE[dtype])  # the bits above the value are not defined: a copy has them
    elif dtype in _STORAGE:
        a = a.view(_STORAGE[dtype])
    elif want in _STORAGE and a.dtype == _STORAGE[want]:
        dtype = want
    return a, dtype


def from_storage(a: np.ndarray, name: str) -> np.ndarray:
    """The array under its own type; as raw integers when ml_dtypes is not there."""
    if name not in _STORAGE:
        return a
    dtype = numpy_dtype(name)
    return a if dtype is None else a.view(dtype)
