// stablehlo.maximum
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_maximum;
const OpDef op_maximum = ops::elementwise("stablehlo.maximum", Prim::Max, ops::kAny,
                                          "The greater; NaN if either is; logical or of booleans.");

}  // namespace tenfold
