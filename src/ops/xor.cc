// stablehlo.xor
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_xor;
const OpDef op_xor = ops::elementwise("stablehlo.xor", Prim::Xor, ops::kBoolOrInt,
                                      "Bitwise (on booleans logical) exclusive or.");

}  // namespace tenfold
