// stablehlo.count_leading_zeros
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_count_leading_zeros;
const OpDef op_count_leading_zeros =
    ops::elementwise("stablehlo.count_leading_zeros", Prim::Clz, ops::kInt,
                     "Number of zero bits above the highest set bit.");

}  // namespace tenfold
