// Gives a kernel its vector, register and thread structure, by schedule primitives only.
#pragma once

#include "loop/machine.h"
#include "passes/lower/emit_kernel.h"

namespace tenfold {

// A parameter the schedule wants in another layout; for constants the program builder repacks the
// literal, once, at compile time. The new layout splits dimension `dim` into blocks of `block`
// (zero-padded), blocks outermost, then the other dimensions in the order `order`, then the block.
struct Repack {
  int param = -1;
  int dim = 0;
  int64_t block = 0;
  std::vector<int> order;
};
Literal repack(const Literal& l, const Repack& r);

// `constant(i)`: whether parameter i is a compile-time constant, which may be repacked.
Status schedule_kernel(EmittedKernel& k, const Op* hero, const loop::Machine& machine,
                       const std::function<bool(int)>& constant, std::vector<Repack>& repacks);

}  // namespace tenfold
