// Writes one fused group as a kernel of plain loops.
#pragma once

#include "passes/lower/fusion_plan.h"

namespace tenfold {

struct EmittedKernel {
  loop::Kernel kernel;
  std::vector<const Value*> params;  // value behind each kernel parameter; results come first
  std::vector<SymbolRef> symbols;    // behind kernel.symbols
  int in_place = -1;                 // operand of the root whose storage the first result takes
};

// `in_place_operand`: the caller found that the root may overwrite this operand's buffer (-1: no).
Result<EmittedKernel> emit_kernel(const Group& g, std::string name, int in_place_operand = -1);

}  // namespace tenfold
