// stablehlo.subtract
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_subtract;
const OpDef op_subtract =
    ops::elementwise("stablehlo.subtract", Prim::Sub, ops::kNumber, "Difference; integers wrap.");

}  // namespace tenfold
