#include "tpu/sim/machine.h"

#include <algorithm>
#include <cmath>

#include "tpu/isa/timing.h"
#include "tpu/sim/core.h"
#include "tpu/sim/core_values.h"

namespace tenfold::tpu {
namespace {

constexpr std::string_view kUnitNames[kNumUnits] = {"mxu",    "valu",   "eup", "xlu", "vload",
                                                    "vstore", "scalar", "dma", "ici", "host"};
constexpr std::string_view kCauseNames[kNumCauses] = {"compute", "weight_load", "weight_shift",
                                                      "memory",  "onchip_port", "dependency",
                                                      "issue",   "sync",        "idle"};

// Shares of `parts` (whose sum is `sum`) scaled to whole numbers that add up to `total`.
std::array<uint64_t, kNumCauses> scaled(const std::array<uint64_t, kNumCauses>& parts, uint64_t sum,
                                        uint64_t total) {
  std::array<uint64_t, kNumCauses> out{};
  if (sum == 0) return out;
  uint64_t seen = 0, given = 0;
  for (size_t c = 0; c < kNumCauses; ++c) {
    seen += parts[c];
    const auto until = static_cast<uint64_t>(static_cast<unsigned __int128>(seen) * total / sum);
    out[c] = until - given;
    given = until;
  }
  return out;
}

// Counters of all cores as one device's.
Counts counts_of(const Raw& r, uint64_t cores) {
  Counts c;
  const uint64_t sum = r.cycles();
  c.cycles = sum / cores;
  auto group = [&](Raw::Index first) {
    std::array<uint64_t, kNumCauses> parts{};
    for (size_t i = 0; i < kNumCauses; ++i) parts[i] = r.v[first + i];
    return parts;
  };
  const auto core = group(Raw::kCore);
  auto row = [&](Unit u) -> std::array<uint64_t, kNumCauses>& {
    return c.units[static_cast<size_t>(u)];
  };
  const auto compute = static_cast<size_t>(Cause::Compute);
  const auto issue = static_cast<size_t>(Cause::Issue);
  for (Unit u : {Unit::Valu, Unit::Xlu, Unit::VLoad, Unit::VStore, Unit::Scalar}) {
    auto parts = core;
    const uint64_t used = r.v[Raw::kSlot + static_cast<size_t>(u)];
    parts[compute] += used;
    parts[issue] -= used;
    row(u) = scaled(parts, sum, c.cycles);
  }
  const auto mxu = group(Raw::kMxu);
  uint64_t mxu_sum = 0;
  for (uint64_t v : mxu) mxu_sum += v;
  row(Unit::Mxu) = scaled(mxu, mxu_sum, c.cycles);
  row(Unit::Dma) = scaled(group(Raw::kDma), sum, c.cycles);
  row(Unit::Eup) = scaled(group(Raw::kEup), sum, c.cycles);
  row(Unit::Ici)[static_cast<size_t>(Cause::Idle)] = c.cycles;
  const uint64_t host = std::min(c.cycles, r.v[Raw::kHostBusy] / cores);
  row(Unit::Host)[compute] = host;
  row(Unit::Host)[static_cast<size_t>(Cause::Idle)] = c.cycles - host;
  c.bundles = r.v[Raw::kBundles];
  c.instructions = r.v[Raw::kInstructions];
  c.array_macs = r.v[Raw::kMacs];
  c.hbm_read_bytes = r.v[Raw::kHbmRead];
  c.hbm_write_bytes = r.v[Raw::kHbmWrite];
  c.hbm_bus_bytes = r.v[Raw::kHbmBus];
  c.host_bytes = r.v[Raw::kHostBytes] / cores;
  return c;
}

void add(Raw& to, const Raw& r) {
  for (size_t i = 0; i < Raw::kSize; ++i) to.v[i] += r.v[i];
}

}  // namespace

std::string_view name(Unit u) { return kUnitNames[static_cast<size_t>(u)]; }
std::string_view name(Cause c) { return kCauseNames[static_cast<size_t>(c)]; }

struct Machine::Impl {
  explicit Impl(const Chip& c) : chip(c), hbm(static_cast<uint64_t>(c.hbm_bytes) / kRowBytes) {}

  // When all cores have stopped for the same reason, time is the latest of theirs.
  Result<Report> run(const RunOptions& o);
  Status host(std::vector<std::unique_ptr<Core>>& cores, const RunOptions& o, int step);
  Report report(std::vector<std::unique_ptr<Core>>& cores) const;

