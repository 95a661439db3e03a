// Fast-forward: a loop whose iterations have become alike is multiplied out.
//
// At every jump backwards the core's state is looked at. When it is what it was P iterations and 2P
// iterations ago, up to a shift in time and up to scalar registers that grow by a constant, the
// iterations to come cost what the last 2P did, until one of the decisions in them turns out
// otherwise. Each comparison and jump is on record, so the number of iterations until then is known
// exactly; the rest is stepped as usual. Inner loops are skipped inside outer ones.
//
// A loop that starts no copy and waits for none is the same whatever is in flight: its copies keep
// their times, and its units must be exactly as far from now as before. With copies, whose rates
// are no whole numbers, distances may differ by a cycle, and all of them move along. Likewise where
// a unit works in parts of a cycle; the window is long enough then for a cycle to be nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tpu/isa/isa.h"
#include "tpu/sim/timeline.h"

namespace tenfold::tpu {

class Core;

class Steady {
 public:
  explicit Steady(Core& core) : core_(core) {}

  // A scalar instruction that is more than a sum, with its operands; `a` alone for jumps (whether
  // it is above or at zero); (address, value) for stores to scalar memory; (accumulator, array) for
  // what a matrix unit adds to and what is taken from it.
  enum class Fact : uint8_t {
    Compare,
    Sign,
    Mul,
    And,
    Shift,
    Div,
    Fixed,
    Store,
    Accumulate,
    Take,
    Stop
  };
  void record(Fact fact, int32_t a, int32_t b = 0) { log_.push_back({fact, a, b}); }

  // A jump back from bundle `from` to `to` was taken: skips what can be skipped. `left`: how often
  // it will be taken again, -1 where that is not known.
  void jumped_back(uint32_t from, uint32_t to, int32_t left);
  // The jump at `from` was not taken: its loop is over.
  void left(uint32_t from);

 private:
  struct Entry {
    Fact fact;
    int32_t a, b;
  };
  struct Snapshot {
    uint64_t time;
    uint64_t copies;  // started or waited for until now
    size_t log_end;
    std::array<int32_t, kScalarRegs> scalars;
    uint32_t unknown;
    std::vector<int64_t> units, in_flight;  // distances from now: see Core
    std::array<int64_t, 2> parts;
    std::vector<Raw> counters;  // of the loop's kernels, [0] those of none
  };
  struct Track {
    std::deque<Snapshot> history;  // newest last
    uint32_t first_kernel = 0, last_kernel = 0;
    int misses = 0;
  };

  int64_t takes_ahead(const Entry& earlier, const Entry& later, uint64_t time, uint64_t window,
                      int64_t most) const;
  void skip_accumulators(const Snapshot& two, const Snapshot& one, const Snapshot& now,
                         uint64_t factor);
  void skip_copies(const Snapshot& two, const Snapshot& now, uint64_t cycles);
  int64_t periods_ahead(size_t a0, size_t a1, size_t b0, size_t b1) const;
  bool skip(Track& t, size_t period);
  void forget(Track& t);

  Core& core_;
  std::vector<Entry> log_;
  std::vector<std::pair<uint32_t, Track>> tracks_;  // open loops, innermost last
  std::vector<Snapshot> spare_;                     // whose memory is used again
};

}  // namespace tenfold::tpu
