// stablehlo.sine
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_sine;
const OpDef op_sine = ops::elementwise("stablehlo.sine", Prim::Sin, ops::kFloatOrComplex, "Sine.");

}  // namespace tenfold
