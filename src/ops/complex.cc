// stablehlo.complex
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_complex;
const OpDef op_complex = ops::elementwise("stablehlo.complex", Prim::Complex, ops::kFloat,
                                          "Complex number from its real and imaginary parts.");

}  // namespace tenfold
