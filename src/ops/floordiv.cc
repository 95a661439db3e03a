// tenfold.floordiv
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_floordiv;
const OpDef op_floordiv = ops::elementwise("tenfold.floordiv", Prim::FloorDiv,
                                           ops::kInt | ops::kFloat, "Quotient rounded down.");

}  // namespace tenfold
