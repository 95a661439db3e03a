// stablehlo.exponential
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_exponential;
const OpDef op_exponential =
    ops::elementwise("stablehlo.exponential", Prim::Exp, ops::kFloatOrComplex, "Exponential.");

}  // namespace tenfold
