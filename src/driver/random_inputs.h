// Values and sizes for a model's inputs when the user gives none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir.h"

namespace tenfold {

// A small size for every open dimension of the function's arguments, by the arguments' names; those
// of fixed shape are left out.
std::map<std::string, std::vector<int64_t>> small_sizes(const Function& f);
// Seeded values; every argument's shape must be known.
std::vector<Literal> random_inputs(const Function& f, uint64_t seed);

}  // namespace tenfold
