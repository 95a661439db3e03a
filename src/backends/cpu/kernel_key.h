// A text that two kernels share exactly when they do the same: names are replaced by numbers in
// the order of appearance. Repeated layers are compiled once.
#pragma once

#include <string>

#include "loop/ir.h"

namespace tenfold::cpu {
std::string kernel_key(const loop::Kernel& k);
}  // namespace tenfold::cpu
