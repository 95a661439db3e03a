// stablehlo.dynamic_pad: pad with amounts as operands.
#include "ops/_dynamic.h"
#include "ops/_pad.h"

namespace tenfold {
namespace {

// Nothing where an operand is not known from constants and sizes; reported when `diag` is given.
std::optional<ops::PadAmounts> amounts(const Op& op, Diag* diag) {
  const auto get = [&](int i) {
    return diag ? ops::known_shape(op, i, *diag) : ops::shape_value(op.operand(i));
  };
  auto low = get(2), high = get(3), interior = get(4);
  if (!low || !high || !interior) return std::nullopt;
  ops::PadAmounts p{*low, *high, {}};
  for (const Dim& d : *interior) {
    if (d.is_const()) {
      p.interior.push_back(d.value());
    } else if (diag) {
      diag->fail("dynamic", "interior_padding must be constant, found " + d.str());
      return std::nullopt;
    }
  }
  return p;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = ops::type(op, 0);
  const auto p = amounts(op, &diag);
  if (!p) return {op.num_results() ? op.result()->type : x};
  const TensorType t = ops::check_pad(diag, x, ops::type(op, 1), *p);
  return diag.ok() ? ops::check_result(op, diag, "C4", t) : std::vector{t};
}

}  // namespace

extern const OpDef op_dynamic_pad;
const OpDef op_dynamic_pad = {
    .name = "stablehlo.dynamic_pad",
    .summary = "pad with amounts given by operands.",
    .kind = OpKind::View,
    .min_operands = 5,
    .max_operands = 5,
    .infer = infer,
    .explicit_results = true,
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      return ops::eval_pad(ctx, ctx.args[2].to_i64s(), ctx.args[3].to_i64s(),
                           ctx.args[4].to_i64s());
    },
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>& index) {
          return ops::element_pad(ctx, *amounts(*ctx.op, nullptr), index);
        },
    .guards_operands = true,
    .constraints = {"I2", "C1", "C2", "C3", "C4", "dynamic"},
};

}  // namespace tenfold
