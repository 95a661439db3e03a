// Targets of the CPU backend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace tenfold::cpu {
void initialise_llvm();
std::vector<std::string> target_names();
Result<Target> parse_target(std::string_view text);
}  // namespace tenfold::cpu
