// stablehlo.shift_right_logical
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_shift_right_logical;
const OpDef op_shift_right_logical =
    ops::elementwise("stablehlo.shift_right_logical", Prim::ShrL, ops::kInt,
                     "Shifts bits down, filling with zeros.");

}  // namespace tenfold
