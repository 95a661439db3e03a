"""The rows of silicon_v6e.csv as graphs.

A row that was timed as the slope of a chain is two programs of different length, and its prediction
the slope between them. `wall` rows are one program and the host's two crossings."""

import re

from stablehlo import Graph

BF16 = "bf16"


def matmuls(m, k, n, count):
    """`count` products, each with weights of its own, which the silicon streamed. One feeds the next
    where shapes allow it, so that what fits stays on the chip."""
    g = Graph()
    x = g.arg((m, k), BF16)
    weights = [g.arg((k, n), BF16) for _ in range(count)]
    if k != n:
        return g.text([g.dot(x, w, ((1,), (0,))) for w in weights])
    for w in weights:
        x = g.dot(x, w, ((1,), (0,)))
    return g.text([x])


def chain(op, n, trips):
    """x = x + y, or x = exp(x), again and again on the chip."""
    g = Graph()
    x = g.arg((n,), BF16)
    y = g.arg((n,), BF16) if op == "add" else None
    body = ((lambda g, i, v: [g.binary("add", v[0], y)]) if op == "add" else
            (lambda g, i, v: [g.unary("exponential", v[0])]))
    return g.text(g.while_(trips, [x], body))


def attention(g, q, k, v):
    """softmax(q k^T / sqrt(d)) v over [batch, heads, tokens, d]; sums and softmax in f32."""
    d = q.shape[3]
    s = g.dot(q, k, ((3,), (3,)), ((0, 1), (0, 1)), "f32")
    s = g.scalar("multiply", s, d ** -0.5)
    p = g.convert(softmax(g, s), BF16)
    return g.dot(p, v, ((3,), (2,)), ((0, 1), (0, 1)))


def softmax(g, s):
    last = len(s.shape) - 1
    dims = list(range(last))
    top = g.broadcast(g.reduce("maximum", s, (last,), float("-inf")), s.shape, dims)
    e = g.unary("exponential", g.binary("subtract", s, top))
    total = g.broadcast(g.reduce("add", e, (last,), 0.0), s.shape, dims)
    return g.binary("divide", e, total)


def prefill_attention(tokens, batch, heads=32, d=128):
    g = Graph()
    q, k, v = (g.arg((batch, heads, tokens, d), BF16) for _ in range(3))
    return g.text([attention(g, q, k, v)])


def decode_attention(context, batch, heads=32, d=128):
    g = Graph()
    q = g.arg((batch, heads, 1, d), BF16)
    k, v = (g.arg((batch, heads, context, d), BF16) for _ in range(2))
    return g.text([attention(g, q, k, v)])


def stream(kind, mib):
    """copy_scale: y = s x; triad: y = x + s z; f32 arrays of `mib` MiB each."""
    g = Graph()
    n = mib * 2**20 // 4
    x = g.arg((n,), "f32")
    if kind == "stream_copy_scale":
        return g.text([g.scalar("multiply", x, 3.0)])
    return g.text([g.binary("add", x, g.scalar("multiply", g.arg((n,), "f32"), 3.0))])


# Qwen3-8B as published.
LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, FFN, VOCABULARY = 36, 4096, 32, 8, 128, 12288, 151936


def rms_norm(g, x, weight):
    """Over the last dimension, in f32."""
    last = len(x.shape) - 1
    dims = list(range(last))
    f = g.convert(x, "f32")
    mean = g.scalar("divide", g.reduce("add", g.binary("multiply", f, f), (last,), 0.0),
                    x.shape[last])
    r = g.broadcast(g.unary("rsqrt", g.scalar("add", mean, 1e-6)), x.shape, dims)
    y = g.convert(g.binary("multiply", f, r), BF16)
    return g.binary("multiply", y, g.broadcast(weight, x.shape, [last]))


def rotate(g, x, cos, sin):
    """x [b, heads, s, d]; cos, sin [s, d]."""
    half = x.shape[3] // 2
    a = g.slice(x, [0] * 4, [*x.shape[:3], half])
    b = g.slice(x, [0, 0, 0, half], x.shape)
    turned = g.concatenate([g.unary("negate", b), a], 3)
    c, s = (g.broadcast(t, x.shape, [2, 3]) for t in (cos, sin))
    return g.binary("add", g.binary("multiply", x, c), g.binary("multiply", turned, s))


def linear(g, x, n):
    return g.dot(x, g.arg((x.shape[-1], n), BF16), ((len(x.shape) - 1,), (0,)))


