// Graph -> loop: groups ops into kernels, writes and schedules their loop nests, and builds the
// program (buffers, instructions, control flow) that the runtime executes.
//
//   plan_fusion   which op is computed in which kernel
//   emit_kernel   one kernel's naive loop nest, producers and epilogue inlined
//   schedule      vector, register and thread structure by schedule primitives
//   lower         walks blocks, allocates buffers, emits instructions
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/ir.h"
#include "loop/ir.h"
#include "loop/machine.h"
#include "passes/lower/repack.h"
#include "runtime/program.h"

namespace tenfold {

struct LowerOptions {
  loop::Machine machine;
  int opt_level = 3;  // 0: one kernel an op, plain loops; 1: fusion; 2+: schedules
  bool fast_math = false;
};

// A constant's place in the artifact's constant blob; 64-byte aligned. Layouts are changed on the
// way into the blob, so that no weight ever stands in memory twice.
struct PlacedConstant {
  Literal value;
  uint64_t offset = 0;
  std::optional<Repack> layout;
};
// Writes `c` at its offset of `blob`.
void place(const PlacedConstant& c, std::byte* blob);

struct Lowered {
  std::vector<loop::Kernel> kernels;
  rt::Program program;  // kernels[i].phases are filled by the driver after code generation
  std::vector<PlacedConstant> constants;
};

// `m` is verified and contains only ops that can be emitted (calls inlined, composites resolved).
Result<Lowered> lower(const Module& m, const LowerOptions& options);

}  // namespace tenfold
