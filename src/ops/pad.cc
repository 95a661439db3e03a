// stablehlo.pad; edge amounts may be symbolic and negative (then they cut).
#include "ops/_pad.h"

namespace tenfold {
namespace {

ops::PadAmounts amounts(const Op& op) {
  return {op.dims("edge_padding_low"), op.dims("edge_padding_high"), op.i64s("interior_padding")};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  std::vector<int64_t> low, high;
  for (const Dim& d : ctx.op->dims("edge_padding_low")) low.push_back(ctx.dim(d));
  for (const Dim& d : ctx.op->dims("edge_padding_high")) high.push_back(ctx.dim(d));
  return ops::eval_pad(ctx, low, high, ctx.op->i64s("interior_padding"));
}

}  // namespace

extern const OpDef op_pad;
const OpDef op_pad = {
    .name = "stablehlo.pad",
    .summary = "Surrounds the operand with a value, and puts it between elements.",
    .doc = "Negative edge amounts cut elements off, after the interior padding.",
    .kind = OpKind::View,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"edge_padding_low", AttrKind::Dims, true, {}, AttrRole::PerDim},
              {"edge_padding_high", AttrKind::Dims, true, {}, AttrRole::PerDim},
              {"interior_padding", AttrKind::I64s, true, {}, AttrRole::PerDim}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      return {ops::check_pad(diag, ops::type(op, 0), ops::type(op, 1), amounts(op))};
    },
    .eval = eval,
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>& index) {
          return ops::element_pad(ctx, amounts(*ctx.op), index);
        },
    .guards_operands = true,
    .any_layout = true,
    .constraints = {"I2", "C1", "C2", "C3", "C4"},
};

}  // namespace tenfold
