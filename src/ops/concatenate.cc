// stablehlo.concatenate
#include "ops/_view.h"

namespace tenfold {
namespace {

using loop::Expr;
using Index = std::vector<Expr>;

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  if (op.num_operands() == 0) {
    diag.fail("C3", "has no operands, wanted at least one");
    return {TensorType{}};
  }
  TensorType t = ops::type(op, 0);
  const int64_t d = op.i64("dimension");
  if (!ops::check_range(diag, "C4", "dimension", {d}, t.rank())) return {t};
  for (int i = 1; i < op.num_operands(); ++i) {
    const TensorType& x = ops::type(op, i);
    ops::check_dtypes(diag, "C1", "operands", t.dtype, x.dtype);
    if (x.rank() != t.rank()) {
      diag.fail("C2", fmt::format("operands 0 and {} have ranks {} and {}", i, t.rank(), x.rank()));
      continue;
    }
    for (int k = 0; k < t.rank(); ++k) {
      if (k == d) {
        t.shape[k] = t.shape[k] + x.shape[k];
      } else if (!diag.equal(t.shape[k], x.shape[k])) {
        diag.fail("C2", fmt::format("dimension {} of operand {} is {}, wanted {} as before", k, i,
                                    x.shape[k].str(), t.shape[k].str()));
      } else if (x.shape[k].is_const()) {
        t.shape[k] = x.shape[k];
      }
    }
  }
  return {t};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const int64_t d = ctx.op->i64("dimension");
  std::vector<int64_t> dims = ctx.args[0].dims();
  dims[d] = 0;
  for (const Literal& x : ctx.args) {
    std::vector<int64_t> rest = x.dims(), first = ctx.args[0].dims();
    dims[d] += rest[d];
    rest[d] = first[d] = 0;
    TF_TRY(ops::same_dims(ctx, "operands", first, rest));
  }
  Literal out(ctx.args[0].dtype(), dims);
  const std::vector<int64_t> strides = row_major_strides(dims);
  const int size = byte_size(out.dtype());
  int64_t at = 0;
  for (const Literal& x : ctx.args) {
    ops::copy_strided(size, x.dims(), out.mutable_bytes() + at * strides[d] * size, strides,
                      x.bytes(), row_major_strides(x.dims()));
    at += x.dims()[d];
  }
  return ops::one(std::move(out));
}

// Operands lo .. hi-1 by bisection, so that many operands nest only logarithmically.
Expr choose(ElementContext& ctx, const std::vector<std::pair<int, Dim>>& parts, size_t lo,
            size_t hi, const Index& index, int64_t d) {
  if (hi - lo == 1) {
    Index at = index;
    at[d] = index[d] - ctx.dim(parts[lo].second);
    return ctx.operand(parts[lo].first, at);
  }
  const size_t mid = lo + (hi - lo) / 2;
  return loop::guard(loop::lt(index[d], ctx.dim(parts[mid].second)),
                     choose(ctx, parts, lo, mid, index, d), choose(ctx, parts, mid, hi, index, d));
}

Expr element(ElementContext& ctx, const Index& index) {
  const int64_t d = ctx.op->i64("dimension");
  std::vector<std::pair<int, Dim>> parts;  // operand and where it starts
  Dim at = 0;
  for (int i = 0; i < ctx.op->num_operands(); ++i) {
    const Dim& n = ops::type(*ctx.op, i).shape[d];
    if (n.constant() != 0) parts.emplace_back(i, at);
    at = at + n;
  }
  if (parts.empty()) parts.emplace_back(0, 0);
  return choose(ctx, parts, 0, parts.size(), index, d);
}

}  // namespace

extern const OpDef op_concatenate;
const OpDef op_concatenate = {
    .name = "stablehlo.concatenate",
    .summary = "Joins the operands along a dimension.",
    .kind = OpKind::View,
    .attrs = {{"dimension", AttrKind::I64, true, {}, AttrRole::DimIndex}},
    .infer = infer,
    .eval = eval,
    .element = element,
    .guards_operands = true,
    .any_layout = true,
    .constraints = {"C1", "C2", "C3", "C4"},
};

}  // namespace tenfold
