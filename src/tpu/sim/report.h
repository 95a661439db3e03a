// What a run says about itself: every cycle of every unit with one cause, in whole and by kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tenfold::tpu {

enum class Unit : uint8_t { Mxu, Valu, Eup, Xlu, VLoad, VStore, Scalar, Dma, Ici, Host };
inline constexpr int kNumUnits = 10;

// Why a unit did what it did in a cycle. For a unit at work: compute. For the others what the core
// was held by, and `issue` while the core issued bundles that had nothing for this unit.
enum class Cause : uint8_t {
  Compute,
  WeightLoad,   // a copy of weights from HBM is waited for
  WeightShift,  // weights move into the array and no row is multiplied meanwhile
  Memory,       // another copy is waited for (dma: its latency, before the first byte)
  OnchipPort,   // vector memory moves as many registers as it can
  Dependency,   // a result is waited for: a register, a unit that is taken, a full queue
  Issue,
  Sync,  // the other core, the host, the program's start and end
  Idle,  // nothing is left to do
};
inline constexpr int kNumCauses = 9;

std::string_view name(Unit u);
std::string_view name(Cause c);

// Counts of a stretch of the program. Additive: the whole is the sum over kernels.
struct Counts {
  uint64_t cycles = 0;
  // units[u][c]: each row adds up to `cycles`.
  std::array<std::array<uint64_t, kNumCauses>, kNumUnits> units{};
  uint64_t bundles = 0;       // issued
  uint64_t instructions = 0;  // in them
  // Multiplications that the arrays' cells made, useful or padding: rows x dim x dim each.
  uint64_t array_macs = 0;
  uint64_t hbm_read_bytes = 0, hbm_write_bytes = 0;  // as copied
  uint64_t hbm_bus_bytes = 0;                        // as paid, short runs rounded to granules
  uint64_t host_bytes = 0;

  uint64_t at(Unit u, Cause c) const {
    return units[static_cast<size_t>(u)][static_cast<size_t>(c)];
  }
  uint64_t busy(Unit u) const { return at(u, Cause::Compute); }
};

struct Report {
  Counts total;
  std::vector<Counts> kernels;  // as Program::kernels
  Counts outside;               // bundles of no kernel, the start and the end
  double microseconds = 0;
  uint64_t vmem_peak_bytes = 0, cmem_peak_bytes = 0, smem_peak_bytes = 0;  // highest byte touched
  uint64_t simulated_bundles = 0;  // that were really stepped; tile mode skips the rest
};

}  // namespace tenfold::tpu
