// stablehlo.negate
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_negate;
const OpDef op_negate =
    ops::elementwise("stablehlo.negate", Prim::Neg, ops::kNumber, "Negation; integers wrap.");

}  // namespace tenfold
