// stablehlo.slice; the bounds may be symbolic.
#include "ops/_slice.h"

namespace tenfold {
namespace {

ops::SliceBounds bounds(const Op& op) {
  return {op.dims("start_indices"), op.dims("limit_indices"), op.i64s("strides")};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  std::vector<int64_t> start, limit;
  for (const Dim& d : ctx.op->dims("start_indices")) start.push_back(ctx.dim(d));
  for (const Dim& d : ctx.op->dims("limit_indices")) limit.push_back(ctx.dim(d));
  return ops::eval_slice(ctx, start, limit, ctx.op->i64s("strides"));
}

}  // namespace

extern const OpDef op_slice;
const OpDef op_slice = {
    .name = "stablehlo.slice",
    .summary = "Elements from start to limit (exclusive) by strides.",
    .kind = OpKind::View,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"start_indices", AttrKind::Dims, true, {}, AttrRole::PerDim},
              {"limit_indices", AttrKind::Dims, true, {}, AttrRole::PerDim},
              {"strides", AttrKind::I64s, true, {}, AttrRole::PerDim}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      return {ops::check_slice(diag, ops::type(op, 0), bounds(op))};
    },
    .eval = eval,
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>& index) {
          return ops::element_slice(ctx, bounds(*ctx.op), index);
        },
    .any_layout = true,
    .constraints = {"C2", "C3", "C4"},
};

}  // namespace tenfold
