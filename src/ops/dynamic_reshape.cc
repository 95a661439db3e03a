// stablehlo.dynamic_reshape
#include "ops/_dynamic.h"
#include "ops/_reshape.h"

namespace tenfold {

extern const OpDef op_dynamic_reshape;
const OpDef op_dynamic_reshape = {
    .name = "stablehlo.dynamic_reshape",
    .summary = "reshape to a shape given by an operand.",
    .kind = OpKind::View,
    .min_operands = 2,
    .max_operands = 2,
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      auto types = ops::shaped_result(op, 1, diag, "C4");
      ops::check_dtypes(diag, "C1", "operand and result", ops::type(op, 0).dtype, types[0].dtype);
      ops::check_reshape(op, diag, types[0].shape, "C2");
      return types;
    },
    .explicit_results = true,
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      TF_ASSIGN(auto dims, ops::shaped_result(ctx, 1));
      return ops::eval_reshape(ctx, std::move(dims));
    },
    .element = ops::element_reshape,
    .constraints = {"C1", "C2", "C4", "dynamic"},
};

}  // namespace tenfold
