#include "tpu/sim/steady.h"

#include <algorithm>
#include <span>

#include "tpu/sim/core.h"

namespace tenfold::tpu {
namespace {

bool alike(std::span<const int64_t> a, std::span<const int64_t> b, int64_t tolerance) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t d = a[i] - b[i];
    if (d > tolerance || d < -tolerance) return false;
  }
  return true;
}

// Iterations after which a loop is compared with itself: double buffers repeat after two. The long
// ones are for units that work in parts of a cycle, where two iterations seldom look the same.
constexpr size_t kPeriods[] = {1, 2, 3, 4, 8, 16, 32, 64, 128};
constexpr size_t kLongestWhole = 4;
constexpr uint64_t kLeastFuzzy = 256;  // cycles of a window in which one more or less is nothing
constexpr int32_t kFewest = 4;         // iterations to come that are worth a look
constexpr size_t kLongestLog = 1 << 22;
constexpr int kMostMisses = 64;  // then a loop is only stepped
constexpr int64_t kForever = INT64_MAX / 4;

int64_t difference(int32_t later, int32_t earlier) { return int64_t{later} - earlier; }

// How many times `by` can be added to x until it reaches or crosses zero.
int64_t until_zero(int64_t x, int64_t by) {
  if (by == 0) return kForever;
  if (x == 0) return 0;
  if ((x > 0) == (by > 0)) return kForever;
  return ((x > 0 ? x : -x) - 1) / (by > 0 ? by : -by);
}

bool is_power_of_2(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

}  // namespace

void Steady::left(uint32_t from) {
  while (!tracks_.empty()) {
    const bool last = tracks_.back().first == from;
    // Those inside a loop that is over are over as well.
    const bool inside =
        std::any_of(tracks_.begin(), tracks_.end(), [&](const auto& t) { return t.first == from; });
    if (!inside) break;
    forget(tracks_.back().second);
    tracks_.pop_back();
    if (last) break;
  }
  if (tracks_.empty()) log_.clear();
}

void Steady::forget(Track& t) {
  for (Snapshot& s : t.history) spare_.push_back(std::move(s));
  t.history.clear();
}

void Steady::jumped_back(uint32_t from, uint32_t to, int32_t left) {
  if (log_.size() > kLongestLog) {  // of a loop too long to be compared with itself
    for (auto& [bundle, track] : tracks_) forget(track);
    log_.clear();
  }
  auto it =
      std::find_if(tracks_.begin(), tracks_.end(), [&](const auto& t) { return t.first == from; });
  if (it == tracks_.end()) {
    if (left >= 0 && left < kFewest) return;
    Track t;
    t.first_kernel = UINT32_MAX;
    for (uint32_t b = to; b <= from; ++b) {
      const uint32_t k = core_.code_.bundles[b].kernel;
      if (k == 0) continue;
      t.first_kernel = std::min(t.first_kernel, k);
      t.last_kernel = std::max(t.last_kernel, k);
    }
    if (t.first_kernel > t.last_kernel) t.first_kernel = t.last_kernel = 0;
    tracks_.emplace_back(from, std::move(t));
    it = std::prev(tracks_.end());
  } else {
    for (auto inner = std::next(it); inner != tracks_.end(); ++inner) forget(inner->second);
    tracks_.erase(std::next(it), tracks_.end());
  }
  Track& t = it->second;
  if (t.misses > kMostMisses) return;
  Snapshot s;
  if (!spare_.empty()) {
    s = std::move(spare_.back());
    spare_.pop_back();
  }
  s.time = core_.now_;
  s.log_end = log_.size();
  s.scalars = core_.scalars_;
  s.unknown = core_.unknown_;
  s.copies = core_.copies_;
  core_.unit_distances(&s.units);
  core_.copy_distances(&s.in_flight);
  s.parts = core_.part_distances();
  s.counters.clear();
  s.counters.push_back(core_.raw_[0]);
  for (uint32_t k = t.first_kernel; k <= t.last_kernel && k > 0; ++k)
    s.counters.push_back(core_.raw_[k]);
  t.history.push_back(std::move(s));
  const size_t longest = core_.fractional_ ? kPeriods[std::size(kPeriods) - 1] : kLongestWhole;
  if (t.history.size() > 2 * longest + 1) {
    spare_.push_back(std::move(t.history.front()));
    t.history.pop_front();
  }
  for (size_t period : kPeriods) {
    if (2 * period >= t.history.size()) break;
    if (skip(t, period)) return;
  }
  if (t.history.size() == 2 * longest + 1) ++t.misses;
}

