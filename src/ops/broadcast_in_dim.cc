// stablehlo.broadcast_in_dim
#include "ops/_broadcast.h"

namespace tenfold {

extern const OpDef op_broadcast_in_dim;
const OpDef op_broadcast_in_dim = {
    .name = "stablehlo.broadcast_in_dim",
    .summary = "Repeats the operand along new dimensions and those of size 1.",
    .kind = OpKind::View,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"broadcast_dimensions", AttrKind::I64s, true,
               "the result's dimension of each operand dimension"}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      if (op.num_results() == 0) return {ops::type(op, 0)};
      const TensorType& t = op.result()->type;
      ops::check_dtypes(diag, "C1", "operand and result", ops::type(op, 0).dtype, t.dtype);
      ops::check_broadcast(op, diag, t.shape);
      return {t};
    },
    .explicit_results = true,
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      return ops::eval_broadcast(ctx, ctx.shape(ctx.op->result()->type));
    },
    .element = ops::element_broadcast,
    .constraints = {"C1", "C2", "C3", "C4", "C5"},
};

}  // namespace tenfold
