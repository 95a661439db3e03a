// stablehlo.rsqrt
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_rsqrt;
const OpDef op_rsqrt =
    ops::elementwise("stablehlo.rsqrt", Prim::Rsqrt, ops::kFloatOrComplex, "1 / sqrt(x).");

}  // namespace tenfold
