// Primitives on complex numbers.
#pragma once

#include "backends/cpu/gen.h"

namespace tenfold::cpu {
Val complex_prim(Gen& g, Prim p, DType t, const std::vector<Val>& args);
}  // namespace tenfold::cpu
