// A tree to bundles: straight code by list scheduling, innermost loops by pipelining, the rest by
// jumps.
#pragma once

#include "backends/tpu/code/assembly.h"
#include "backends/tpu/code/compile.h"
#include "backends/tpu/code/machine.h"
#include "backends/tpu/code/tree.h"

namespace tenfold::tpu::code {

struct EmitOptions {
  bool schedule = true, pipeline = true;
  bool thrifty = false;     // straight code in source order rather than as short as can be
  int spare_registers = 0;  // that pipelined loops leave alone beyond what they see is taken
};
struct Emitted {
  Assembly code;
  std::vector<LoopReport> loops;
  std::vector<char> in_pipeline;  // registers written in a pipelined loop
  std::vector<float> weight;      // reads and writes of each register, by how deep in loops
};
Emitted emit(Tree* tree, Machine* machine, const EmitOptions& options);

}  // namespace tenfold::tpu::code
