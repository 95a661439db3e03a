// stablehlo.constant
#include "ops/_check.h"

namespace tenfold {

extern const OpDef op_constant;
const OpDef op_constant = {
    .name = "stablehlo.constant",
    .summary = "A literal.",
    .kind = OpKind::Constant,
    .max_operands = 0,
    .attrs = {{"value", AttrKind::Lit}},
    .infer = [](const Op& op, Diag&) -> std::vector<TensorType> {
      return {op.lit("value").type()};
    },
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      return ops::one(ctx.op->lit("value"));
    },
    // Splats only; any other constant is data that the pipeline places in memory.
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>&) {
          const Literal& l = ctx.op->lit("value");
          TF_CHECK(l.size() > 0 && l.is_splat(), "element() of a constant that is no splat");
          return ops::const_expr(l, 0);
        },
};

}  // namespace tenfold
