// tenfold.cosh
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_cosh;
const OpDef op_cosh =
    ops::elementwise("tenfold.cosh", Prim::Cosh, ops::kFloat, "Hyperbolic cosine.");

}  // namespace tenfold
