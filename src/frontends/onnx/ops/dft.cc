// DFT and STFT, and the window functions that go with them. A transform of length n is a product
// with the n x n matrix of roots of unity, exact to the type for any length.
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// cos and sin of 2 pi j k / length for j < rows, k < columns.
struct Roots {
  Value *cosines, *sines;
};
Roots roots(B& b, DType w, const Dim& rows, const Dim& columns, const Dim& length) {
  const Shape s = {rows, columns};
  Value* jk = mul(b, b.iota({DType::I64, s}, 0), b.iota({DType::I64, s}, 1));
  Value* n = b.full(b.dim_scalar(max(length, Dim(1))), s);
  // The angle in turns, reduced exactly.
  Value* turns = b.convert(b.binary(Prim::Rem, jk, n), DType::F64);
  Value* angle = mul(b, div(b, turns, b.convert(n, DType::F64)), 2 * M_PI);
  return {b.convert(b.unary(Prim::Cos, angle), w), b.convert(b.unary(Prim::Sin, angle), w)};
}

// Product over the last dimension.
Value* dot(B& b, Value* x, Value* m) {
  return b.dot_general(x, m, {}, {}, {x->type.rank() - 1}, {0});
}

Value* stack_last(B& b, Value* re, Value* im) {
  Shape s = re->type.shape;
  s.push_back(Dim(1));
  return b.concatenate({b.reshape(re, s), b.reshape(im, s)}, re->type.rank());
}

// The transform over the last dimension of re + i im (im may be null); sums of `bins` frequencies.
Value* forward(B& b, Value* re, Value* im, const Dim& bins, bool inverse) {
  const Dim length = re->type.shape.back();
  const Roots m = roots(b, re->type.dtype, length, bins, length);
  Value* c = dot(b, re, m.cosines);
  Value* s = dot(b, re, m.sines);
  Value *y_re = c, *y_im = inverse ? s : b.unary(Prim::Neg, s);
  if (im) {
    Value *ci = dot(b, im, m.cosines), *si = dot(b, im, m.sines);
    y_re = inverse ? sub(b, c, si) : add(b, c, si);
    y_im = add(b, y_im, ci);
  }
  Value* y = stack_last(b, y_re, y_im);
  if (!inverse) return y;
  Value* n = b.convert(b.dim_scalar(max(length, Dim(1))), y->type.dtype);
  return div(b, y, b.full(n, y->type.shape));
}

// Cut or filled with zeros to `length` along the last dimension.
Value* fit(B& b, Value* x, const Dim& length) {
  const Dim have = x->type.shape.back();
  if (equal(have, length) == Truth::Yes) return x;
  Shape low(x->type.shape.size(), Dim(0)), high = low;
  high.back() = length - have;
  return b.pad(x, b.constant(x->type.dtype, 0), low, high, std::vector<int64_t>(low.size(), 0));
}

// Part 0 or 1 of the last dimension.
Value* part(B& b, Value* x, int64_t i) {
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  start.back() = Dim(i);
  limit.back() = Dim(i + 1);
  Value* v = b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
  return b.reshape(v, Shape(limit.begin(), limit.end() - 1));
}