  Chip chip;
  Hbm hbm;
  const Program* program = nullptr;
  Code code;
  std::function<Status(int)> on_host;
};

Machine::Machine(const Chip& chip) : impl_(std::make_unique<Impl>(chip)) {}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;

Status Machine::load(const Program& program) {
  if (impl_->chip.family != Family::Bundle || impl_->chip.mxu_dim % kLanes != 0) {
    return Error{"tpu-family",
                 "chip " + impl_->chip.name +
                     " does not run bundles; wanted one of the bundle family with arrays of a "
                     "multiple of 128",
                 {},
                 {}};
  }
  TF_TRY(check(program, impl_->chip));
  impl_->program = &program;
  impl_->code = decode_for(program, impl_->chip);
  return ok_status();
}

Status Machine::bind(uint32_t row, std::span<std::byte> bytes) {
  return impl_->hbm.bind(row, bytes.data(), bytes.size() / kRowBytes, true);
}
Status Machine::bind(uint32_t row, std::span<const std::byte> bytes) {
  return impl_->hbm.bind(row, const_cast<std::byte*>(bytes.data()), bytes.size() / kRowBytes,
                         false);
}
Status Machine::bind_scratch(uint32_t row, uint32_t rows) {
  return impl_->hbm.bind_scratch(row, rows);
}
void Machine::on_host(std::function<Status(int)> callback) { impl_->on_host = std::move(callback); }
Result<Report> Machine::run(const RunOptions& options) { return impl_->run(options); }

Status Machine::Impl::host(std::vector<std::unique_ptr<Core>>& cores, const RunOptions& o,
                           int step) {
  const HostStep& s = program->host_steps[static_cast<size_t>(step)];
  if (o.timing) {
    double us = 0;
    for (uint64_t bytes : {s.bytes_to_host, s.bytes_from_host}) {
      if (bytes > 0)
        us += chip.host_latency_us + static_cast<double>(bytes) / (chip.host_gbps * 1e3);
    }
    const auto cycles = static_cast<uint64_t>(std::ceil(us * chip.clock_mhz));
    for (auto& c : cores) c->host_at_work(cycles, s.bytes_to_host + s.bytes_from_host);
  }
  if (o.values && on_host) TF_TRY(on_host(step));
  return ok_status();
}

Result<Report> Machine::Impl::run(const RunOptions& o) {
  TF_CHECK(program != nullptr, "load a program before running");
  const bool tile = o.clock == Clock::Tile;
  const Core::Mode mode{o.values && !tile, o.timing || tile, tile};
  std::unique_ptr<OnChip> cmem;
  if (mode.values && chip.cmem_bytes > 0)
    cmem = std::make_unique<OnChip>(static_cast<uint64_t>(chip.cmem_bytes));
  const Shared shared{chip, hbm, cmem.get()};
  std::vector<std::unique_ptr<Core>> cores;
  for (int64_t i = 0; i < chip.cores; ++i)
    cores.push_back(std::make_unique<Core>(shared, code, static_cast<int>(i), mode));
  const auto launch = static_cast<uint64_t>(std::llround(chip.launch_us * chip.clock_mhz));
  if (mode.timing)
    for (auto& c : cores) c->sleep_until(launch, Cause::Sync);
  for (;;) {
    // The last core first: one that ends without a copy leaves its share of the memory to the rest.
    Core::Stop stop = Core::Stop::Halt;
    int step = -1;
    uint64_t latest = 0;
    for (size_t i = cores.size(); i-- > 0;) {
      if (mode.timing) {
        cores[i]->share(cores.size() -
                        static_cast<size_t>(std::count_if(
                            cores.begin(), cores.end(), [](const auto& c) { return c->idle(); })));
      }
      const Core::Stop s = cores[i]->run(o.max_cycles, o.max_bundles);
      if (s == Core::Stop::Error) return cores[i]->error();
      latest = std::max(latest, cores[i]->now());
      if (s == Core::Stop::Halt) continue;  // waits for nobody, and nobody for it
      if (stop != Core::Stop::Halt && (s != stop || cores[i]->host_step() != step)) {
        return Error{"tpu-deadlock",
                     "core " + std::to_string(i) +
                         " and the cores after it do not come to the same barrier or host step; "
                         "every core that runs must pass each",
                     {},
                     {}};
      }
      stop = s;
      step = cores[i]->host_step();
    }
    if (stop == Core::Stop::Halt && mode.timing) {
      for (auto& c : cores) {
        c->drain();
        latest = std::max(latest, c->now());
      }
    }
    const Cause cause = stop == Core::Stop::Halt ? Cause::Idle : Cause::Sync;
    if (mode.timing)
      for (auto& c : cores) c->sleep_until(latest, cause);
    if (stop == Core::Stop::Halt) return report(cores);
    RunOptions here = o;
    here.values = mode.values;
    here.timing = mode.timing;
    if (stop == Core::Stop::Host) TF_TRY(host(cores, here, step));
  }
}

Report Machine::Impl::report(std::vector<std::unique_ptr<Core>>& cores) const {
  Report r;
  const auto n = static_cast<uint64_t>(cores.size());
  std::vector<Raw> sums(program->kernels.size() + 1);
  Raw total;
  for (auto& c : cores) {
    for (size_t k = 0; k < sums.size(); ++k) add(sums[k], c->counters()[k]);
    r.simulated_bundles += c->stepped();
    r.vmem_peak_bytes = std::max(r.vmem_peak_bytes, c->vmem_peak_rows() * kRowBytes);
    r.cmem_peak_bytes = std::max(r.cmem_peak_bytes, c->cmem_peak_rows() * kRowBytes);
    r.smem_peak_bytes = std::max(r.smem_peak_bytes, c->smem_peak_words() * 4);
  }
  for (const Raw& s : sums) add(total, s);
  r.total = counts_of(total, n);
  r.outside = counts_of(sums[0], n);
  for (size_t k = 1; k < sums.size(); ++k) r.kernels.push_back(counts_of(sums[k], n));
  r.microseconds = chip.microseconds(static_cast<double>(r.total.cycles));
  return r;
}

}  // namespace tenfold::tpu
