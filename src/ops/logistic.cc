// stablehlo.logistic
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_logistic;
const OpDef op_logistic = ops::elementwise("stablehlo.logistic", Prim::Logistic,
                                           ops::kFloatOrComplex, "1 / (1 + exp(-x)).");

}  // namespace tenfold
