// Object files to linked files, through LLVM's linker as a library.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"

namespace tenfold::cpu {
// Relocatable object -> shared object exporting `exports`. No undefined symbol is allowed.
Result<std::string> link_shared(const std::string& object, const Target& target,
                                const std::vector<std::string>& exports);
// Several relocatable objects -> one.
Result<std::string> merge_objects(const std::vector<std::string>& objects, const Target& target);
}  // namespace tenfold::cpu