// How many periods may follow that decide as the two on record: entries [a0, a1) and [b0, b1).
int64_t Steady::periods_ahead(size_t a0, size_t a1, size_t b0, size_t b1) const {
  if (a1 - a0 != b1 - b0) return 0;
  int64_t ahead = kForever;
  for (size_t i = 0; i < a1 - a0; ++i) {
    const Entry& x = log_[a0 + i];
    const Entry& y = log_[b0 + i];
    if (x.fact != y.fact) return 0;
    const int64_t da = difference(y.a, x.a), db = difference(y.b, x.b);
    const bool same = da == 0 && db == 0;
    bool fine = true;
    switch (y.fact) {
      case Fact::Compare:  // the sign of a - b decides
        ahead = std::min(ahead, until_zero(difference(y.a, y.b), da - db));
        break;
      case Fact::Sign:
        ahead = std::min(ahead, until_zero(y.a, da));
        break;
      case Fact::Mul:
        fine = da == 0 || db == 0;
        break;
      case Fact::And:  // low bits of what grows by a multiple of them, or its other bits
        fine = same ||
               (db == 0 && ((is_power_of_2(int64_t{y.b} + 1) && da % (int64_t{y.b} + 1) == 0) ||
                            (is_power_of_2(-int64_t{y.b}) && da % -int64_t{y.b} == 0)));
        break;
      case Fact::Shift:
        fine = same || (db == 0 && y.a >= 0 && da % (int64_t{1} << (y.b & 31)) == 0);
        if (fine) ahead = std::min(ahead, until_zero(y.a, std::min<int64_t>(da, 0)));
        break;
      case Fact::Div:
        fine = same || (db == 0 && y.b != 0 && y.a >= 0 && da % y.b == 0);
        if (fine && da < 0) ahead = std::min(ahead, until_zero(y.a, da));
        break;
      case Fact::Fixed:
        fine = same;
        break;
      case Fact::Store:  // to one word; to a word that moves nothing is known
        break;
      case Fact::Accumulate:
      case Fact::Take:
        fine = db == 0;
        break;
      case Fact::Stop:
        return 0;
    }
    if (!fine) return 0;
  }
  return ahead;
}

bool Steady::skip(Track& t, size_t period) {
  const size_t n = t.history.size();
  const Snapshot& now = t.history[n - 1];
  const Snapshot& one = t.history[n - 1 - period];
  const Snapshot& two = t.history[n - 1 - 2 * period];
  // What is alike takes the same time, but for the cycle that rounding moves.
  const auto gap =
      static_cast<int64_t>(now.time - one.time) - static_cast<int64_t>(one.time - two.time);
  if (gap > 2 || gap < -2) return false;
  const bool copies = now.copies != two.copies;
  // Whether the time of something moves in parts of a cycle.
  const auto grew = [&](size_t i) { return now.counters.back().v[i] > two.counters.back().v[i]; };
  const bool parts =
      copies || (core_.fractional_ && (grew(Raw::kCore + static_cast<size_t>(Cause::OnchipPort)) ||
                                       grew(Raw::kEup + static_cast<size_t>(Cause::Compute))));
  if (parts && now.time - two.time < kLeastFuzzy) return false;
  const int64_t tolerance = parts ? 1 : 0;
  // Held to the one long ago as well: what drifts by a cycle each time is not steady.
  for (const Snapshot* s : {&one, &two}) {
    if (s->unknown != now.unknown || !alike(s->units, now.units, tolerance)) return false;
    if (!alike(s->parts, now.parts, 256 * tolerance)) return false;
    if (copies && !alike(s->in_flight, now.in_flight, tolerance)) return false;
  }
  // Copies in flight are counted in the kernel that runs, so there must be one.
  if (!copies && t.first_kernel != t.last_kernel) return false;
  for (size_t r = 0; r < kScalarRegs; ++r) {
    if ((now.unknown >> r & 1) != 0) continue;
    if (difference(now.scalars[r], one.scalars[r]) != difference(one.scalars[r], two.scalars[r]))
      return false;
  }
  int64_t ahead = periods_ahead(two.log_end, one.log_end, one.log_end, now.log_end);
  for (size_t i = 0; i < now.log_end - one.log_end && ahead >= 2 && ahead < kForever; ++i) {
    const Entry& x = log_[two.log_end + i];
    const Entry& y = log_[one.log_end + i];
    if (y.fact == Fact::Take) ahead = takes_ahead(x, y, now.time, now.time - two.time, ahead);
  }
  // What was measured are two periods, so that a cycle lost to rounding in one counts half; an
  // iteration is left to be stepped.
  int64_t times = ahead / 2;
  if (ahead >= kForever) {
    core_.endless_ = true;
    return true;
  }
  // A loop that vector memory's ports hold is freed when the copy beside it ends.
  if (!copies && grew(Raw::kCore + static_cast<size_t>(Cause::OnchipPort))) {
    const uint64_t moving = core_.dma_busy_.end_after(now.time) - now.time;
    if (moving > 0) times = std::min(times, static_cast<int64_t>(moving / (now.time - two.time)));
  }
  if (times < 1) return false;
  const auto factor = static_cast<uint64_t>(times);
  const uint64_t cycles = (now.time - two.time) * factor;
  for (size_t k = 0; k < now.counters.size(); ++k) {
    Raw& r = core_.raw_[k == 0 ? 0 : t.first_kernel + k - 1];
    for (size_t i = 0; i < Raw::kSize; ++i) {
      if (!copies && i >= Raw::kDma && i < Raw::kDma + kNumCauses) continue;
      r.v[i] += (now.counters[k].v[i] - two.counters[k].v[i]) * factor;
    }
  }
  for (size_t r = 0; r < kScalarRegs; ++r) {
    const auto by = static_cast<uint32_t>(now.scalars[r]) - static_cast<uint32_t>(two.scalars[r]);
    core_.scalars_[r] = static_cast<int32_t>(static_cast<uint32_t>(core_.scalars_[r]) +
                                             by * static_cast<uint32_t>(factor));
  }
  skip_accumulators(two, one, now, factor);
  // Words of scalar memory that count along.
  for (size_t i = 0; i < now.log_end - one.log_end; ++i) {
    const Entry& x = log_[two.log_end + i];
    const Entry& y = log_[one.log_end + i];
    if (y.fact != Fact::Store || x.a != y.a) continue;
    core_.smem_[static_cast<size_t>(y.a)] = static_cast<int32_t>(
        static_cast<uint32_t>(y.b) + (static_cast<uint32_t>(y.b) - static_cast<uint32_t>(x.b)) * 2 *
                                         static_cast<uint32_t>(factor));
  }
  if (copies) {
    core_.shift_copies(cycles);
  } else {
    skip_copies(two, now, cycles);
  }
  core_.shift_units(cycles);
  // An outer loop's iterations are alike only if their inner loops were skipped alike.
  record(Fact::Fixed, static_cast<int32_t>(std::min<uint64_t>(factor, INT32_MAX)),
         static_cast<int32_t>(period));
  forget(t);
  return true;
}

