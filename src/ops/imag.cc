// stablehlo.imag
#include "ops/_elementwise.h"

namespace tenfold {

extern const OpDef op_imag;
const OpDef op_imag = ops::elementwise("stablehlo.imag", Prim::Imag, ops::kFloatOrComplex,
                                       "Imaginary part; 0 of a real number.");

}  // namespace tenfold
