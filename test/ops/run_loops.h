// One op as a kernel of plain loops, run by the loop interpreter.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace tenfold::testing {

// Whether the op reaches a backend as loops; constants that are no splats are placed in memory.
bool runs_as_loops(const Op& op);
// `args`: the values of the function's arguments. Other operands must be constants. `symbols`: of
// the types' dimensions.
Result<std::vector<Literal>> run_loops(
    Op* op, const std::vector<Literal>& args,
    const Dim::Env& symbols = [](const Symbol&) { return std::optional<int64_t>(); });

}  // namespace tenfold::testing
