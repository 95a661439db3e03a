// tenfold.is_nan
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_is_nan;
const OpDef op_is_nan =
    ops::elementwise("tenfold.is_nan", Prim::IsNan, ops::kFloat, "True for NaN.");

}  // namespace tenfold
