// --shape for models that are graphs already (StableHLO text).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir.h"

namespace tenfold {

// Gives the open dimensions of the named arguments of the main function the given sizes (-1: keep),
// everywhere their symbols occur. Errors: bad-shape-option.
Status fix_shapes(Module& m, const std::map<std::string, std::vector<int64_t>>& shapes);

}  // namespace tenfold
