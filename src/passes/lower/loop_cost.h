// Work of a kernel, counted from its loop nests.
#pragma once

#include <vector>

#include "loop/ir.h"

namespace tenfold {

struct LoopCost {
  loop::Expr flops;   // float arithmetic operations (a multiply-add is two)
  loop::Expr weight;  // scalar operations of any kind, transcendental ones counted by their price
  loop::Expr bytes;   // elements stored and loaded from parameters, in bytes, without caches
};

// `body` runs under the kernel's `symbols`; all three are expressions of these only.
LoopCost cost_of(const loop::Body& body, const std::vector<loop::Var>& symbols);

// The statements of `k` that run as one phase each: every top-level Parallel loop, and every run of
// other statements between them that does something. Half-open ranges into k.body; never none, so
// that a kernel without elements is a function too. Backends make their phases by the same rule.
std::vector<std::pair<int, int>> phases(const loop::Kernel& k);

}  // namespace tenfold
