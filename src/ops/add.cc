// stablehlo.add
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_add;
const OpDef op_add =
    ops::elementwise("stablehlo.add", Prim::Add, ops::kAny, "Sum; logical or of booleans.");

}  // namespace tenfold
