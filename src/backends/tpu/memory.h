// Places buffers that live for a while in one memory: no two that live at once overlap.
#pragma once

#include <cstdint>
#include <vector>

namespace tenfold::tpu {

struct Lifetime {
  int64_t bytes = 0;
  int first = 0, last = 0;  // steps, inclusive
  int64_t address = -1;     // filled by place(); -1: no room
};

struct Placement {
  int64_t peak = 0;  // highest byte used
};

// In the order given (the caller puts first what must have room), each at the lowest address that
// is free during its life. `capacity` < 0: unlimited.
Placement place(std::vector<Lifetime*>& buffers, int64_t capacity, int64_t alignment);

}  // namespace tenfold::tpu
