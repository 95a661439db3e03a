// tenfold.sinh
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_sinh;
const OpDef op_sinh = ops::elementwise("tenfold.sinh", Prim::Sinh, ops::kFloat, "Hyperbolic sine.");

}  // namespace tenfold
