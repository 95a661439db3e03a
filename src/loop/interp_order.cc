#include "loop/interp_order.h"

namespace tenfold::loop::interp {

bool IterationTree::unordered(uint32_t a, uint32_t b) const {
  if (a == kNone || b == kNone) return false;
  while (nodes_[a].depth > nodes_[b].depth) a = nodes_[a].parent;
  while (nodes_[b].depth > nodes_[a].depth) b = nodes_[b].parent;
  if (a == b) return false;
  while (nodes_[a].parent != nodes_[b].parent) a = nodes_[a].parent, b = nodes_[b].parent;
  return nodes_[a].run == nodes_[b].run;
}

bool IterationTree::access(const void* at, int bytes, bool write) {
  const auto* p = static_cast<const std::byte*>(at);
  bool ordered = true;
  for (int i = 0; i < bytes; ++i) {
    Touched& t = touched_[p + i];
    ordered = ordered && !unordered(t.write, current_);
    if (write) {
      ordered = ordered && !unordered(t.first_read, current_) && !unordered(t.last_read, current_);
      t = {current_, kNone, kNone};
    } else {
      if (t.first_read == kNone) t.first_read = current_;
      t.last_read = current_;
    }
  }
  return ordered;
}

void IterationTree::forget(const void* at, size_t bytes) {
  if (touched_.empty()) return;
  const auto* p = static_cast<const std::byte*>(at);
  for (size_t i = 0; i < bytes; ++i) touched_.erase(p + i);
}

}  // namespace tenfold::loop::interp
