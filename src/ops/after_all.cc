// stablehlo.after_all: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_after_all;
const OpDef op_after_all = unsupported_op("stablehlo.after_all", "Joins tokens", kNoTokens);

}  // namespace tenfold
