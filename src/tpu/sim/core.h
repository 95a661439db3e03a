// One core: issues a program's bundles in order, keeps the time of every unit, and computes.
//
// The clock and the values are two halves that share only the scalar registers: core.cc decides
// when, core_values.cc what.
#pragma once

#include <string>

#include "tpu/chips/chip.h"
#include "tpu/sim/code.h"
#include "tpu/sim/memory.h"
#include "tpu/sim/steady.h"
#include "tpu/sim/timeline.h"

namespace tenfold::tpu {

struct Shared {
  const Chip& chip;
  Hbm& hbm;
  OnChip* cmem;  // with values
};

class Core {
 public:
  struct Mode {
    bool values, timing, tile;
  };
  enum class Stop { Halt, Barrier, Host, Error };

  Core(const Shared& shared, const Code& code, int id, Mode mode);
  ~Core();

  // Until something outside the core is wanted. Barrier and Host stop before their bundle; the next
  // call passes it.
  Stop run(uint64_t max_cycles, uint64_t max_bundles);
  Error error() const { return error_; }
  int host_step() const { return host_step_; }

  // By how many cores the memories' buses are shared.
  void share(uint64_t cores);
  bool idle() const { return halted_ && copies_ == 0; }

  uint64_t now() const { return now_; }
  // Nothing happens on this core until `time`.
  void sleep_until(uint64_t time, Cause cause);
  void host_at_work(uint64_t cycles, uint64_t bytes);
  // Lets what is on its way arrive.
  void drain();
  const std::vector<Raw>& counters() const { return raw_; }  // [0]: no kernel
  uint64_t stepped() const { return stepped_; }
  uint64_t vmem_peak_rows() const { return vmem_peak_; }
  uint64_t cmem_peak_rows() const { return cmem_peak_; }
  uint64_t smem_peak_words() const { return smem_peak_; }

 private:
  friend class Steady;
  struct Values;
  struct Array {  // the clock of one matrix unit
    uint64_t rows_free = 0, port_free = 0;
    uint64_t next_free = 0;         // from when the next set of weights may be filled
    uint64_t weights_there = 0;     // from when rows may use the present set
    bool pushed = false;            // weights since the last swap
    std::vector<uint64_t> results;  // when each is there, oldest at `head`
    size_t head = 0;
    std::vector<uint64_t> accumulators;  // when each is there
    uint64_t last_accumulated = 0;       // the latest of them
    Busy rows, port;
  };
  struct Semaphore {
    std::vector<uint64_t> arrivals;  // of what has been or will be added
    bool weights = false;            // the last copy carried weights
  };

  int32_t value(const DecodedInst& d, int i) const {
    return d.inst.is_imm(i) ? d.inst.a[i] : scalars_[static_cast<size_t>(d.inst.a[i])];
  }
  bool fail(std::string_view id, const std::string& message);

  // The clock.
  bool wait_for_operands(const DecodedBundle& b, uint64_t* time, Cause* cause);
  bool wait_for_unit(const DecodedInst& d, uint64_t* time, Cause* cause);
  bool start(const DecodedInst& d, uint64_t time);
  bool start_copy(const DecodedInst& d, uint64_t time);
  bool in_bounds(const DecodedInst& d);
  void copy_scalars(const DecodedInst& d);
  void advance(uint64_t cycles, Cause cause, const DecodedBundle* issued);
  bool step();
  bool run_scalars(const DecodedBundle& b);
  // Distances from now: of registers and units; of copies and what they use.
  void unit_distances(std::vector<int64_t>* out) const;
  void copy_distances(std::vector<int64_t>* out) const;
  std::array<int64_t, 2> part_distances() const;
  void shift_units(uint64_t by);
  void shift_copies(uint64_t by);
  uint64_t count_dma(uint64_t begin, uint64_t cycles, Cause cause);

  // The values (core_values.cc).
  bool run_vectors(const DecodedBundle& b);
  bool load(const DecodedInst& d, uint32_t* to);
  bool store(const DecodedInst& d);
  bool copy(const DecodedInst& d);
  bool matrix(const DecodedInst& d, uint32_t* to);
  void waited(const DecodedInst& d);
  bool may_touch(uint64_t row, int64_t stride, const uint8_t* mask, bool write);

  const Shared& shared_;
  const Code& code_;
  const int id_;
  const Mode mode_;
  std::unique_ptr<Values> values_;
  std::unique_ptr<Steady> steady_;  // tile mode

  uint32_t pc_ = 0;
  uint64_t now_ = 0;
  uint64_t stepped_ = 0;
  bool passed_ = false;  // the barrier or host step at pc_
  bool halted_ = false;
  bool endless_ = false;  // a loop whose state comes back and that nothing ends
  int host_step_ = -1;
  Error error_;

  std::array<int32_t, kScalarRegs> scalars_{};
  uint32_t unknown_ = 0;  // scalar registers whose value a run without values cannot know
  std::vector<int32_t> smem_;
  std::vector<bool> smem_unknown_;  // words likewise

  std::array<uint64_t, kAllRegs> ready_{};
  std::vector<Array> arrays_;
  std::array<Semaphore, kSemaphores> semaphores_;
  std::vector<uint64_t> engines_;  // when each copy engine is free, used in turn
  size_t engine_ = 0;
  uint64_t hbm_free_ = 0, cmem_free_ = 0;  // in 1/256 cycles
  uint64_t last_arrival_ = 0;
  uint64_t copies_ = 0;    // started, and waits
  uint64_t eup_free_ = 0;  // in 1/256 cycles
  uint64_t transposer_free_ = 0, transposed_ = 0;
  Busy eup_busy_, dma_busy_;
  uint64_t port_debt_ = 0;  // registers that copies still have to move, in 1/256

  // From the chip, in cycles.
  uint64_t queue_, dma_latency_;
  uint64_t ports_;          // registers that vector memory moves in a cycle, in 1/256
  uint64_t bus_registers_;  // that HBM's bus brings in a cycle, in 1/256
  double hbm_cycles_per_byte_, cmem_cycles_per_byte_;
  bool fractional_;  // some unit's time is no whole number of cycles
  size_t results_room_;

  std::vector<Raw> raw_;
  Raw* counts_ = nullptr;
  uint64_t vmem_peak_ = 0, cmem_peak_ = 0, smem_peak_ = 0;
};

}  // namespace tenfold::tpu
