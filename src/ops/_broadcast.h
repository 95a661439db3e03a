// broadcast_in_dim and its dynamic form share everything but where the result's shape comes from.
#pragma once

#include "ops/_view.h"

namespace tenfold::ops {

inline void check_broadcast(const Op& op, Diag& diag, const Shape& result) {
  const Shape& from = type(op, 0).shape;
  const auto& bd = op.i64s("broadcast_dimensions");
  if (!check_size(diag, "C2", "broadcast_dimensions", static_cast<int64_t>(bd.size()),
                  static_cast<int64_t>(from.size())) ||
      !check_range(diag, "C3", "broadcast_dimensions", bd, static_cast<int64_t>(result.size())) ||
      !check_unique(diag, "C4", "broadcast_dimensions", bd)) {
    return;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    const Dim& want = result[bd[i]];
    if (diag.equal_or_one(from[i], want)) continue;
    diag.fail("C5", fmt::format("dimension {} of the operand is {}, wanted 1 or {}, the size of "
                                "dimension {} of the result",
                                i, from[i].str(), want.str(), bd[i]));
  }
}

inline Result<std::vector<Literal>> eval_broadcast(EvalContext& ctx, std::vector<int64_t> dims) {
  const Literal& x = ctx.args[0];
  const auto& bd = ctx.op->i64s("broadcast_dimensions");
  const std::vector<int64_t> from = row_major_strides(x.dims());
  std::vector<int64_t> strides(dims.size(), 0);
  for (size_t i = 0; i < bd.size(); ++i) {
    if (x.dims()[i] != 1 && x.dims()[i] != dims[bd[i]]) {
      return ctx.error("shape-mismatch", fmt::format("operand {} does not broadcast to {}",
                                                     str(x.dims()), str(dims)));
    }
    if (x.dims()[i] != 1) strides[bd[i]] = from[i];
  }
  return one(gather_strided(x, std::move(dims), 0, strides));
}

inline loop::Expr element_broadcast(ElementContext& ctx, const std::vector<loop::Expr>& index) {
  const Shape &from = type(*ctx.op, 0).shape, &to = ctx.op->result()->type.shape;
  const auto& bd = ctx.op->i64s("broadcast_dimensions");
  std::vector<loop::Expr> at;
  for (size_t i = 0; i < from.size(); ++i) {
    const loop::Expr& x = index[bd[i]];
    switch (equal(from[i], 1)) {
      case Truth::Yes:
        at.push_back(loop::int_const(0));
        break;
      case Truth::No:
        at.push_back(x);
        break;
      case Truth::Unknown:
        if (equal(from[i], to[bd[i]]) == Truth::Yes) {
          at.push_back(x);
        } else {  // 1 or the result's size, known only at run time
          at.push_back(loop::imin(x, ctx.dim(from[i]) - 1));
        }
    }
  }
  return ctx.operand(0, at);
}

}  // namespace tenfold::ops
