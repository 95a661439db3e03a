// stablehlo.round_nearest_afz
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_round_nearest_afz;
const OpDef op_round_nearest_afz =
    ops::elementwise("stablehlo.round_nearest_afz", Prim::RoundAfz, ops::kFloat,
                     "Rounds to the nearest integer, ties away from zero.");

}  // namespace tenfold
