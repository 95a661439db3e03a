// Counter-based random bits (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011):
// Philox 4x32-10 and Threefry 2x32-20, as plain functions and as loop expressions.
#pragma once

#include <array>

#include "graph/op_def.h"

namespace tenfold {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);
std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> counter, std::array<uint32_t, 2> key);

// The same on U32 expressions; `let` names intermediate values (or returns them as they are where
// no statement can be written).
using Words = std::vector<loop::Expr>;
using Let = std::function<loop::Expr(const loop::Expr&)>;
Words philox(Words counter, Words key, const Let& let);
Words threefry(Words counter, const Words& key, const Let& let);

}  // namespace tenfold
