// The graph's text form is StableHLO's MLIR text: what jaxlib prints parses here, and what we print
// for a module without Tenfold-only ops parses there.
#pragma once

#include "graph/ir.h"

namespace tenfold {

std::string print(const Module& m);
std::string print(const Op& op);  // one line, for messages
Result<std::unique_ptr<Module>> parse_stablehlo(std::string_view text, std::string_view file_name);
// Every op's constraints, types, dominance, terminators, symbol binding.
Status verify(const Module& m);

}  // namespace tenfold
