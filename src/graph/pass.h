// A graph pass: a stateless descriptor. The manager verifies, times, dumps, bisects and disables.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "graph/ir.h"

namespace tenfold {

struct PassContext {
  int64_t folding_budget_bytes = int64_t{256} << 20;
  bool fast_math = false;
  bool signed_bytes = false;  // the target multiplies signed bytes by signed ones (Arm), not mixed
  // Reasons of optional rewrites that were refused or taken, for the dump and the user's report.
  std::vector<std::string> remarks;
};

struct GraphPass {
  std::string_view name;  // a verb: "fold_constants"
  std::string_view summary;
  std::string_view why_here = {};
  std::function<Result<bool>(Module&, PassContext&)> run;  // true: changed something
};

std::span<const GraphPass* const> all_graph_passes();
const GraphPass* find_graph_pass(std::string_view name);

}  // namespace tenfold
