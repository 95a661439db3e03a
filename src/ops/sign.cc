// stablehlo.sign
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_sign;
const OpDef op_sign =
    ops::elementwise("stablehlo.sign", Prim::Sign, ops::kSInt | ops::kFloatOrComplex,
                     "-1, 0 or 1; x / abs(x) of complex numbers; keeps -0 and NaN.");

}  // namespace tenfold
