// Whether iterations of independent loops are so: who touched each byte last. Internal to
// loop/interp*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tenfold::loop::interp {

// Iterations of independent loops form a tree: each has the iteration around it as its parent, and
// iterations of one run of a loop are siblings. Two accesses of a byte, one of them a write, may
// happen in any order when the ways up from them part at siblings.
class IterationTree {
 public:
  void enter_loop() { open_.push_back({next_run_++, current_}); }
  void next_iteration() {
    nodes_.push_back({open_.back().outer, open_.back().run, nodes_[open_.back().outer].depth + 1});
    current_ = static_cast<uint32_t>(nodes_.size() - 1);
  }
  void leave_loop() {
    current_ = open_.back().outer;
    open_.pop_back();
  }
  // Records an access of `bytes` bytes at `at`; false when its order to an earlier one is open.
  bool access(const void* at, int bytes, bool write);
  // Memory at `at` begins a new life.
  void forget(const void* at, size_t bytes);

 private:
  struct Node {
    uint32_t parent;
    uint32_t run;
    uint32_t depth;
  };
  struct Open {
    uint32_t run, outer;
  };
  // Nodes that touched a byte: the last write, and the first and last read after it.
  struct Touched {
    uint32_t write = kNone, first_read = kNone, last_read = kNone;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  bool unordered(uint32_t a, uint32_t b) const;

  std::vector<Node> nodes_ = {{0, 0, 0}};  // the root: outside of all independent loops
  std::vector<Open> open_;
  uint32_t current_ = 0, next_run_ = 1;
  std::unordered_map<const std::byte*, Touched> touched_;
};

}  // namespace tenfold::loop::interp
