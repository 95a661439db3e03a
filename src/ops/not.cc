// stablehlo.not
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_not;
const OpDef op_not = ops::elementwise("stablehlo.not", Prim::Not, ops::kBoolOrInt,
                                      "Bitwise (on booleans logical) not.");

}  // namespace tenfold
