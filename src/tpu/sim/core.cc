#include "tpu/sim/core.h"

#include <cmath>
#include <cstring>

#include "tpu/sim/core_values.h"

namespace tenfold::tpu {
namespace {

constexpr size_t kMostScalars = 16;      // scalar results of a bundle (slots: 8 and 8 at most)
constexpr uint64_t kTick = 256;          // of the buses' time in a cycle
constexpr uint64_t kPortBuffer = kTick;  // one register may lag behind vector memory's ports

uint64_t to_cycle(uint64_t ticks) { return (ticks + kTick - 1) / kTick; }

}  // namespace

Core::Core(const Shared& shared, const Code& code, int id, Mode mode)
    : shared_(shared), code_(code), id_(id), mode_(mode) {
  const Chip& c = shared.chip;
  if (mode.values) values_ = std::make_unique<Values>(c);
  if (mode.tile) steady_ = std::make_unique<Steady>(*this);
  smem_.resize(static_cast<size_t>(c.smem_bytes / 4));
  smem_unknown_.resize(smem_.size());
  arrays_.resize(static_cast<size_t>(c.mxu_count));
  engines_.resize(static_cast<size_t>(c.dma_engines));
  queue_ = static_cast<uint64_t>(c.mxu_input_queue);
  ports_ = static_cast<uint64_t>(c.vmem_ports * kTick);
  fractional_ = ports_ % kTick != 0 || c.eup_interval != std::floor(c.eup_interval);
  results_room_ = static_cast<size_t>(result_queue_entries(c));
  for (Array& a : arrays_)
    if (c.mxu_accumulates) a.accumulators.resize(results_room_);
  dma_latency_ = static_cast<uint64_t>(std::llround(c.dma_latency_ns * c.clock_mhz / 1e3));
  share(static_cast<uint64_t>(c.cores));
  raw_.resize(code.program->kernels.size() + 1);
  counts_ = &raw_[0];
}

Core::~Core() = default;

void Core::share(uint64_t cores) {
  const Chip& c = shared_.chip;
  const auto n = static_cast<double>(cores);
  hbm_cycles_per_byte_ = n / c.bytes_per_cycle(c.hbm_gbps * c.hbm_efficiency);
  cmem_cycles_per_byte_ = c.cmem_gbps > 0 ? cores / c.bytes_per_cycle(c.cmem_gbps) : 0;
  bus_registers_ = static_cast<uint64_t>(kTick / (hbm_cycles_per_byte_ * kVregWords * 4));
}

bool Core::fail(std::string_view id, const std::string& message) {
  std::string where = "bundle " + std::to_string(pc_);
  const DecodedBundle& b = code_.bundles[pc_];
  if (b.kernel > 0) where += " of kernel " + code_.program->kernels[b.kernel - 1].name;
  error_ = Error{std::string(id), message, {where}, {}};
  std::string text;
  for (uint32_t i = b.insts; i < b.insts_end; ++i)
    text += (i > b.insts ? " ; " : "") + to_text(code_.insts[i].inst);
  error_.notes.push_back(text);
  return false;
}

// ---- time passes -------------------------------------------------------------------------------

void Core::advance(uint64_t cycles, Cause cause, const DecodedBundle* issued) {
  Raw& r = *counts_;
  const uint64_t begin = now_, end = now_ + cycles;
  now_ = end;
  r.at(Raw::kCore, cause) += cycles;
  if (issued != nullptr) {
    for (uint32_t bits = issued->units; bits != 0; bits &= bits - 1)
      ++r.v[Raw::kSlot + static_cast<size_t>(std::countr_zero(bits))];
    port_debt_ += issued->vmem * kTick;
  }
  for (Array& a : arrays_) {
    const uint64_t rows = a.rows.take(begin, end);
    const uint64_t rest = cycles - rows;
    // An array that multiplies no row while weights move into it is held by them.
    const uint64_t shifting = std::min(rest, a.port.take(begin, end));
    r.at(Raw::kMxu, Cause::Compute) += rows;
    r.at(Raw::kMxu, Cause::WeightShift) += shifting;
    r.at(Raw::kMxu, cause) += rest - shifting;
  }
  const uint64_t moving = count_dma(begin, cycles, cause);
  const uint64_t eup = eup_busy_.take(begin, end);
  r.at(Raw::kEup, Cause::Compute) += eup;
  r.at(Raw::kEup, cause) += cycles - eup;
  // What copies bring goes through vector memory's ports beside loads and stores.
  port_debt_ += moving * bus_registers_;
  port_debt_ -= std::min(port_debt_, ports_ * cycles);
}

uint64_t Core::count_dma(uint64_t begin, uint64_t cycles, Cause cause) {
  Raw& r = *counts_;
  const uint64_t moving = dma_busy_.take(begin, begin + cycles);
  uint64_t rest = cycles - moving;
  r.at(Raw::kDma, Cause::Compute) += moving;
  if (rest > 0 && last_arrival_ > begin) {
    const uint64_t latency = std::min(rest, last_arrival_ - begin);
    r.at(Raw::kDma, Cause::Memory) += latency;
    rest -= latency;
  }
  r.at(Raw::kDma, cause) += rest;
  return moving;
}

void Core::sleep_until(uint64_t time, Cause cause) {
  counts_ = &raw_[0];
  if (time > now_) advance(time - now_, cause, nullptr);
}

void Core::host_at_work(uint64_t cycles, uint64_t bytes) {
  advance(cycles, Cause::Sync, nullptr);
  counts_->v[Raw::kHostBusy] += cycles;
  counts_->v[Raw::kHostBytes] += bytes;
}

void Core::drain() {
  uint64_t end = std::max(last_arrival_, to_cycle(eup_free_));
  for (const Array& a : arrays_) end = std::max({end, a.rows_free, a.port_free});
  sleep_until(end, Cause::Idle);
}

void Core::shift_units(uint64_t by) {
  now_ += by;
  for (uint64_t& t : ready_) t += by;
  for (Array& a : arrays_) {
    for (uint64_t* t :
         {&a.rows_free, &a.port_free, &a.next_free, &a.weights_there, &a.last_accumulated})
      *t += by;
    for (uint64_t& t : a.results) t += by;
    a.rows.shift(by);
    a.port.shift(by);
  }
  for (uint64_t* t : {&transposer_free_, &transposed_}) *t += by;
  eup_free_ += by * kTick;
  eup_busy_.shift(by);
}

void Core::shift_copies(uint64_t by) {
  for (Semaphore& s : semaphores_)
    for (uint64_t& t : s.arrivals) t += by;
  for (uint64_t& t : engines_) t += by;
  hbm_free_ += by * kTick;
  cmem_free_ += by * kTick;
  last_arrival_ += by;
  dma_busy_.shift(by);
}

// Counts must be equal where distances may differ a little, so they weigh more than any tolerance.
void Core::unit_distances(std::vector<int64_t>* out) const {
  auto until = [&](uint64_t t) { out->push_back(t > now_ ? static_cast<int64_t>(t - now_) : 0); };
  out->clear();
  for (uint64_t t : ready_) until(t);
  for (const Array& a : arrays_) {
    for (uint64_t t : {a.rows_free, a.port_free, a.next_free, a.weights_there}) until(t);
    out->push_back(static_cast<int64_t>(a.results.size() - a.head + a.pushed) << 20);
    if (a.head < a.results.size()) {
      until(a.results[a.head]);
      until(a.results.back());
    }
    until(a.last_accumulated);
  }
  for (uint64_t t : {transposer_free_, transposed_}) until(t);
}

// In 1/256 cycles.
std::array<int64_t, 2> Core::part_distances() const {
  const uint64_t now = now_ * kTick;
  return {eup_free_ > now ? static_cast<int64_t>(eup_free_ - now) : 0,
          static_cast<int64_t>(port_debt_)};
}

void Core::copy_distances(std::vector<int64_t>* out) const {
  auto until = [&](uint64_t t) { out->push_back(t > now_ ? static_cast<int64_t>(t - now_) : 0); };
  out->clear();
  for (size_t i = 0; i < semaphores_.size(); ++i) {
    const Semaphore& s = semaphores_[i];
    if (s.arrivals.empty()) continue;
    out->push_back(static_cast<int64_t>(s.arrivals.size() << 8 | i) << 20);
    for (uint64_t t : s.arrivals) until(t);
  }
  for (size_t i = 0; i < engines_.size(); ++i) until(engines_[(engine_ + i) % engines_.size()]);
  until(hbm_free_ / kTick);
  until(cmem_free_ / kTick);
}

// ---- when a bundle can be issued ---------------------------------------------------------------

bool Core::wait_for_operands(const DecodedBundle& b, uint64_t* time, Cause* cause) {
  for (uint32_t i = b.reads; i < b.reads_end; ++i) {
    if (ready_[code_.reads[i]] > *time) {
      *time = ready_[code_.reads[i]];
      *cause = Cause::Dependency;
    }
  }
  for (uint32_t i = b.timed; i < b.timed_end; ++i)
    if (!wait_for_unit(code_.insts[code_.timed[i]], time, cause)) return false;
  return true;
}

bool Core::wait_for_unit(const DecodedInst& d, uint64_t* time, Cause* cause) {
  auto until = [&](uint64_t t, Cause why) {
    if (t <= *time) return;
    *time = t;
    *cause = why;
  };
  const auto cycles = static_cast<uint64_t>(d.hold.cycles);
  // A push whose turn comes at `begin` may wait in the unit's queue.
  auto queued = [&](uint64_t begin, Cause why) {
    if (begin > queue_ * cycles) until(begin - queue_ * cycles, why);
  };
  switch (d.act) {
    case Act::Weight: {
      const Array& a = arrays_[static_cast<size_t>(d.inst.a[0])];
      queued(std::max(a.port_free, a.next_free), Cause::WeightShift);
      if (shared_.chip.mxu_weight_sets < 2 || shared_.chip.mxu_shared_input)
        queued(a.rows_free, Cause::Dependency);
      return true;
    }
    case Act::Rows:
    case Act::RowsAcc: {
      const Array& a = arrays_[static_cast<size_t>(d.inst.a[0])];
      queued(a.weights_there, Cause::WeightShift);
      queued(a.rows_free, Cause::Dependency);
      if (shared_.chip.mxu_shared_input) queued(a.port_free, Cause::WeightShift);
      if (d.act == Act::Rows) {
        const size_t held = a.results.size() - a.head;
        if (held + static_cast<size_t>(d.results) > results_room_) {
          return fail("tpu-mxu", "array " + std::to_string(d.inst.a[0]) + " holds " +
                                     std::to_string(held) + " results and has room for " +
                                     std::to_string(results_room_) + "; " +
                                     std::to_string(d.results) +
                                     " more would wait for ever: pop before pushing");
        }
      } else {
        const int64_t first = value(d, 3);
        if (first < 0 || first + d.results > static_cast<int64_t>(results_room_)) {
          return fail("tpu-mxu", "accumulators " + std::to_string(first) + " to " +
                                     std::to_string(first + d.results - 1) + ", wanted 0 to " +
                                     std::to_string(results_room_ - 1));
        }
      }
      return true;
    }
    case Act::Pop: {
      const Array& a = arrays_[static_cast<size_t>(d.inst.a[1])];
      if (a.head == a.results.size()) {
        return fail("tpu-mxu", "array " + std::to_string(d.inst.a[1]) +
                                   " has no result to pop; push rows first");
      }
      until(a.results[a.head], Cause::Dependency);
      return true;
    }
    case Act::ReadAcc: {
      const int64_t n = value(d, 2);
      if (n < 0 || n >= static_cast<int64_t>(results_room_)) {
        return fail("tpu-mxu", "accumulator " + std::to_string(n) + ", wanted 0 to " +
                                   std::to_string(results_room_ - 1));
      }
      until(arrays_[static_cast<size_t>(d.inst.a[1])].accumulators[static_cast<size_t>(n)],
            Cause::Dependency);
      return true;
    }
    case Act::TransPush:
    case Act::TransGo:
      until(transposer_free_, Cause::Dependency);
      return true;
    case Act::TransPop:
      until(transposed_, Cause::Dependency);
      return true;
    case Act::Wait: {
      const int64_t n = value(d, 0), wanted = value(d, 1);
      if (n < 0 || n >= kSemaphores) {
        return fail("tpu-address", "semaphore " + std::to_string(n) + ", wanted 0 to " +
                                       std::to_string(kSemaphores - 1));
      }
      Semaphore& s = semaphores_[static_cast<size_t>(n)];
      if (wanted < 0 || static_cast<size_t>(wanted) > s.arrivals.size()) {
        return fail("tpu-deadlock", "semaphore " + std::to_string(n) + " is waited for to hold " +
                                        std::to_string(wanted) + ", and no more than " +
                                        std::to_string(s.arrivals.size()) +
                                        " is on its way; start the copy or signal first");
      }
      if (wanted == 0) return true;
      std::sort(s.arrivals.begin(), s.arrivals.end());
      until(s.arrivals[static_cast<size_t>(wanted) - 1],
            s.weights ? Cause::WeightLoad : Cause::Memory);
      return true;
    }
    default:
      // It takes the next one in the cycle in which it has done with the last.
      if (d.hold.what == Holds::Eup) until(eup_free_ / kTick, Cause::Dependency);
      return true;
  }
}

// ---- what a bundle starts ----------------------------------------------------------------------

bool Core::start(const DecodedInst& d, uint64_t time) {
  const auto cycles = static_cast<uint64_t>(d.hold.cycles);
  switch (d.act) {
    case Act::Weight: {
      Array& a = arrays_[static_cast<size_t>(d.inst.a[0])];
      const bool apart = shared_.chip.mxu_weight_sets < 2 || shared_.chip.mxu_shared_input;
      const uint64_t rows_end = apart ? a.rows_free : 0;
      const uint64_t begin = std::max({time, a.port_free, a.next_free, rows_end});
      a.port_free = begin + cycles;
      a.port.add(begin, a.port_free);
      a.pushed = true;
      return true;
    }
    case Act::Swap: {
      Array& a = arrays_[static_cast<size_t>(d.inst.a[0])];
      const uint64_t latency = static_cast<uint64_t>(shared_.chip.mxu_weight_latency);
      a.weights_there =
          std::max({time, a.rows_free, a.pushed ? a.port_free + latency : uint64_t{0}});
      a.next_free = a.weights_there;
      a.pushed = false;
      return true;
    }
    case Act::Rows:
    case Act::RowsAcc: {
      Array& a = arrays_[static_cast<size_t>(d.inst.a[0])];
      const uint64_t port_end = shared_.chip.mxu_shared_input ? a.port_free : 0;
      const uint64_t begin = std::max({time, a.rows_free, a.weights_there, port_end});
      a.rows_free = begin + cycles;
      a.rows.add(begin, a.rows_free);
      const auto dim = static_cast<uint64_t>(shared_.chip.mxu_dim);
      counts_->v[Raw::kMacs] += static_cast<uint64_t>(d.inst.a[2]) * dim * dim;
      if (a.head > 64 && a.head * 2 > a.results.size()) {
        a.results.erase(a.results.begin(), a.results.begin() + static_cast<ptrdiff_t>(a.head));
        a.head = 0;
      }
      for (int i = 0; i < d.results; ++i) {
        const uint64_t there = begin + static_cast<uint64_t>(result_delay(shared_.chip, d.inst, i));
        if (d.act == Act::Rows) {
          a.results.push_back(there);
        } else {
          a.accumulators[static_cast<size_t>(value(d, 3) + i)] = there;
          a.last_accumulated = there;
          if (steady_) steady_->record(Steady::Fact::Accumulate, value(d, 3) + i, d.inst.a[0]);
        }
      }
      return true;
    }
    case Act::Pop:
      ++arrays_[static_cast<size_t>(d.inst.a[1])].head;
      return true;
    case Act::ReadAcc:
      if (steady_) steady_->record(Steady::Fact::Take, value(d, 2), d.inst.a[1]);
      return true;
    case Act::TransPush:
      transposer_free_ = time + cycles;
      return true;
    case Act::TransGo:
      transposer_free_ = time + cycles;
      transposed_ = time + static_cast<uint64_t>(d.latency);
      return true;
    case Act::Dma:
      return start_copy(d, time);
    case Act::Wait: {
      ++copies_;
      auto& arrivals = semaphores_[static_cast<size_t>(value(d, 0))].arrivals;
      arrivals.erase(arrivals.begin(), arrivals.begin() + value(d, 1));
      return true;
    }
    case Act::Signal: {
      ++copies_;
      const int64_t n = value(d, 0), count = value(d, 1);
      if (n < 0 || n >= kSemaphores || count < 0 || count > 65536) {
        return fail("tpu-address", "signal of semaphore " + std::to_string(n) + " by " +
                                       std::to_string(count) + ", wanted semaphore 0 to " +
                                       std::to_string(kSemaphores - 1) + " by 0 to 65536");
      }
      auto& arrivals = semaphores_[static_cast<size_t>(n)].arrivals;
      arrivals.insert(arrivals.end(), static_cast<size_t>(count), time);
      return true;
    }
    default:
      if (d.hold.what == Holds::Eup) {
        const uint64_t begin = std::max(time * kTick, eup_free_);
        eup_free_ = begin + static_cast<uint64_t>(d.hold.ticks);
        eup_busy_.add(begin / kTick, to_cycle(eup_free_));
      }
      return true;
  }
}

// Both sides lie in their memories. What a run without values does not know is not looked at.
bool Core::in_bounds(const DecodedInst& d) {
  const DmaShape& shape = code_.program->shapes[static_cast<size_t>(d.inst.a[3])];
  const Chip& c = shared_.chip;
  for (int i : {0, 1}) {
    if (!d.inst.is_imm(i) && (unknown_ >> d.inst.a[i] & 1) != 0) continue;
    const auto row = static_cast<uint32_t>(value(d, i));
    const Space space = i == 0 ? shape.from : shape.to;
    const auto [low, high] = (i == 0 ? Side::from(shape, row) : Side::to(shape, row)).box();
    int64_t bytes = c.hbm_bytes;
    uint64_t* peak = nullptr;
    if (space == Space::Vmem) {
      bytes = c.vmem_bytes;
      peak = &vmem_peak_;
    } else if (space == Space::Cmem) {
      bytes = c.cmem_bytes;
      peak = &cmem_peak_;
    } else if (space == Space::Smem) {
      bytes = c.smem_bytes;
      smem_peak_ = std::max(smem_peak_, static_cast<uint64_t>(high) * kRowWords);
    }
    if (low < 0 || high > bytes / kRowBytes) {
      return fail("tpu-address", "the copy touches " + std::string(name(space)) + " " +
                                     rows_text(low, high) + "; " + c.name + " has " +
                                     std::to_string(bytes / kRowBytes) + " there");
    }
    if (peak != nullptr) *peak = std::max(*peak, static_cast<uint64_t>(high));
  }
  return true;
}

bool Core::start_copy(const DecodedInst& d, uint64_t time) {
  ++copies_;
  const int64_t n = value(d, 2);
  if (n < 0 || n >= kSemaphores) {
    return fail("tpu-address", "semaphore " + std::to_string(n) + ", wanted 0 to " +
                                   std::to_string(kSemaphores - 1));
  }
  if (!in_bounds(d)) return false;
  const DecodedShape& s = code_.shapes[static_cast<size_t>(d.inst.a[3])];
  uint64_t& engine = engines_[engine_];
  engine_ = (engine_ + 1) % engines_.size();
  const uint64_t first_byte = std::max(time, engine) + dma_latency_;
  uint64_t begin = first_byte * kTick, end = begin;
  auto ride = [&](uint64_t* bus_free, uint64_t bytes, double cycles_per_byte) {
    if (bytes == 0) return;
    begin = std::max(begin, *bus_free);
    const auto ticks =
        static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * cycles_per_byte * kTick));
    *bus_free = begin + ticks;
    end = std::max(end, *bus_free);
  };
  ride(&hbm_free_, s.hbm_bus, hbm_cycles_per_byte_);
  ride(&cmem_free_, s.cmem_bus, cmem_cycles_per_byte_);
  // Between on-chip memories only: as fast as vector memory's ports, half of them for each side.
  if (s.hbm_bus + s.cmem_bus == 0) end = begin + s.rows * kTick * kTick * 2 / (ports_ * kSublanes);
  const uint64_t arrival = std::max(to_cycle(end), first_byte + 1);
  engine = arrival;
  dma_busy_.add(begin / kTick, arrival);
  last_arrival_ = std::max(last_arrival_, arrival);
  Semaphore& sem = semaphores_[static_cast<size_t>(n)];
  sem.arrivals.push_back(arrival);
  sem.weights = s.weights;
  Raw& r = *counts_;
  r.v[Raw::kHbmRead] += s.read_bytes;
  r.v[Raw::kHbmWrite] += s.write_bytes;
  r.v[Raw::kHbmBus] += s.hbm_bus;
  if (!mode_.values && code_.program->shapes[static_cast<size_t>(d.inst.a[3])].to == Space::Smem)
    copy_scalars(d);
  return true;
}

