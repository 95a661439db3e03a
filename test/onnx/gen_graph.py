"""Random valid ONNX graphs: the graph under construction that the samplers of gen_*.py add nodes to.

A sampler is a function (g, schema) -> Node | None for one op: it makes inputs that the schema's text
allows, and attributes for them. None: nothing to take this time (another op is drawn).
"""
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

SAMPLERS = {}  # (domain, op) -> sampler
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


def sampler(*ops, domain=""):
    def register(f):
        for op in ops:
            SAMPLERS[domain, op] = f
        return f
    return register


@dataclass
class Node:
    inputs: list  # names; "" for one left out
    attrs: dict = field(default_factory=dict)
    outputs: int = 1
    rtol: float = 0.0  # beyond the comparison's own, where the standard leaves room
    mask: str = ""  # "random": only shapes count


def np_dtype(type_str):
    """"tensor(float16)" -> np.dtype, or None where NumPy has none."""
    inner = type_str.removeprefix("tensor(").removesuffix(")")
    special = {"float": "float32", "double": "float64", "bool": "bool"}
    name = special.get(inner, inner)
    if inner.startswith(("complex", "string")) or not type_str.startswith("tensor("):
        return None
    if hasattr(ml_dtypes, inner):
        return np.dtype(getattr(ml_dtypes, inner))
    try:
        return np.dtype(name)
    except TypeError:
        return np.dtype(getattr(ml_dtypes, {"float8e4m3fn": "float8_e4m3fn",
                                            "float8e5m2": "float8_e5m2",
                                            "float8e4m3fnuz": "float8_e4m3fnuz",
                                            "float8e5m2fnuz": "float8_e5m2fnuz"}[inner])) \
            if inner in ("float8e4m3fn", "float8e5m2", "float8e4m3fnuz", "float8e5m2fnuz") else None


class Graph:
    def __init__(self, seed, opset):
        self.rng = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.inputs, self.initializers = [], {}, {}
        self.pool = {}  # results so far that a node may take: name -> array
        self.count = 0

    # --- chance ---
    def chance(self, p):
        return self.rng.random() < p

    def pick(self, xs):
        return xs[int(self.rng.integers(len(xs)))]

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=4, largest=5):
        return tuple(self.int(1, largest) for _ in range(self.int(low, high)))

    # --- values ---
    def data(self, dtype, shape, low=None, high=None):
        dtype, r = np.dtype(dtype), self.rng
        if dtype == bool:
            return r.random(shape) < 0.5
        if dtype.kind in "iu":
            lo = (0 if dtype.kind == "u" else -9) if low is None else low
            return r.integers(lo, (9 if high is None else high) + 1, shape).astype(dtype)
        if dtype.name in ("int4", "uint4", "int2", "uint2"):
            lo, hi = (int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max))
            return r.integers(lo, hi + 1, shape).astype(dtype)
        if low is None:
            return (r.standard_normal(shape) * self.pick([1, 1, 3])).astype(dtype)
        return r.uniform(low, high, shape).astype(dtype)

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def new(self, array, const=None):
        """A name for this array: an initializer (always when `const`), or an input of the model."""
        array = np.asarray(array)
        if const or (const is None and self.chance(0.25)):
            n = self.name("c")
            self.initializers[n] = array
        else:
            n = self.name("x")
            self.inputs[n] = array
        return n

    def __getitem__(self, name):
        for d in (self.pool, self.inputs, self.initializers):
            if name in d:
                return d[name]
        raise KeyError(name)

    def take(self, dtypes, low=0, high=4, fits=None, data=None):
        """A value of one of these types and ranks: an earlier result where one fits, else new."""
        dtypes = [np.dtype(d) for d in ([dtypes] if not isinstance(dtypes, (list, tuple)) else dtypes)]
        if data is None:
            found = [n for n, a in self.pool.items()
                     if a.dtype in dtypes and low <= a.ndim <= high and a.size <= 4096
                     and (fits is None or fits(a.shape))]
            if found and self.chance(0.8):
                return self.pick(found)
        for _ in range(50):
            s = self.shape(low, high)
            if fits is None or fits(s):
                break
        d = self.pick(dtypes)
        return self.new(data(d, s) if data else self.data(d, s))

    def types(self, schema, param="T"):
        """The dtypes that a type parameter allows and NumPy can hold."""
        for c in schema.type_constraints:
            if c.type_param_str == param:
                out = [np_dtype(t) for t in sorted(c.allowed_type_strs)]
                return [t for t in out if t is not None]
        raise KeyError((schema.name, param))

    def a_type(self, schema, param="T", among=None):
        ts = [t for t in self.types(schema, param) if among is None or t.name in among]
        f32 = np.dtype(np.float32)
        if f32 in ts and self.chance(0.5):
            return f32
        return self.pick(ts) if ts else None

    def axis(self, rank, negative=True):
        a = self.int(0, rank - 1)
        return a - rank if negative and self.chance(0.4) else a

    def some_axes(self, rank, at_least=1):
        n = self.int(min(at_least, rank), rank)
        axes = sorted(self.rng.permutation(rank)[:n].tolist())
        return [a - rank if self.chance(0.3) else a for a in axes]

    def broadcastable(self, shape):
        """A shape that broadcasts with `shape`."""
        s = [1 if self.chance(0.3) else d for d in shape]
        return tuple(s[self.int(0, len(s)):]) if s and self.chance(0.4) else tuple(s)

    # --- the model ---
    def add(self, op, domain, node):
        outs = [self.name("y") for _ in range(node.outputs)]
        inputs = list(node.inputs)
        while inputs and not inputs[-1]:
            inputs.pop()
        attrs = {k: v for k, v in node.attrs.items() if v is not None}
        self.nodes.append(helper.make_node(op, inputs, outs, name=f"{op}_{len(self.nodes)}",
                                           domain=domain, **attrs))
        return outs

    def model(self, outputs, open_dims=()):
        """`open_dims`: (input, dimension) pairs that the model leaves open."""
        def info(n, a):
            shape = [f"{n}_{i}" if (n, i) in open_dims else d for i, d in enumerate(a.shape)]
            return helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), shape)
        graph = helper.make_graph(
            self.nodes, "random", [info(n, a) for n, a in self.inputs.items()],
            [onnx.ValueInfoProto(name=o) for o in outputs],
            [numpy_helper.from_array(a, n) for n, a in self.initializers.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset),
                                                       helper.make_opsetid("ai.onnx.ml", 3)],
                                 ir_version=10)
