// stablehlo.real_dynamic_slice: slice with start, limit and strides as operands.
#include "ops/_dynamic.h"
#include "ops/_slice.h"

namespace tenfold {
namespace {

// Nothing where an operand is not known from constants and sizes; reported when `diag` is given.
std::optional<ops::SliceBounds> bounds(const Op& op, Diag* diag) {
  const auto get = [&](int i) {
    return diag ? ops::known_shape(op, i, *diag) : ops::shape_value(op.operand(i));
  };
  auto start = get(1), limit = get(2), strides = get(3);
  if (!start || !limit || !strides) return std::nullopt;
  ops::SliceBounds s{*start, *limit, {}};
  for (const Dim& d : *strides) {
    if (d.is_const()) {
      s.stride.push_back(d.value());
    } else if (diag) {
      diag->fail("dynamic", "strides must be constant, found " + d.str());
      return std::nullopt;
    }
  }
  return s;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = ops::type(op, 0);
  const auto s = bounds(op, &diag);
  if (!s) return {op.num_results() ? op.result()->type : x};
  const TensorType t = ops::check_slice(diag, x, *s);
  return diag.ok() ? ops::check_result(op, diag, "C5", t) : std::vector{t};
}

}  // namespace

extern const OpDef op_real_dynamic_slice;
const OpDef op_real_dynamic_slice = {
    .name = "stablehlo.real_dynamic_slice",
    .summary = "slice with bounds given by operands.",
    .kind = OpKind::View,
    .min_operands = 4,
    .max_operands = 4,
    .infer = infer,
    .explicit_results = true,
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      return ops::eval_slice(ctx, ctx.args[1].to_i64s(), ctx.args[2].to_i64s(),
                             ctx.args[3].to_i64s());
    },
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>& index) {
          return ops::element_slice(ctx, *bounds(*ctx.op, nullptr), index);
        },
    .constraints = {"C2", "C3", "C4", "C5", "dynamic"},
};

}  // namespace tenfold
