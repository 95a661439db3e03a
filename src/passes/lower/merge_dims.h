// Parameters seen as flatter arrays, where that frees their indices of divisions.
#pragma once

#include <functional>

#include "loop/ir.h"

namespace tenfold {

// A reshape inlined into a kernel leaves quotients and remainders in the indices of what it reads:
// x[i / 14, i % 14, k]. Where neighbouring dimensions of a parameter merge into one index without
// them in every access, x[i, k], the kernel sees the parameter that way: the same bytes, and far
// fewer instructions. `fixed(i)`: parameter i keeps its dimensions.
void merge_dims(loop::Kernel& k, const std::function<bool(int)>& fixed);

}  // namespace tenfold
