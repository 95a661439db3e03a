// stablehlo.remainder
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_remainder;
const OpDef op_remainder =
    ops::elementwise("stablehlo.remainder", Prim::Rem, ops::kNumber,
                     "Remainder of the division that cuts towards zero; sign of lhs.");

}  // namespace tenfold
