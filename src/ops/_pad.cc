// See _pad.h.
#include "ops/_pad.h"

#include <algorithm>

namespace tenfold::ops {
namespace {

// Extent of a dimension of `n` with `k` pad elements between neighbours.
Dim spread(const Dim& n, int64_t k) { return k == 0 ? n : n + max(n - 1, 0) * k; }

}  // namespace

TensorType check_pad(Diag& diag, const TensorType& x, const TensorType& value,
                     const PadAmounts& p) {
  const auto rank = static_cast<int64_t>(x.rank());
  check_dtypes(diag, "C1", "operand and padding_value", x.dtype, value.dtype);
  if (value.rank() != 0) {
    diag.fail("I2", fmt::format("padding_value is {}, wanted a scalar", value.str()));
  }
  if (!check_size(diag, "C2", "edge_padding_low", static_cast<int64_t>(p.low.size()), rank) ||
      !check_size(diag, "C2", "edge_padding_high", static_cast<int64_t>(p.high.size()), rank) ||
      !check_size(diag, "C2", "interior_padding", static_cast<int64_t>(p.interior.size()), rank)) {
    return x;
  }
  TensorType t{x.dtype, {}};
  for (int64_t i = 0; i < rank; ++i) {
    if (p.interior[i] < 0) {
      diag.fail("C3", fmt::format("interior_padding of dimension {} is {}, wanted at least 0", i,
                                  p.interior[i]));
      t.shape.push_back(x.shape[i]);
      continue;
    }
    Dim n = spread(x.shape[i], p.interior[i]) + p.low[i] + p.high[i];
    if (!diag.at_most(0, n)) {
      diag.fail("C4", fmt::format("dimension {} of the result would have the size {}", i, n.str()));
      n = 0;
    }
    t.shape.push_back(std::move(n));
  }
  return t;
}

Result<std::vector<Literal>> eval_pad(EvalContext& ctx, const std::vector<int64_t>& low,
                                      const std::vector<int64_t>& high,
                                      const std::vector<int64_t>& interior) {
  const Literal& x = ctx.args[0];
  const size_t rank = x.dims().size();
  std::vector<int64_t> dims(rank), count(rank), first(rank), start(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t n = x.dims()[i], step = interior[i] + 1;
    dims[i] = (n == 0 ? 0 : (n - 1) * step + 1) + low[i] + high[i];
    if (dims[i] < 0) {
      return ctx.error(
          "pad-size", fmt::format("dimension {} of the result would have the size {}", i, dims[i]));
    }
    // Operand elements first .. first + count - 1 land inside, the first at `start`.
    first[i] = low[i] >= 0 ? 0 : (-low[i] + step - 1) / step;
    start[i] = first[i] * step + low[i];
    const int64_t fit = start[i] < dims[i] ? (dims[i] - 1 - start[i]) / step + 1 : 0;
    count[i] = std::clamp<int64_t>(n - first[i], 0, fit);
  }
  Literal out = filled(ctx.args[1], dims);
  if (std::find(count.begin(), count.end(), 0) != count.end()) return one(std::move(out));
  const std::vector<int64_t> is = row_major_strides(x.dims());
  std::vector<int64_t> os = row_major_strides(dims);
  int64_t from = 0, to = 0;
  for (size_t i = 0; i < rank; ++i) {
    from += first[i] * is[i];
    to += start[i] * os[i];
    os[i] *= interior[i] + 1;
  }
  const int size = byte_size(x.dtype());
  copy_strided(size, count, out.mutable_bytes() + to * size, os, x.bytes() + from * size, is);
  return one(std::move(out));
}

loop::Expr element_pad(ElementContext& ctx, const PadAmounts& p,
                       const std::vector<loop::Expr>& index) {
  const Shape& shape = type(*ctx.op, 0).shape;
  std::vector<loop::Expr> at;
  loop::Expr inside = loop::bool_const(true);
  const auto require = [&](const loop::Expr& c) { inside = loop::logical_and(inside, c); };
  for (size_t i = 0; i < index.size(); ++i) {
    loop::Expr x = index[i] - ctx.dim(p.low[i]);
    if (less_equal(p.low[i], 0) != Truth::Yes) require(loop::ge(x, loop::int_const(0)));
    if (less_equal(p.high[i], 0) != Truth::Yes || less_equal(1, shape[i]) != Truth::Yes) {
      require(loop::lt(x, ctx.dim(spread(shape[i], p.interior[i]))));
    }
    if (p.interior[i] > 0) {
      const loop::Expr step = loop::int_const(p.interior[i] + 1);
      require(loop::eq(loop::imod(x, step), loop::int_const(0)));
      x = loop::idiv(x, step);
    }
    at.push_back(x);
  }
  return loop::guard(inside, ctx.operand(0, at), ctx.operand(1, {}));
}

}  // namespace tenfold::ops
