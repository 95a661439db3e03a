// stablehlo.infeed: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_infeed;
const OpDef op_infeed = unsupported_op("stablehlo.infeed", "Reads from the infeed", kNoTokens);

}  // namespace tenfold
