// stablehlo.select: the predicate is a scalar or of the operands' shape.
#include "ops/_elementwise.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &pred = ops::type(op, 0), &x = ops::type(op, 1), &y = ops::type(op, 2);
  ops::check_type(op, 0, ops::kBool, diag);
  if (pred.rank() > 0) ops::check_shapes(diag, "C1", "pred and on_true", pred.shape, x.shape);
  ops::check_dtypes(diag, "C2", "on_true and on_false", x.dtype, y.dtype);
  if (!ops::check_shapes(diag, "C2", "on_true and on_false", x.shape, y.shape)) return {x};
  return {{x.dtype, ops::merge(x.shape, y.shape)}};
}

}  // namespace

extern const OpDef op_select;
const OpDef op_select = ops::with_scalar(
    {
        .name = "stablehlo.select",
        .summary = "pred ? on_true : on_false.",
        .min_operands = 3,
        .max_operands = 3,
        .infer = infer,
        .constraints = {"I1", "C1", "C2"},
    },
    [](const Op&, auto k, auto args) { return k.op(Prim::Select, {args[0], args[1], args[2]}); });

}  // namespace tenfold
