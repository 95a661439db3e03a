// stablehlo.shift_right_arithmetic
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_shift_right_arithmetic;
const OpDef op_shift_right_arithmetic =
    ops::elementwise("stablehlo.shift_right_arithmetic", Prim::ShrA, ops::kInt,
                     "Shifts bits down, keeping the sign.");

}  // namespace tenfold
