// tenfold.is_inf
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_is_inf;
const OpDef op_is_inf =
    ops::elementwise("tenfold.is_inf", Prim::IsInf, ops::kFloat, "True for both infinities.");

}  // namespace tenfold
