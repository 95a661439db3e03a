// stablehlo.outfeed: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_outfeed;
const OpDef op_outfeed = unsupported_op("stablehlo.outfeed", "Writes to the outfeed", kNoTokens);

}  // namespace tenfold
