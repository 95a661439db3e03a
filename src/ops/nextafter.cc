// tenfold.nextafter
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_nextafter;
const OpDef op_nextafter = ops::elementwise("tenfold.nextafter", Prim::NextAfter, ops::kFloat,
                                            "The next value after lhs in the direction of rhs.");

}  // namespace tenfold