// In a run without values scalar memory still holds what is bound: sizes and counters that jumps
// depend on. The rest is not known.
void Core::copy_scalars(const DecodedInst& d) {
  const DmaShape& shape = code_.program->shapes[static_cast<size_t>(d.inst.a[3])];
  for (uint64_t i = 0; i < shape.total_rows(); ++i) {
    uint64_t n = i / shape.rows;
    int64_t from =
        int64_t{static_cast<uint32_t>(value(d, 0))} + static_cast<int64_t>(i % shape.rows);
    int64_t to = int64_t{static_cast<uint32_t>(value(d, 1))} + static_cast<int64_t>(i % shape.rows);
    for (size_t dim = 3; dim-- > 0; n /= shape.dims[dim].count) {
      from += static_cast<int64_t>(n % shape.dims[dim].count) * shape.dims[dim].from_stride;
      to += static_cast<int64_t>(n % shape.dims[dim].count) * shape.dims[dim].to_stride;
    }
    if (to < 0 || static_cast<uint64_t>(to + 1) * kRowWords > smem_.size()) continue;
    const std::byte* row = shape.from == Space::Hbm && from >= 0
                               ? shared_.hbm.find(static_cast<uint64_t>(from), 1, false)
                               : nullptr;
    const auto word = static_cast<size_t>(to) * kRowWords;
    if (row != nullptr) std::memcpy(&smem_[word], row, kRowBytes);
    std::fill_n(smem_unknown_.begin() + static_cast<ptrdiff_t>(word), kRowWords, row == nullptr);
  }
}

