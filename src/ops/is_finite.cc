// stablehlo.is_finite
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_is_finite;
const OpDef op_is_finite = ops::elementwise("stablehlo.is_finite", Prim::IsFinite, ops::kFloat,
                                            "True unless infinite or NaN.");

}  // namespace tenfold
