// stablehlo.reshape
#include "ops/_reshape.h"

namespace tenfold {

extern const OpDef op_reshape;
const OpDef op_reshape = {
    .name = "stablehlo.reshape",
    .summary = "The same elements in row-major order under another shape.",
    .kind = OpKind::View,
    .min_operands = 1,
    .max_operands = 1,
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      if (op.num_results() == 0) return {ops::type(op, 0)};
      const TensorType& t = op.result()->type;
      ops::check_dtypes(diag, "C1", "operand and result", ops::type(op, 0).dtype, t.dtype);
      ops::check_reshape(op, diag, t.shape, "C2");
      return {t};
    },
    .explicit_results = true,
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      return ops::eval_reshape(ctx, ctx.shape(ctx.op->result()->type));
    },
    .element = ops::element_reshape,
    .forward = ops::forward_reshape,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
