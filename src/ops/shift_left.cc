// stablehlo.shift_left
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_shift_left;
const OpDef op_shift_left =
    ops::elementwise("stablehlo.shift_left", Prim::Shl, ops::kInt,
                     "Shifts bits up; 0 when the amount is the width or more.");

}  // namespace tenfold
