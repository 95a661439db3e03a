// stablehlo.clamp: min and max are scalars or of the operand's shape.
#include "ops/_elementwise.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &lo = ops::type(op, 0), &x = ops::type(op, 1), &hi = ops::type(op, 2);
  if (lo.rank() > 0) ops::check_shapes(diag, "C1", "min and operand", lo.shape, x.shape);
  if (hi.rank() > 0) ops::check_shapes(diag, "C2", "max and operand", hi.shape, x.shape);
  ops::check_dtypes(diag, "C3", "min and operand", lo.dtype, x.dtype);
  ops::check_dtypes(diag, "C3", "max and operand", hi.dtype, x.dtype);
  if (!supports(Prim::Max, x.dtype)) {
    diag.fail("unsupported",
              fmt::format("is not implemented on element type {}; convert first", name(x.dtype)));
  }
  return {x};
}

}  // namespace

extern const OpDef op_clamp;
const OpDef op_clamp = ops::with_scalar(
    {
        .name = "stablehlo.clamp",
        .summary = "min(max(operand, lower), upper); NaN if any of them is.",
        .min_operands = 3,
        .max_operands = 3,
        .infer = infer,
        .constraints = {"C1", "C2", "C3"},
    },
    [](const Op&, auto k, auto args) {
      return k.op(Prim::Min, {k.op(Prim::Max, {args[1], args[0]}), args[2]});
    });

}  // namespace tenfold
