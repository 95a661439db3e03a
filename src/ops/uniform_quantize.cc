// stablehlo.uniform_quantize: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_uniform_quantize;
const OpDef op_uniform_quantize =
    unsupported_op("stablehlo.uniform_quantize", "Converts to a quantized type", kNoQuantizedTypes);

}  // namespace tenfold
