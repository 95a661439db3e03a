// stablehlo.recv: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_recv;
const OpDef op_recv = unsupported_op("stablehlo.recv", "Receives from a channel", kNoTokens);

}  // namespace tenfold
