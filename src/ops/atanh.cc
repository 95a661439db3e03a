// tenfold.atanh
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_atanh;
const OpDef op_atanh =
    ops::elementwise("tenfold.atanh", Prim::Atanh, ops::kFloat, "Inverse hyperbolic tangent.");

}  // namespace tenfold
