// stablehlo.cbrt
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_cbrt;
const OpDef op_cbrt =
    ops::elementwise("stablehlo.cbrt", Prim::Cbrt, ops::kFloatOrComplex, "Cube root.");

}  // namespace tenfold
