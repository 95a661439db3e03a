// See _reshape.h.
#include "ops/_reshape.h"

namespace tenfold::ops {

using loop::Expr;

std::vector<Expr> reshape_index(const Shape& from, const Shape& to, const std::vector<Expr>& index,
                                const std::function<Expr(const Dim&)>& dim) {
  std::vector<Expr> out(to.size(), loop::int_const(0));
  const auto is = [](const Dim& d, int64_t v) { return d.constant() == v; };
  for (const Shape* s : {&from, &to}) {
    for (const Dim& d : *s) {
      if (is(d, 0)) return out;  // no elements: never evaluated
    }
  }
  // Dimensions of size 1 have index 0 on either side and take no part.
  std::vector<size_t> a, b;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!is(from[i], 1)) a.push_back(i);
  }
  for (size_t i = 0; i < to.size(); ++i) {
    if (!is(to[i], 1)) b.push_back(i);
  }
  // The shortest runs of both with the same product, from the left; each is independent.
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    size_t ie = 0, je = 0;
    Dim pa = 1;
    for (size_t x = i; x < a.size() && !ie; ++x) {
      pa = pa * from[a[x]];
      Dim pb = 1;
      for (size_t y = j; y < b.size(); ++y) {
        pb = pb * to[b[y]];
        if (pa == pb) {
          ie = x + 1, je = y + 1;
          break;
        }
        if (pa.is_const() && pb.is_const() && pb.value() > pa.value()) break;
      }
    }
    if (!ie) ie = a.size(), je = b.size();  // not provable from the expressions: all the rest
    Expr linear = index[a[i]];
    for (size_t x = i + 1; x < ie; ++x) linear = linear * dim(from[a[x]]) + index[a[x]];
    for (size_t y = je; y-- > j;) {
      if (y == j) {
        out[b[y]] = linear;
      } else {
        const Expr n = dim(to[b[y]]);
        out[b[y]] = loop::imod(linear, n);
        linear = loop::idiv(linear, n);
      }
    }
    i = ie, j = je;
  }
  return out;
}

void check_reshape(const Op& op, Diag& diag, const Shape& to, std::string_view label) {
  const Shape& from = type(op, 0).shape;
  if (!diag.equal(product(from), product(to))) {
    diag.fail(label, fmt::format("operand {} has {} elements, result {} has {}", str(from),
                                 product(from).str(), str(to), product(to).str()));
  }
}

Expr element_reshape(ElementContext& ctx, const std::vector<Expr>& index) {
  return ctx.operand(0, reshape_index(ctx.op->result()->type.shape, type(*ctx.op, 0).shape, index,
                                      [&](const Dim& d) { return ctx.dim(d); }));
}

std::vector<Expr> forward_reshape(ElementContext& ctx, const std::vector<Expr>& index) {
  return reshape_index(type(*ctx.op, 0).shape, ctx.op->result()->type.shape, index,
                       [&](const Dim& d) { return ctx.dim(d); });
}

Result<std::vector<Literal>> eval_reshape(EvalContext& ctx, std::vector<int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  if (n != ctx.args[0].size()) {
    return ctx.error("shape-mismatch",
                     fmt::format("{} does not reshape to {}", str(ctx.args[0].dims()), str(dims)));
  }
  return one(ctx.args[0].reshaped(std::move(dims)));
}

}  // namespace tenfold::ops
