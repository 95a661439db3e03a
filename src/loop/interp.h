// The loop level's oracle: runs a kernel sequentially and checks every index and uninitialised
// Stack/Workspace read.
#pragma once

#include "array/literal.h"
#include "loop/ir.h"

namespace tenfold::loop {

struct InterpretOptions {
  // Also fails where an iteration of a loop that is marked independent (or parallel) writes what
  // another one reads or writes.
  bool check_independence = false;
};

// `buffers` in Kernel::params order (written in place); `symbols` in Kernel::symbols order.
Status interpret(const Kernel& k, std::vector<Literal*> buffers,
                 const std::vector<int64_t>& symbols, const InterpretOptions& options = {});

}  // namespace tenfold::loop
