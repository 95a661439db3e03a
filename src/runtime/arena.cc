#include "runtime/arena.h"

#include <algorithm>

namespace tenfold::rt {
namespace {

// Largest first gives tight plans but looks at every placed item; beyond this many, items are
// placed in the order they come alive against the living ones only.
constexpr size_t kLargestFirst = 2000;

// Lowest gap among `placed` (those that overlap in time, sorted by offset) that holds `bytes`.
int64_t lowest_gap(const std::vector<const ArenaItem*>& placed, int64_t bytes) {
  int64_t at = 0;
  for (const ArenaItem* p : placed) {
    if (p->offset >= at + bytes) break;
    at = std::max(at, p->offset + p->bytes);
  }
  return at;
}

}  // namespace

int64_t place(std::vector<ArenaItem*>& items) {
  for (ArenaItem* i : items) i->bytes = (std::max<int64_t>(i->bytes, 1) + 63) / 64 * 64;
  bool largest_first = items.size() <= kLargestFirst;
  std::stable_sort(items.begin(), items.end(), [&](const ArenaItem* a, const ArenaItem* b) {
    return largest_first ? a->bytes > b->bytes : a->first < b->first;
  });
  auto by_offset = [](const ArenaItem* a, const ArenaItem* b) { return a->offset < b->offset; };
  std::vector<const ArenaItem*> placed;  // sorted by offset
  int64_t total = 0;
  for (ArenaItem* item : items) {
    std::vector<const ArenaItem*> together;
    if (largest_first) {
      for (const ArenaItem* p : placed)
        if (p->first <= item->last && item->first <= p->last) together.push_back(p);
    } else {
      std::erase_if(placed, [&](const ArenaItem* p) { return p->last < item->first; });
      together = placed;
    }
    item->offset = lowest_gap(together, item->bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), item, by_offset), item);
    total = std::max(total, item->offset + item->bytes);
  }
  return total;
}

}  // namespace tenfold::rt
