// stablehlo.popcnt
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_popcnt;
const OpDef op_popcnt =
    ops::elementwise("stablehlo.popcnt", Prim::Popcnt, ops::kInt, "Number of set bits.");

}  // namespace tenfold
