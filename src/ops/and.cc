// stablehlo.and
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_and;
const OpDef op_and = ops::elementwise("stablehlo.and", Prim::And, ops::kBoolOrInt,
                                      "Bitwise (on booleans logical) and.");

}  // namespace tenfold
