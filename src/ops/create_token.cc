// stablehlo.create_token: read, not supported.
#include "ops/unsupported_util.h"

namespace tenfold {

extern const OpDef op_create_token;
const OpDef op_create_token = unsupported_op("stablehlo.create_token", "Makes a token", kNoTokens);

}  // namespace tenfold
