// The dynamic_* ops, which files from outside use: sizes come as tensors. Tenfold takes them where
// constants and dimension sizes decide those tensors (shape_value), so that every shape is known
// from the types; other sizes must be bound by tenfold.bind_symbol.
#pragma once

#include "ops/_view.h"

namespace tenfold::ops {

// The stated result, refined by the shape that operand `i` says where that is known. Fails with
// "dynamic" when neither says it, with `label` when they disagree.
inline std::vector<TensorType> shaped_result(const Op& op, int i, Diag& diag,
                                             std::string_view label) {
  const TensorType& sizes = type(op, i);
  if (op.num_results() == 0) return {TensorType{}};
  TensorType t = op.result()->type;
  if (sizes.rank() != 1 || !is_integer(sizes.dtype) || !diag.equal(sizes.shape[0], t.rank())) {
    diag.fail(label, fmt::format("operand {} is {}, wanted {} integers for a result of {}", i,
                                 sizes.str(), t.rank(), t.str()));
    return {t};
  }
  if (auto s = shape_value(op.operand(i))) {
    if (check_shapes(diag, label, "the result and its size operand", t.shape, *s)) {
      t.shape = merge(*s, t.shape);
    }
  } else if (!t.is_static()) {
    (void)known_shape(op, i, diag);
  }
  return {t};
}

// The result's shape at run time, held against what operand `i` says.
inline Result<std::vector<int64_t>> shaped_result(EvalContext& ctx, int i) {
  std::vector<int64_t> dims = ctx.args[i].to_i64s();
  TF_TRY(
      same_dims(ctx, "the result and its size operand", ctx.shape(ctx.op->result()->type), dims));
  return dims;
}

}  // namespace tenfold::ops
