// stablehlo.ceil
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_ceil;
const OpDef op_ceil = ops::elementwise("stablehlo.ceil", Prim::Ceil, ops::kFloat,
                                       "Rounds towards positive infinity.");

}  // namespace tenfold
