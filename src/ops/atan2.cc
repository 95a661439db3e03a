// stablehlo.atan2
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_atan2;
const OpDef op_atan2 = ops::elementwise("stablehlo.atan2", Prim::Atan2, ops::kFloatOrComplex,
                                        "Angle of the point (rhs, lhs).");

}  // namespace tenfold