def qwen3(tokens, batch, context=0):
    """context 0: prefill of `tokens`, logits of all; else one new token against a cache."""
    g = Graph()
    ids = g.arg((batch, tokens), "i32")
    table = g.arg((VOCABULARY, HIDDEN), BF16)
    cos, sin = g.arg((tokens, HEAD), BF16), g.arg((tokens, HEAD), BF16)
    index = g.reshape(ids, (batch, tokens, 1))
    x = g.emit(f'"stablehlo.gather"({table.name}, {index.name}) {{dimension_numbers = '
               f"#stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], "
               f"start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, {HIDDEN}>, "
               f"indices_are_sorted = false}} : ({table.type}, {index.type}) -> "
               f"tensor<{batch}x{tokens}x{HIDDEN}xbf16>", (batch, tokens, HIDDEN), BF16)
    caches = []
    for _ in range(LAYERS):
        h = rms_norm(g, x, g.arg((HIDDEN,), BF16))
        q, k, v = (g.transpose(g.reshape(linear(g, h, n * HEAD), (batch, tokens, n, HEAD)),
                               (0, 2, 1, 3)) for n in (HEADS, KV_HEADS, KV_HEADS))
        q = rotate(g, rms_norm(g, q, g.arg((HEAD,), BF16)), cos, sin)
        k = rotate(g, rms_norm(g, k, g.arg((HEAD,), BF16)), cos, sin)
        caches += [k, v]
        # Four query heads share a key-value head: they become rows of one product.
        group = HEADS // KV_HEADS
        q = g.reshape(q, (batch, KV_HEADS, group * tokens, HEAD))
        keys, values = k, v
        if context:
            keys, values = (g.arg((batch, KV_HEADS, context, HEAD), BF16) for _ in range(2))
        a = attention(g, q, keys, values)
        a = g.transpose(g.reshape(a, (batch, HEADS, tokens, HEAD)), (0, 2, 1, 3))
        a = g.reshape(a, (batch, tokens, HEADS * HEAD))
        x = g.binary("add", x, linear(g, a, HIDDEN))
        h = rms_norm(g, x, g.arg((HIDDEN,), BF16))
        gate, up = linear(g, h, FFN), linear(g, h, FFN)
        gate = g.binary("multiply", gate, g.unary("logistic", gate))
        x = g.binary("add", x, linear(g, g.binary("multiply", gate, up), HIDDEN))
    x = rms_norm(g, x, g.arg((HIDDEN,), BF16))
    return g.text([linear(g, x, VOCABULARY), *(caches if context else [])])


def workload(row):
    """(texts, how) of a row of the table: how is 'one' (a program), 'wall', or the numbers of steps of
    two programs, for the slope."""
    kind, shape = row["kind"], row["shape"]
    numbers = [int(n) for n in re.findall(r"\d+", shape)]
    if kind in ("mm", "mm_wall"):
        if kind == "mm_wall":
            return [matmuls(*numbers, 1)], "wall"
        steps = (1, 3)
        return [matmuls(*numbers, s) for s in steps], steps
    if kind in ("add", "exp"):
        steps = (8, 24)
        return [chain(kind, numbers[0], s) for s in steps], steps
    if kind == "flash_prefill":
        return [prefill_attention(*numbers)], "one"
    if kind == "paged_decode":
        return [decode_attention(*numbers)], "one"
    if kind.startswith("stream"):
        return [stream(kind, numbers[0])], "wall"
    if kind == "qwen3_8b_prefill":
        return [qwen3(*numbers)], "one"
    if kind == "qwen3_8b_decode":
        return [qwen3(1, numbers[1], numbers[0])], "one"
    raise KeyError(kind)


def class_of(row):
    """The class a row is judged in."""
    kind = row["kind"]
    if kind in ("add", "exp"):
        n = int(row["shape"][2:])
        if row["cell"] == "E1":
            return "elementwise in HBM"
        return "elementwise in VMEM" if n >= 2**21 else "elementwise in VMEM, small"
    return {"mm": "matmul", "mm_wall": "matmul, host-timed", "flash_prefill": "attention prefill",
            "paged_decode": "attention decode", "stream_copy_scale": "HBM stream",
            "stream_triad": "HBM stream", "qwen3_8b_prefill": "Qwen3-8B",
            "qwen3_8b_decode": "Qwen3-8B"}[kind]