// ---- scalars and jumps -------------------------------------------------------------------------

bool Core::run_scalars(const DecodedBundle& b) {
  struct Result {
    int reg;
    int32_t value;
    bool unknown;
  };
  Result results[kMostScalars];
  size_t n = 0;
  struct SmemStore {
    int64_t word;
    int32_t value;
    bool unknown;
  };
  SmemStore stores[kMostScalars];
  size_t num_stores = 0;
  uint32_t next = pc_ + 1;
  bool taken = false, bubble = false;
  const DecodedInst* jump = nullptr;
  Steady* const log = steady_.get();
  using Fact = Steady::Fact;

  auto known = [&](const DecodedInst& d, int i) {
    return d.inst.is_imm(i) || (unknown_ >> d.inst.a[i] & 1) == 0;
  };
  for (uint32_t i = b.scalars; i < b.scalars_end; ++i) {
    const DecodedInst& d = code_.insts[code_.scalars[i]];
    const Inst& in = d.inst;
    switch (d.act) {
      case Act::Branch: {
        if (in.op == Op::Halt) {
          halted_ = true;
          break;
        }
        jump = &d;
        if (in.op == Op::Jump) {
          taken = bubble = true;
          next = static_cast<uint32_t>(in.a[0]);
          break;
        }
        const int32_t v = scalars_[static_cast<size_t>(in.a[0])];
        if ((unknown_ >> in.a[0] & 1) != 0) {
          return fail("tpu-data",
                      "a jump depends on data, which a run for timing only does not "
                      "have; run with values and the bundle clock");
        }
        if (in.op == Op::Loop) {
          const auto left = static_cast<int32_t>(static_cast<uint32_t>(v) - 1);
          results[n++] = {in.a[0], left, false};
          taken = left > 0;
          if (log != nullptr) log->record(Fact::Sign, left);
        } else {
          taken = bubble = (v != 0) == (in.op == Op::JumpNz);
          if (log != nullptr) log->record(Fact::Sign, v);
        }
        if (taken) next = static_cast<uint32_t>(in.a[1]);
        break;
      }
      case Act::SLoad:
      case Act::SStore: {
        const bool is_load = d.act == Act::SLoad;
        const int at = is_load ? 1 : 0;
        const int64_t word = int64_t{value(d, at)} + in.a[at + 1];
        const bool sure = known(d, at);
        if (sure && (word < 0 || word >= static_cast<int64_t>(smem_.size()))) {
          return fail("tpu-address", "SMEM word " + std::to_string(word) + ", wanted 0 to " +
                                         std::to_string(smem_.size() - 1));
        }
        if (sure) smem_peak_ = std::max(smem_peak_, static_cast<uint64_t>(word) + 1);
        if (is_load) {
          // In a run without values a table that a copy brought is not there.
          const bool fixed = in.is_imm(at) && !smem_unknown_[static_cast<size_t>(word)];
          results[n++] = {in.a[0], sure ? smem_[static_cast<size_t>(word)] : 0,
                          !mode_.values && !fixed};
        } else if (sure) {
          stores[num_stores++] = {word, value(d, 2), !known(d, 2)};
          if (log != nullptr && known(d, 2))
            log->record(Fact::Store, static_cast<int32_t>(word), value(d, 2));
        }
        break;
      }
      case Act::CoreId:
        results[n++] = {in.a[0], id_, false};
        break;
      case Act::ToScalar:
        results[n++] = {
            in.a[0], mode_.values ? static_cast<int32_t>(values_->word(in.a[1], value(d, 2))) : 0,
            !mode_.values};
        break;
      default: {
        const int operands = in.op == Op::SMov ? 1 : in.op == Op::SSel ? 3 : 2;
        const int32_t x = value(d, 1);
        const int32_t y = operands > 1 ? value(d, 2) : 0;
        const int32_t z = operands > 2 ? value(d, 3) : 0;
        bool sure = true;
        for (int k = 1; k <= operands; ++k) sure &= known(d, k);
        if (log != nullptr && sure) {
          switch (in.op) {
            case Op::SMov:
            case Op::SAdd:
            case Op::SSub:
              break;
            case Op::SMul:
              log->record(Fact::Mul, x, y);
              break;
            case Op::SAnd:
              log->record(Fact::And, x, y);
              break;
            case Op::SShl:
              log->record(Fact::Fixed, 0, y);
              break;
            case Op::SShr:
            case Op::SSra:
              log->record(Fact::Shift, x, y);
              break;
            case Op::SDiv:
            case Op::SRem:
              log->record(Fact::Div, x, y);
              break;
            case Op::SOr:
            case Op::SXor:
              log->record(Fact::Fixed, x, y);
              break;
            case Op::SSel:
              log->record(Fact::Sign, x);
              break;
            default:
              log->record(Fact::Compare, x, y);
          }
        }
        results[n++] = {in.a[0], scalar_value(in.op, x, y, z), !sure};
      }
    }
  }
  if (mode_.values && !run_vectors(b)) return false;
  for (size_t i = 0; i < n; ++i) {
    scalars_[static_cast<size_t>(results[i].reg)] = results[i].value;
    const uint32_t bit = 1u << results[i].reg;
    unknown_ = results[i].unknown ? unknown_ | bit : unknown_ & ~bit;
  }
  for (size_t i = 0; i < num_stores; ++i) {
    smem_[static_cast<size_t>(stores[i].word)] = stores[i].value;
    smem_unknown_[static_cast<size_t>(stores[i].word)] = stores[i].unknown;
  }
  if (halted_) return true;
  if (next >= code_.bundles.size()) {
    return fail("tpu-deadlock", "the program ends without halt; end it with halt");
  }
  const uint32_t from = pc_;
  pc_ = next;
  if (bubble && mode_.timing && shared_.chip.branch_latency > 1)
    advance(static_cast<uint64_t>(shared_.chip.branch_latency) - 1, Cause::Issue, nullptr);
  if (log != nullptr && jump != nullptr) {
    if (taken && next <= from) {
      const bool counted = jump->inst.op == Op::Loop;
      log->jumped_back(from, next, counted ? scalars_[static_cast<size_t>(jump->inst.a[0])] : -1);
    } else if (!taken && static_cast<uint32_t>(jump->inst.a[1]) <= from) {
      log->left(from);
    }
  }
  return true;
}

