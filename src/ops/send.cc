// stablehlo.send: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_send;
const OpDef op_send = unsupported_op("stablehlo.send", "Sends to a channel", kNoTokens);

}  // namespace tenfold
