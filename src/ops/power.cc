// stablehlo.power
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_power;
const OpDef op_power =
    ops::elementwise("stablehlo.power", Prim::Pow, ops::kNumber, "lhs to the power of rhs.");

}  // namespace tenfold
