// tenfold.floormod
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_floormod;
const OpDef op_floormod =
    ops::elementwise("tenfold.floormod", Prim::FloorMod, ops::kInt | ops::kFloat,
                     "Remainder of the division that rounds down; sign of rhs.");

}  // namespace tenfold
