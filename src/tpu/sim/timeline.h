// Where the cycles went: counters that only grow, and the stretches in which a unit is at work.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tpu/sim/report.h"

namespace tenfold::tpu {

// Counters of one kernel on one core, as one array so that a loop's share can be multiplied.
struct Raw {
  enum Index : size_t {
    kCore = 0,                   // by cause; Issue: bundles issued
    kSlot = kCore + kNumCauses,  // by unit: of the issued, those with something for it
    kMxu = kSlot + kNumUnits,    // by cause, summed over the arrays
    kDma = kMxu + kNumCauses,
    kEup = kDma + kNumCauses,
    kHostBusy = kEup + kNumCauses,
    kBundles,
    kInstructions,
    kMacs,
    kHbmRead,
    kHbmWrite,
    kHbmBus,
    kHostBytes,
    kSize
  };
  std::array<uint64_t, kSize> v{};

  uint64_t& at(Index group, Cause c) { return v[group + static_cast<size_t>(c)]; }
  uint64_t cycles() const {
    uint64_t n = 0;
    for (size_t c = 0; c < kNumCauses; ++c) n += v[kCore + c];
    return n;
  }
};

// Stretches of time, in order, that a unit works; taken off as time passes.
class Busy {
 public:
  void add(uint64_t begin, uint64_t end) {
    if (begin >= end) return;
    if (head_ == spans_.size()) {
      spans_.clear();
      head_ = 0;
    }
    if (!spans_.empty() && head_ < spans_.size() && begin <= spans_.back().end) {
      spans_.back().end = std::max(spans_.back().end, end);
    } else {
      spans_.push_back({begin, end});
    }
  }
  // Cycles of [begin, end) at work; nothing before `end` is asked for again.
  uint64_t take(uint64_t begin, uint64_t end) {
    uint64_t n = 0;
    while (head_ < spans_.size() && spans_[head_].begin < end) {
      const Span& s = spans_[head_];
      const uint64_t low = std::max(s.begin, begin), high = std::min(s.end, end);
      if (high > low) n += high - low;
      if (s.end > end) break;
      ++head_;
    }
    return n;
  }
  // When the stretch that `now` lies in, or that follows it, ends; `now` when there is none.
  uint64_t end_after(uint64_t now) const {
    return head_ < spans_.size() ? std::max(spans_[head_].end, now) : now;
  }
  void shift(uint64_t by) {
    for (Span& s : spans_) {
      s.begin += by;
      s.end += by;
    }
  }

 private:
  struct Span {
    uint64_t begin, end;
  };
  std::vector<Span> spans_;
  size_t head_ = 0;
};

}  // namespace tenfold::tpu
