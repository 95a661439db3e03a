// tenfold.lgamma
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_lgamma;
const OpDef op_lgamma = ops::elementwise("tenfold.lgamma", Prim::Lgamma, ops::kFloat,
                                         "Logarithm of the absolute value of the gamma function.");

}  // namespace tenfold
