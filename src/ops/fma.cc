// tenfold.fma
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_fma;
const OpDef op_fma =
    ops::elementwise("tenfold.fma", Prim::Fma, ops::kFloat, "a * b + c rounded once.");

}  // namespace tenfold
