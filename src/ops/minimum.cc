// stablehlo.minimum
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_minimum;
const OpDef op_minimum =
    ops::elementwise("stablehlo.minimum", Prim::Min, ops::kAny,
                     "The smaller; NaN if either is; logical and of booleans.");

}  // namespace tenfold
