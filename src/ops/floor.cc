// stablehlo.floor
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_floor;
const OpDef op_floor = ops::elementwise("stablehlo.floor", Prim::Floor, ops::kFloat,
                                        "Rounds towards negative infinity.");

}  // namespace tenfold