Outputs dft(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *len = n.opt(1);
  const DType t = x->type.dtype, w = wide(t);
  int64_t rank = x->type.rank();
  n.need_rank(x, 2, 16, "input");
  const int64_t parts = n.static_dim(x, rank - 1, "the last dimension");
  if (parts != 1 && parts != 2) {
    n.invalid(fmt::format("the last dimension is {}, wanted 1 (real) or 2 (complex)", parts));
  }
  int64_t axis = n.opset() < 20 ? n.attr_i("axis", 1) : -2;
  Value* moving = nullptr;  // an axis known only at run time
  if (n.opset() >= 20) {
    if (Value* a = n.opt(2)) {
      a = one_number(n, a, "axis");
      const auto k = n.const_ints(a);
      if (k) {
        axis = (*k)[0];
      } else {
        moving = wrap_indices(b, a, Dim(rank));
      }
    }
  }
  const Shape whole = x->type.shape;
  if (moving) {
    // Seen as [before, length, behind, parts], the axis is dimension 1.
    Value* sizes = b.dims_value(Shape(whole.begin(), whole.end() - 1));
    Value* i = b.iota(sizes->type, 0);
    Value* at = b.full(moving, sizes->type.shape);
    const auto product = [&](const char* direction, const char* stem) {
      Value* p = b.select(b.compare(direction, i, at), sizes, like(b, sizes, 1));
      return n.runtime_dim(b.reduce(Prim::Mul, p, {0}), stem);
    };
    const Dim before = product("LT", "before"), length = product("EQ", "length");
    const Dim behind = product("GT", "behind");
    x = b.reshape(x, {before, length, behind, whole.back()});
    rank = 4;
    axis = 1;
  }
  // Back to the input's dimensions, of which the transformed one is now `length`.
  const auto unfold = [&](Value* y, const Dim& length) -> Value* {
    if (!moving) return y;
    Shape s;
    Value* now = b.dim_scalar(length);
    for (size_t i = 0; i + 1 < whole.size(); ++i) {
      Value* here = b.compare("EQ", moving, b.constant_i(DType::I64, static_cast<int64_t>(i)));
      s.push_back(n.runtime_dim(b.select(here, now, b.dim_scalar(whole[i])), "dft"));
    }
    s.push_back(y->type.shape.back());
    return b.reshape(y, s);
  };
  axis = n.axis(axis, rank);
  if (axis == rank - 1) n.invalid("the axis of the complex parts cannot be transformed");
  const bool inverse = n.attr_flag("inverse"), onesided = n.attr_flag("onesided");
  Value* re = b.convert(part(b, x, 0), w);
  Value* im = parts == 2 ? b.convert(part(b, x, 1), w) : nullptr;
  const auto perm = axis_last(rank - 1, axis);
  re = b.transpose(re, perm);
  if (im) im = b.transpose(im, perm);
  const Dim have = re->type.shape.back();
  const bool to_real = inverse && onesided;
  Dim length = to_real ? Dim(2) * (have - Dim(1)) : have;
  if (len) length = n.dim(len, "dft_length", 1);
  if (length.is_const() && length.value() < 1) n.invalid("dft_length is " + length.str());
  std::vector<int64_t> back = tenfold::onnx::inverse(perm);
  back.push_back(rank - 1);
  if (to_real) {
    if (!im) n.invalid("onesided inverse transforms take complex input");
    // The other half is the conjugate mirror: inner frequencies count twice.
    const Dim bins = floordiv(length, Dim(2)) + Dim(1);
    re = fit(b, re, bins);
    im = fit(b, im, bins);
    const Roots m = roots(b, w, bins, length, length);
    Value* k = b.iota({DType::I64, {bins}}, 0);
    Value* twice = mul(b, k, 2);
    Value* edge = b.binary(Prim::Or, b.compare("EQ", k, like(b, k, 0)),
                           b.compare("EQ", twice, b.full(b.dim_scalar(length), {bins})));
    Value* weight = b.select(edge, b.splat({w, {bins}}, 1), b.splat({w, {bins}}, 2));
    weight = div(b, weight, b.full(b.convert(b.dim_scalar(length), w), {bins}));
    const auto weigh = [&](Value* v) {
      return mul(b, v, b.broadcast_in_dim(weight, v->type.shape, {rank - 2}));
    };
    Value* y = sub(b, dot(b, weigh(re), m.cosines), dot(b, weigh(im), m.sines));
    Shape s = y->type.shape;
    s.push_back(Dim(1));
    return {b.convert(unfold(b.transpose(b.reshape(y, s), back), length), t)};
  }
  if (onesided && im) n.invalid("onesided transforms take real input");
  re = fit(b, re, length);
  if (im) im = fit(b, im, length);
  const Dim bins = onesided ? floordiv(length, Dim(2)) + Dim(1) : length;
  Value* y = b.transpose(forward(b, re, im, bins, inverse), back);
  return {b.convert(unfold(y, bins), t)};
}

Outputs stft(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *window = n.opt(2), *len = n.opt(3);
  const DType t = x->type.dtype, w = wide(t);
  int64_t parts = 1;
  if (x->type.rank() == 2) {
    x = b.reshape(x, {x->type.shape[0], x->type.shape[1], Dim(1)});
  } else {
    n.need_rank(x, 3, 3, "signal");
    parts = n.static_dim(x, 2, "the last dimension");
  }
  if (parts != 1 && parts != 2) {
    n.invalid(fmt::format("the last dimension is {}, wanted 1 (real) or 2 (complex)", parts));
  }
  const bool onesided = n.attr_flag("onesided", true);
  const Dim total = x->type.shape[1];
  const Dim step = n.dim(n.input(1), "frame_step", 1);
  Dim length = total;
  if (window) {
    n.need_rank(window, 1, 1, "window");
    if (window->type.dtype != t) n.invalid("signal and window differ in element type");
    length = window->type.shape[0];
  }
  if (len) {
    const Dim stated = n.dim(len, "frame_length", 1);
    if (window) n.require_equal(stated, length, "frame_length and the window's length");
    if (!window || stated.is_const()) length = stated;
  }
  if (less(total, length) == Truth::Yes) n.invalid("a frame is longer than the signal");
  const Dim frames = floordiv(total - length, step) + Dim(1);
  const Shape grid = {frames, length};
  Value* at = add(b, mul(b, b.iota({DType::I64, grid}, 0), b.full(b.dim_scalar(step), grid)),
                  b.iota({DType::I64, grid}, 1));
  const auto framed = [&](int64_t i) {
    Value* v = take(b, b.convert(part(b, x, i), w), at, 1);  // [batch, frames, length]
    if (!window) return v;
    return mul(b, v, b.broadcast_in_dim(b.convert(window, w), v->type.shape, {2}));
  };
  Value* re = framed(0);
  Value* im = parts == 2 ? framed(1) : nullptr;
  const Dim bins = onesided ? floordiv(length, Dim(2)) + Dim(1) : length;
  return {b.convert(forward(b, re, im, bins, false), t)};
}

