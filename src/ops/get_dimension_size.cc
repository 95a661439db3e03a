// stablehlo.get_dimension_size
#include "ops/_check.h"

namespace tenfold {

extern const OpDef op_get_dimension_size;
const OpDef op_get_dimension_size = {
    .name = "stablehlo.get_dimension_size",
    .summary = "The size of a dimension as an i32 scalar.",
    .kind = OpKind::Constant,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"dimension", AttrKind::I64}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      ops::check_range(diag, "C1", "dimension", {op.i64("dimension")}, ops::type(op, 0).rank());
      return {{DType::I32, {}}};
    },
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      return ops::one(Literal::scalar_i(DType::I32, ctx.args[0].dims()[ctx.op->i64("dimension")]));
    },
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>&) {
          const Shape& shape = ops::type(*ctx.op, 0).shape;
          return loop::cast(ctx.dim(shape[ctx.op->i64("dimension")]), DType::I32);
        },
    .constraints = {"C1"},
};

}  // namespace tenfold
