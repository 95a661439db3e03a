// Where each temporary lives: offsets in one block of memory, reused once a buffer is dead.
#pragma once

#include <cstdint>
#include <vector>

namespace tenfold::rt {

struct ArenaItem {
  int64_t bytes = 0;
  int32_t first = 0, last = 0;  // inclusive live interval
  int64_t offset = 0;           // result, 64-byte aligned
};

// Gives every item an offset such that items alive together do not overlap; returns the total.
int64_t place(std::vector<ArenaItem*>& items);

}  // namespace tenfold::rt
