// tenfold.asinh
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_asinh;
const OpDef op_asinh =
    ops::elementwise("tenfold.asinh", Prim::Asinh, ops::kFloat, "Inverse hyperbolic sine.");

}  // namespace tenfold
