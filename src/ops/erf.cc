// tenfold.erf
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_erf;
const OpDef op_erf = ops::elementwise("tenfold.erf", Prim::Erf, ops::kFloat, "Error function.");

}  // namespace tenfold