// How many of `most` periods take an accumulator that is there by then: one that the array still
// works on would make the period longer. Periods last window / 2.
int64_t Steady::takes_ahead(const Entry& earlier, const Entry& later, uint64_t time,
                            uint64_t window, int64_t most) const {
  const int64_t by = difference(later.a, earlier.a);
  if (by == 0) return most;
  const auto& there = core_.arrays_[static_cast<size_t>(later.b)].accumulators;
  for (int64_t j = 1; j <= most; ++j) {
    const int64_t at = later.a + j * by;
    if (at < 0 || at >= static_cast<int64_t>(there.size())) return j - 1;
    if (there[static_cast<size_t>(at)] > time + static_cast<uint64_t>(j - 1) * window / 2)
      return j - 1;
  }
  return most;
}

// What the skipped iterations add to would be there at these times, as far as they are to come.
void Steady::skip_accumulators(const Snapshot& two, const Snapshot& one, const Snapshot& now,
                               uint64_t factor) {
  const uint64_t window = now.time - two.time, cycles = window * factor;
  struct Arrival {
    size_t array, accumulator;
    uint64_t time;
  };
  std::vector<Arrival> arrivals;
  for (size_t i = 0; i < now.log_end - one.log_end; ++i) {
    const Entry& x = log_[two.log_end + i];
    const Entry& y = log_[one.log_end + i];
    if (y.fact != Fact::Accumulate) continue;
    const auto array = static_cast<size_t>(y.b);
    const auto& there = core_.arrays_[array].accumulators;
    const int64_t by = difference(y.a, x.a);
    const uint64_t last = there[static_cast<size_t>(y.a)] + cycles;
    for (uint64_t j = 0; j < 2 * factor; ++j) {
      const uint64_t time = last - j * window / 2;
      const int64_t at = y.a + static_cast<int64_t>(2 * factor) * by - static_cast<int64_t>(j) * by;
      if (time <= now.time + cycles || at < 0 || at >= static_cast<int64_t>(there.size())) break;
      arrivals.push_back({array, static_cast<size_t>(at), time});
      if (by == 0) break;
    }
  }
  for (const Arrival& a : arrivals) core_.arrays_[a.array].accumulators[a.accumulator] = a.time;
}

// The copy unit's time while a loop without copies is skipped: what is in flight moves on, and the
// rest of the time has the causes that the core had.
void Steady::skip_copies(const Snapshot& two, const Snapshot& now, uint64_t cycles) {
  const size_t k = now.counters.size() - 1;
  const uint64_t window = now.time - two.time;
  uint64_t begin = core_.now_, given = 0;
  const uint64_t times = cycles / window;
  for (size_t c = 0; c < kNumCauses; ++c) {
    const uint64_t part =
        (now.counters[k].v[Raw::kCore + c] - two.counters[k].v[Raw::kCore + c]) * times;
    core_.count_dma(begin, part, static_cast<Cause>(c));
    begin += part;
    given += part;
  }
  core_.count_dma(begin, cycles - given, Cause::Issue);
}

}  // namespace tenfold::tpu
