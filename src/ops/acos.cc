// tenfold.acos
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_acos;
const OpDef op_acos = ops::elementwise("tenfold.acos", Prim::Acos, ops::kFloat, "Arc cosine.");

}  // namespace tenfold