Outputs window(NodeContext& n) {
  B& b = n.b;
  const Dim size = n.dim(n.input(0), "size", 0);
  const DType t = n.attr_dtype("output_datatype", DType::F32);
  const bool periodic = n.attr_flag("periodic", true);
  const Dim period = max(periodic ? size : size - Dim(1), Dim(1));
  Value* i = b.iota({DType::F64, {size}}, 0);
  Value* angle = div(b, mul(b, i, 2 * M_PI),
                     b.full(b.convert(b.dim_scalar(period), DType::F64), i->type.shape));
  const auto cosine = [&](double times, double factor) {
    return mul(b, b.unary(Prim::Cos, times == 1 ? angle : mul(b, angle, times)), factor);
  };
  Value* y;
  if (n.op_type() == "HannWindow") {
    y = add(b, cosine(1, -0.5), 0.5);
  } else if (n.op_type() == "HammingWindow") {
    y = add(b, cosine(1, -21.0 / 46), 25.0 / 46);
  } else {
    y = add(b, add(b, cosine(1, -0.5), cosine(2, 0.08)), 0.42);
  }
  return {b.convert(y, t)};
}

Outputs mel_weights(NodeContext& n) {
  B& b = n.b;
  const Dim mels = n.dim(n.input(0), "num_mel_bins", 0);
  const Dim length = n.dim(n.input(1), "dft_length", 0);
  const Dim bins = floordiv(length, Dim(2)) + Dim(1);
  Value* rate = b.convert(one_number(n, n.input(2), "sample_rate"), DType::F64);
  const DType t = n.attr_dtype("output_datatype", DType::F32);
  const double per = 2595 / std::log(10.0);
  const auto edge = [&](int i, const char* what) {
    Value* f = b.convert(one_number(n, n.input(i), what), DType::F64);
    return mul(b, b.unary(Prim::Log1p, mul(b, f, 1 / 700.0)), per);
  };
  Value *low = edge(3, "lower_edge_hertz"), *high = edge(4, "upper_edge_hertz");
  const Shape line = {mels + Dim(2)};
  const auto spread = [&](Value* v) { return b.full(v, line); };
  Value* count = b.convert(b.dim_scalar(mels + Dim(2)), DType::F64);
  Value* step = div(b, sub(b, high, low), count);
  Value* mel = add(b, mul(b, b.iota({DType::F64, line}, 0), spread(step)), spread(low));
  Value* hertz = mul(b, b.unary(Prim::Expm1, mul(b, mel, 1 / per)), 700);
  Value* scaled = mul(b, hertz, spread(b.convert(b.dim_scalar(length + Dim(1)), DType::F64)));
  Value* edges = b.unary(Prim::Floor, div(b, scaled, spread(rate)));
  const Shape grid = {bins, mels};
  const auto at = [&](int64_t i) {
    Value* v = b.slice(edges, {Dim(i)}, {mels + Dim(i)}, {1});
    return b.broadcast_in_dim(v, grid, {1});
  };
  Value *left = at(0), *center = at(1), *right = at(2);
  Value* j = b.iota({DType::F64, grid}, 0);
  const auto both = [&](Value* x, Value* y) { return b.binary(Prim::And, x, y); };
  Value* zero = like(b, j, 0);
  Value *rise = sub(b, center, left), *fall = sub(b, right, center);
  Value* y = zero;
  Value* up = both(b.compare("GE", j, left), b.compare("LE", j, center));
  Value* flat = b.compare("EQ", rise, zero);
  Value* at_center = b.compare("EQ", j, center);
  y = b.select(up, div(b, sub(b, j, left), rise), y);
  y = b.select(flat, b.select(at_center, like(b, j, 1), zero), y);
  Value* down = both(both(b.compare("GE", j, center), b.compare("LT", j, right)),
                     b.compare("GT", fall, zero));
  y = b.select(down, div(b, sub(b, right, j), fall), y);
  return {b.convert(y, t)};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "DFT") return dft(n);
  if (op == "STFT") return stft(n);
  if (op == "MelWeightMatrix") return mel_weights(n);
  return window(n);
}

}  // namespace

extern const OnnxOp onnx_dft;
const OnnxOp onnx_dft = {.names = {{"DFT", {17, 20}},
                                   {"STFT", {17}},
                                   {"MelWeightMatrix", {17}},
                                   {"HannWindow", {17}},
                                   {"HammingWindow", {17}},
                                   {"BlackmanWindow", {17}}},
                         .summary = "Fourier transforms of any length, windows, mel filters.",
                         .convert = convert};

}  // namespace tenfold::onnx
