// stablehlo.tanh
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_tanh;
const OpDef op_tanh =
    ops::elementwise("stablehlo.tanh", Prim::Tanh, ops::kFloatOrComplex, "Hyperbolic tangent.");

}  // namespace tenfold
