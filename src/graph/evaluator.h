// The oracle: runs a graph function op by op on literals, plainly.
#pragma once

#include "graph/ir.h"

namespace tenfold {

struct EvalOptions {
  // Called with every value computed (intermediate fetching, --verify).
  std::function<void(const Value&, const Literal&)> observe;
  int64_t max_while_iterations = INT64_MAX;
};

// Argument shapes bind the function's symbols; mismatches are Errors.
Result<std::vector<Literal>> evaluate(const Module& m, const Function& f,
                                      const std::vector<Literal>& args,
                                      const EvalOptions& options = {});

}  // namespace tenfold
