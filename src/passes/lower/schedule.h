// Gives a kernel its vector, register and thread structure, by schedule primitives only.
#pragma once

#include "loop/machine.h"
#include "passes/lower/emit_kernel.h"
#include "passes/lower/repack.h"

namespace tenfold {

// `constant(i)`: whether parameter i is a compile-time constant, which may be repacked.
Status schedule_kernel(EmittedKernel& k, const Op* hero, const loop::Machine& machine,
                       const std::function<bool(int)>& constant, std::vector<Repack>& repacks);

}  // namespace tenfold
