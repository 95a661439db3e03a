// tenfold.asin
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_asin;
const OpDef op_asin = ops::elementwise("tenfold.asin", Prim::Asin, ops::kFloat, "Arc sine.");

}  // namespace tenfold
