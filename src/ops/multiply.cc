// stablehlo.multiply
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_multiply;
const OpDef op_multiply = ops::elementwise("stablehlo.multiply", Prim::Mul, ops::kAny,
                                           "Product; logical and of booleans.");

}  // namespace tenfold
