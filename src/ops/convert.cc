// stablehlo.convert
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_convert;
const OpDef op_convert = ops::with_scalar(
    {
        .name = "stablehlo.convert",
        .summary = "Converts the element type.",
        .doc = "Float to integer cuts towards zero and saturates, NaN becomes 0; integer to "
               "integer wraps; to a narrower float rounds to nearest even; to boolean is != 0; "
               "complex to real drops the imaginary part.",
        .min_operands = 1,
        .max_operands = 1,
        .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
          const DType to = op.num_results() ? op.result()->type.dtype : ops::type(op, 0).dtype;
          return ops::check_result(op, diag, "C1", {to, ops::type(op, 0).shape});
        },
        .explicit_results = true,
        .constraints = {"C1"},
    },
    [](const Op& op, auto k, auto args) { return k.cast(args[0], op.result()->type.dtype); });

}  // namespace tenfold
