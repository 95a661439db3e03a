// See memory.h. First fit over the buffers already placed, kept by address.
#include "backends/tpu/memory.h"

#include <algorithm>

namespace tenfold::tpu {

Placement place(std::vector<Lifetime*>& buffers, int64_t capacity, int64_t alignment) {
  Placement result;
  std::vector<const Lifetime*> placed;  // by address
  for (Lifetime* b : buffers) {
    int64_t at = 0;
    for (const Lifetime* p : placed) {
      if (p->last < b->first || b->last < p->first) continue;
      if (p->address >= at + b->bytes) break;
      at = std::max(at, (p->address + p->bytes + alignment - 1) / alignment * alignment);
    }
    if (capacity >= 0 && at + b->bytes > capacity) {
      b->address = -1;
      continue;
    }
    b->address = at;
    result.peak = std::max(result.peak, at + b->bytes);
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), b,
                      [](const Lifetime* x, const Lifetime* y) { return x->address < y->address; }),
                  b);
  }
  return result;
}

}  // namespace tenfold::tpu
