// A chip of the bundle family that runs programs: their values, their cycles, or both.
//
// Values never depend on the clock: a copy's bytes move when it is started, a bundle's effects
// happen when it is issued, in program order. So a run gives the same bits with timing on or off,
// in either mode, on any host. What a program may not rely on (reading what a copy brings before
// waiting for it) is an error, `tpu-race`, in runs with values.
//
// Cycles come from isa/timing.h; the chip's cores run the same program (coreid tells them apart)
// and share HBM evenly, but for those that halt before their first copy. A barrier or a host step
// waits for every core that has not halted. DMA: a copy's first byte moves dma_latency after its
// start; the memory's bus serves copies in order at hbm_gbps x hbm_efficiency / cores, each run of
// neighbouring bytes rounded up to granules; HBM to HBM pays twice.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "tpu/chips/chip.h"
#include "tpu/isa/isa.h"
#include "tpu/sim/report.h"

namespace tenfold::tpu {

enum class Clock : uint8_t {
  Bundle,  // every bundle is stepped
  Tile,    // loops whose iterations have become alike are multiplied out; no values
};

struct RunOptions {
  bool values = true;  // needs HBM bound; not with Clock::Tile
  bool timing = true;  // off: only values; the report's counts of cycles stay 0
  Clock clock = Clock::Bundle;
  uint64_t max_cycles = uint64_t{1} << 40;   // simulated; more is an error, `tpu-cycle-limit`
  uint64_t max_bundles = uint64_t{1} << 31;  // really stepped; likewise
};

class Machine {
 public:
  explicit Machine(const Chip& chip);
  ~Machine();
  Machine(Machine&&) noexcept;

  // Checks the program against the chip (isa/timing.h) and keeps a reference to it.
  // Errors: tpu-bundle; tpu-family.
  Status load(const Program& program);

  // HBM from `row` on is these bytes, a whole number of rows; they outlive the machine's runs.
  // Error: tpu-address when rows are bound already or beyond the chip's memory.
  Status bind(uint32_t row, std::span<std::byte> bytes);
  // Likewise, read only: a copy into it is an error.
  Status bind(uint32_t row, std::span<const std::byte> bytes);
  // Zeroed memory of the machine's own there.
  Status bind_scratch(uint32_t row, uint32_t rows);

  // Called at each `host` instruction of a run with values, when every core has come there; may
  // read and write bound HBM.
  void on_host(std::function<Status(int step)> callback);

  // Runs from bundle 0 until every core halts. The on-chip memories start as zeros.
  // Errors: tpu-address, tpu-race, tpu-deadlock, tpu-mxu, tpu-cycle-limit, tpu-data (a run
  // without values at a jump that depends on data; bound HBM copied to SMEM is known), each with
  // the bundle and its text; those of the host's steps.
  Result<Report> run(const RunOptions& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenfold::tpu
