// stablehlo.real
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_real;
const OpDef op_real = ops::elementwise("stablehlo.real", Prim::Real, ops::kFloatOrComplex,
                                       "Real part; a real number itself.");

}  // namespace tenfold
