// stablehlo.log_plus_one
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_log_plus_one;
const OpDef op_log_plus_one =
    ops::elementwise("stablehlo.log_plus_one", Prim::Log1p, ops::kFloatOrComplex,
                     "log(1 + x) without cancellation near 0.");

}  // namespace tenfold
