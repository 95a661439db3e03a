// tenfold.acosh
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_acosh;
const OpDef op_acosh =
    ops::elementwise("tenfold.acosh", Prim::Acosh, ops::kFloat, "Inverse hyperbolic cosine.");

}  // namespace tenfold
