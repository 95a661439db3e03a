// stablehlo.round_nearest_even
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_round_nearest_even;
const OpDef op_round_nearest_even =
    ops::elementwise("stablehlo.round_nearest_even", Prim::RoundEven, ops::kFloat,
                     "Rounds to the nearest integer, ties to even.");

}  // namespace tenfold
