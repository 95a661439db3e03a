// stablehlo.divide
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_divide;
const OpDef op_divide = ops::elementwise("stablehlo.divide", Prim::Div, ops::kNumber,
                                         "Quotient; integers cut towards zero.");

}  // namespace tenfold
