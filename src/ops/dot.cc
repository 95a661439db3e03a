// stablehlo.dot: the older form for vectors and matrices.
#include "ops/_dot.h"

namespace tenfold {
namespace {

ops::DotDims dims(const Op& op) { return {{}, {}, {ops::type(op, 0).rank() - 1}, {0}}; }

}  // namespace

extern const OpDef op_dot;
const OpDef op_dot = {
    .name = "stablehlo.dot",
    .summary = "Product of vectors and matrices: last dimension of lhs with the first of rhs.",
    .kind = OpKind::Contraction,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"precision_config", AttrKind::Strs, false}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      for (int i = 0; i < 2; ++i) {
        const TensorType& t = ops::type(op, i);
        if (t.rank() == 1 || t.rank() == 2) continue;
        diag.fail("rank", fmt::format("operand {} is {}, wanted a vector or a matrix", i, t.str()));
      }
      if (!diag.ok()) return {ops::type(op, 0)};
      return ops::infer_dot(op, diag, dims(op));
    },
    .explicit_results = true,
    .eval = [](EvalContext& ctx) { return ops::eval_dot(ctx, dims(*ctx.op)); },
    .emit = [](EmitContext& ctx) { return ops::emit_dot(ctx, dims(*ctx.op)); },
    .constraints = {"rank", "C10", "C12", "C13", "O1"},
};

}  // namespace tenfold
