// stablehlo.tan
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_tan;
const OpDef op_tan = ops::elementwise("stablehlo.tan", Prim::Tan, ops::kFloatOrComplex, "Tangent.");

}  // namespace tenfold
