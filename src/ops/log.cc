// stablehlo.log
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_log;
const OpDef op_log =
    ops::elementwise("stablehlo.log", Prim::Log, ops::kFloatOrComplex, "Natural logarithm.");

}  // namespace tenfold
