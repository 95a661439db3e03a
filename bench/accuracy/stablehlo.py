"""Writes StableHLO text: values are strings, types follow from shapes. Weights are splats or
arguments, because only their sizes matter to a clock."""

import math


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{d}x" for d in shape) + dtype + ">"


class Value:
    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype

    @property
    def type(self):
        return tensor(self.shape, self.dtype)


class Graph:
    def __init__(self):
        self.args, self.lines, self.count = [], [], 0

    def arg(self, shape, dtype, name=None):
        v = Value(f"%{name or 'arg%d' % len(self.args)}", shape, dtype)
        self.args.append(v)
        return v

    def emit(self, text, shape, dtype):
        v = Value(f"%{self.count}", shape, dtype)
        self.count += 1
        self.lines.append(f"  {v.name} = {text}")
        return v

    def constant(self, value, shape, dtype):
        if isinstance(value, float):
            value = {math.inf: "0x7F800000", -math.inf: "0xFF800000"}.get(value, f"{value:.9e}")
            if dtype == "bf16" and value.startswith("0x"):
                value = value[:6]
        if shape and dtype != "i8":  # as JAX prints it; int8 ones are weights, which have a size
            return self.broadcast(self.emit(f"stablehlo.constant dense<{value}> : {tensor((), dtype)}",
                                            (), dtype), shape, ())
        return self.emit(f"stablehlo.constant dense<{value}> : {tensor(shape, dtype)}", shape, dtype)

    def unary(self, op, x):
        return self.emit(f"stablehlo.{op} {x.name} : {x.type}", x.shape, x.dtype)

    def binary(self, op, x, y):
        assert x.shape == y.shape and x.dtype == y.dtype, (op, x.type, y.type)
        return self.emit(f"stablehlo.{op} {x.name}, {y.name} : {x.type}", x.shape, x.dtype)

    def scalar(self, op, x, value):
        return self.binary(op, x, self.constant(float(value) if x.dtype[0] != "i" else int(value),
                                                x.shape, x.dtype))

    def convert(self, x, dtype):
        if x.dtype == dtype:
            return x
        return self.emit(f"stablehlo.convert {x.name} : ({x.type}) -> {tensor(x.shape, dtype)}",
                         x.shape, dtype)

    def reshape(self, x, shape):
        return self.emit(f"stablehlo.reshape {x.name} : ({x.type}) -> {tensor(shape, x.dtype)}",
                         shape, x.dtype)

    def transpose(self, x, perm):
        shape = [x.shape[p] for p in perm]
        return self.emit(f"stablehlo.transpose {x.name}, dims = {list(perm)} : ({x.type}) -> "
                         f"{tensor(shape, x.dtype)}", shape, x.dtype)

    def broadcast(self, x, shape, dims):
        return self.emit(f"stablehlo.broadcast_in_dim {x.name}, dims = {list(dims)} : ({x.type}) -> "
                         f"{tensor(shape, x.dtype)}", shape, x.dtype)

    def slice(self, x, start, limit):
        box = ", ".join(f"{a}:{b}" for a, b in zip(start, limit))
        shape = [b - a for a, b in zip(start, limit)]
        return self.emit(f"stablehlo.slice {x.name} [{box}] : ({x.type}) -> {tensor(shape, x.dtype)}",
                         shape, x.dtype)

    def concatenate(self, xs, dim):
        shape = list(xs[0].shape)
        shape[dim] = sum(x.shape[dim] for x in xs)
        return self.emit(f"stablehlo.concatenate {', '.join(x.name for x in xs)}, dim = {dim} : "
                         f"({', '.join(x.type for x in xs)}) -> {tensor(shape, xs[0].dtype)}",
                         shape, xs[0].dtype)

    def dot(self, x, y, contract, batch=((), ()), dtype=None):
        """contract and batch: (dims of x, dims of y)."""
        rest = [[d for i, d in enumerate(v.shape) if i not in (*contract[k], *batch[k])]
                for k, v in enumerate((x, y))]
        shape = [x.shape[i] for i in batch[0]] + rest[0] + rest[1]
        batching = f"batching_dims = {list(batch[0])} x {list(batch[1])}, " if batch[0] else ""
        return self.emit(
            f"stablehlo.dot_general {x.name}, {y.name}, {batching}contracting_dims = "
            f"{list(contract[0])} x {list(contract[1])} : ({x.type}, {y.type}) -> "
            f"{tensor(shape, dtype or x.dtype)}", shape, dtype or x.dtype)

    def reduce(self, op, x, dims, init):
        shape = [d for i, d in enumerate(x.shape) if i not in dims]
        zero = self.constant(init, (), x.dtype)
        return self.emit(f"stablehlo.reduce({x.name} init: {zero.name}) applies stablehlo.{op} across "
                         f"dimensions = {list(dims)} : ({x.type}, {zero.type}) -> "
                         f"{tensor(shape, x.dtype)}", shape, x.dtype)

    def convolution(self, x, w, stride, pads, groups=1, dtype=None, dilation=1):
        """x [n,h,w,c], w [kh,kw,ci,co]; pads ((top, bottom), (left, right))."""
        out = [(x.shape[1 + i] + sum(pads[i]) - ((w.shape[i] - 1) * dilation + 1)) // stride + 1
               for i in range(2)]
        shape = [x.shape[0], *out, w.shape[3]]
        window = (f"stride = [{stride}, {stride}], pad = [{list(pads[0])}, {list(pads[1])}], "
                  f"rhs_dilate = [{dilation}, {dilation}]")
        return self.emit(
            f"stablehlo.convolution({x.name}, {w.name}) dim_numbers = "
            f"[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{{window}}} "
            f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : "
            f"({x.type}, {w.type}) -> {tensor(shape, dtype or x.dtype)}", shape, dtype or x.dtype)

    def max_pool(self, x, size, stride, pads):
        low = self.constant(-128 if x.dtype == "i8" else -math.inf, (), x.dtype)
        out = [(x.shape[1 + i] + sum(pads[i]) - size) // stride + 1 for i in range(2)]
        shape = [x.shape[0], *out, x.shape[3]]
        scalar = tensor((), x.dtype)
        return self.emit(
            f'"stablehlo.reduce_window"({x.name}, {low.name}) ({{\n  ^bb0(%a: {scalar}, %b: {scalar}):\n'
            f"    %m = stablehlo.maximum %a, %b : {scalar}\n    stablehlo.return %m : {scalar}\n  }}) "
            f"{{window_dimensions = array<i64: 1, {size}, {size}, 1>, "
            f"window_strides = array<i64: 1, {stride}, {stride}, 1>, "
            f"padding = dense<[[0, 0], {list(pads[0])}, {list(pads[1])}, [0, 0]]> : tensor<4x2xi64>}} : "
            f"({x.type}, {scalar}) -> {tensor(shape, x.dtype)}", shape, x.dtype)

    def while_(self, trips, carried, body):
        """A counted loop: body(graph, counter, values) gives the next values."""
        outer, self.lines = self.lines, []
        start = self.constant(0, (), "i32")
        names = [f"%c{self.count}_{i}" for i in range(len(carried) + 1)]
        values = [Value(n, v.shape, v.dtype) for n, v in zip(names, [start, *carried])]
        head, self.lines = self.lines, []
        limit = self.constant(trips, (), "i32")
        more = self.emit(f"stablehlo.compare LT, {values[0].name}, {limit.name}, SIGNED : "
                         f"(tensor<i32>, tensor<i32>) -> tensor<i1>", (), "i1")
        self.lines.append(f"  stablehlo.return {more.name} : tensor<i1>")
        cond, self.lines = self.lines, []
        results = body(self, values[0], values[1:])
        one = self.constant(1, (), "i32")
        following = [self.binary("add", values[0], one), *results]
        types = ", ".join(v.type for v in values)
        self.lines.append(f"  stablehlo.return {', '.join(v.name for v in following)} : {types}")
        loop, self.lines = self.lines, outer + head
        name = f"%w{self.count}"
        self.count += 1
        inits = ", ".join(f"{n} = {v.name}" for n, v in zip(names, [start, *carried]))
        self.lines += [f"  {name}:{len(values)} = stablehlo.while({inits}) : {types}",
                       "  cond {", *cond, "  } do {", *loop, "  }"]
        return [Value(f"{name}#{i + 1}", v.shape, v.dtype) for i, v in enumerate(carried)]

    def text(self, results):
        args = ", ".join(f"{a.name}: {a.type}" for a in self.args)
        types = ", ".join(v.type for v in results)
        names = ", ".join(v.name for v in results)
        return (f"func.func @main({args}) -> ({types}) {{\n" + "\n".join(self.lines) +
                f"\n  return {names} : {types}\n}}\n")
