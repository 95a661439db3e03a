// The loop level's oracle: runs a kernel sequentially and checks every index and uninitialised
// Stack/Workspace read.
#pragma once

#include "array/literal.h"
#include "loop/ir.h"

namespace tenfold::loop {

// `buffers` in Kernel::params order (written in place); `symbols` in Kernel::symbols order.
Status interpret(const Kernel& k, std::vector<Literal*> buffers,
                 const std::vector<int64_t>& symbols);

}  // namespace tenfold::loop