// ---- one bundle --------------------------------------------------------------------------------

bool Core::step() {
  const DecodedBundle& b = code_.bundles[pc_];
  ++stepped_;
  uint64_t time = now_;
  Cause cause = Cause::Dependency;
  counts_ = &raw_[b.kernel];
  if (!wait_for_operands(b, &time, &cause)) return false;
  if (mode_.timing) {
    if (time > now_) advance(time - now_, cause, nullptr);
    if (b.vmem > 0 && port_debt_ > kPortBuffer)
      advance((port_debt_ - kPortBuffer + ports_ - 1) / ports_, Cause::OnchipPort, nullptr);
    time = now_;
    ++counts_->v[Raw::kBundles];
    counts_->v[Raw::kInstructions] += b.insts_end - b.insts;
    for (uint32_t i = b.writes; i < b.writes_end; ++i)
      ready_[code_.writes[i].reg] = time + code_.writes[i].latency;
  }
  for (uint32_t i = b.timed; i < b.timed_end; ++i)
    if (!start(code_.insts[code_.timed[i]], time)) return false;
  if (mode_.timing) advance(1, Cause::Issue, &b);
  return run_scalars(b);
}

Core::Stop Core::run(uint64_t max_cycles, uint64_t max_bundles) {
  while (!halted_) {
    if (pc_ >= code_.bundles.size()) {
      error_ = Error{"tpu-bundle", "the program has no bundle; end it with halt", {}, {}};
      return Stop::Error;
    }
    const DecodedBundle& b = code_.bundles[pc_];
    for (uint32_t i = b.timed; i < b.timed_end && !passed_; ++i) {
      const DecodedInst& d = code_.insts[code_.timed[i]];
      if (d.act != Act::Barrier && d.act != Act::Host) continue;
      passed_ = true;
      if (steady_ && (d.act == Act::Host || shared_.chip.cores > 1))
        steady_->record(Steady::Fact::Stop, 0);
      if (d.act == Act::Barrier) return Stop::Barrier;
      host_step_ = d.inst.a[0];
      return Stop::Host;
    }
    passed_ = false;
    if (endless_) {
      fail("tpu-cycle-limit", "the loop that begins here repeats for ever");
      return Stop::Error;
    }
    if (now_ > max_cycles || stepped_ >= max_bundles) {
      fail("tpu-cycle-limit", "the program has not ended after " + std::to_string(now_) +
                                  " cycles and " + std::to_string(stepped_) +
                                  " bundles; if it is meant to run longer, raise the limit");
      return Stop::Error;
    }
    if (!step()) return Stop::Error;
  }
  return Stop::Halt;
}

}  // namespace tenfold::tpu
