// stablehlo.sqrt
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_sqrt;
const OpDef op_sqrt =
    ops::elementwise("stablehlo.sqrt", Prim::Sqrt, ops::kFloatOrComplex, "Square root.");

}  // namespace tenfold
