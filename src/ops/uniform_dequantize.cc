// stablehlo.uniform_dequantize: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_uniform_dequantize;
const OpDef op_uniform_dequantize = unsupported_op(
    "stablehlo.uniform_dequantize", "Converts from a quantized type", kNoQuantizedTypes);

}  // namespace tenfold
