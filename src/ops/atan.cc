// tenfold.atan
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_atan;
const OpDef op_atan = ops::elementwise("tenfold.atan", Prim::Atan, ops::kFloat, "Arc tangent.");

}  // namespace tenfold
