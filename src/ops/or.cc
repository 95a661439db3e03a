// stablehlo.or
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_or;
const OpDef op_or = ops::elementwise("stablehlo.or", Prim::Or, ops::kBoolOrInt,
                                     "Bitwise (on booleans logical) or.");

}  // namespace tenfold
