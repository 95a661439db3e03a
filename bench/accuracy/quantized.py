"""int8 networks for v1 and Edge, as StableHLO text: products in i32, one rescaling each."""

from stablehlo import Graph

SCALE = 0.0003


class Net(Graph):
    """A value is an int8 tensor [n, h, w, c] or [n, c]."""

    def requantize(self, sums, scale=SCALE, low=-128.0):
        f = self.scalar("multiply", self.convert(sums, "f32"), scale)
        r = self.unary("round_nearest_even", f)
        r = self.scalar("maximum", self.scalar("minimum", r, 127.0), low)
        return self.convert(r, "i8")

    def dense(self, x, n, relu=True):
        w = self.convert(self.constant(1, (x.shape[-1], n), "i8"), "i32")
        return self.requantize(self.dot(self.convert(x, "i32"), w, ((len(x.shape) - 1,), (0,))),
                               low=0.0 if relu else -128.0)

    def conv(self, x, n, k, stride=1, groups=1, relu=True, pad="same", dilation=1):
        kh, kw = k if isinstance(k, tuple) else (k, k)
        w = self.convert(self.constant(1, (kh, kw, x.shape[3] // groups, n), "i8"), "i32")
        pads = [self.same(x.shape[1 + i], size, stride, dilation) if pad == "same" else (0, 0)
                for i, size in enumerate((kh, kw))]
        return self.requantize(
            self.convolution(self.convert(x, "i32"), w, stride, pads, groups, dilation=dilation),
            low=0.0 if relu else -128.0)

    def depthwise(self, x, k, stride=1, relu=True, dilation=1):
        return self.conv(x, x.shape[3], k, stride, x.shape[3], relu, dilation=dilation)

    @staticmethod
    def same(size, k, stride, dilation=1):
        out = -(-size // stride)
        total = max((out - 1) * stride + (k - 1) * dilation + 1 - size, 0)
        return (total // 2, total - total // 2)

    def pool(self, x, k, stride, pad="same"):
        pads = [self.same(x.shape[1 + i], k, stride) if pad == "same" else (0, 0) for i in range(2)]
        return self.max_pool(x, k, stride, pads)

    def table(self, op, x):
        f = self.scalar("multiply", self.convert(x, "f32"), 0.05)
        y = self.scalar("multiply", self.unary(op, f), 127.0)
        return self.round8(y)

    def round8(self, f):
        r = self.scalar("maximum", self.scalar("minimum", self.unary("round_nearest_even", f), 127.0),
                        -128.0)
        return self.convert(r, "i8")

    def combine(self, op, x, y):
        f = self.binary(op, self.convert(x, "f32"), self.convert(y, "f32"))
        return self.round8(self.scalar("multiply", f, 0.5))

    def mean(self, x):
        """Over the image: [n, c]."""
        f = self.convert(x, "f32")
        s = self.reduce("add", f, (1, 2), 0.0)
        m = self.scalar("divide", s, float(x.shape[1] * x.shape[2]))
        return self.round8(self.scalar("divide", m, 1.0))
