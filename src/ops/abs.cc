// stablehlo.abs
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_abs;
const OpDef op_abs = ops::elementwise("stablehlo.abs", Prim::Abs, ops::kSInt | ops::kFloatOrComplex,
                                      "Absolute value; the modulus of a complex number.");

}  // namespace tenfold
