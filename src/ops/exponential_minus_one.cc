// stablehlo.exponential_minus_one
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_exponential_minus_one;
const OpDef op_exponential_minus_one =
    ops::elementwise("stablehlo.exponential_minus_one", Prim::Expm1, ops::kFloatOrComplex,
                     "exp(x) - 1 without cancellation near 0.");

}  // namespace tenfold
