// stablehlo.cosine
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_cosine;
const OpDef op_cosine =
    ops::elementwise("stablehlo.cosine", Prim::Cos, ops::kFloatOrComplex, "Cosine.");

}  // namespace tenfold
