// A chip as the scheduler sees it: which resources an instruction takes and how long its result is
// on its way. All numbers are timing.h's, which the simulator counts with.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/tpu/code/kernel_code.h"
#include "backends/tpu/code/schedule.h"
#include "tpu/isa/timing.h"

namespace tenfold::tpu::code {

class Machine {
 public:
  explicit Machine(const Chip& chip);
  const Chip& chip() const { return chip_; }
  // Resources: the slots in the order of Slot, then the units that are held for longer.
  const std::vector<int>& capacity() const { return capacity_; }
  std::string resource_name(int r) const;
  const ResourceUses* uses(const Instr& in);  // the same pointer for the same uses
  int latency(Op op) const { return latency_[static_cast<int>(op)]; }
  int registers(RegKind k) const;
  int queue_entries() const { return queue_entries_; }

 private:
  const Chip& chip_;
  std::vector<int> capacity_;
  std::array<int, kNumOps> latency_{};
  int queue_entries_ = 0;
  std::map<uint64_t, std::unique_ptr<ResourceUses>> interned_;
};

// What an instruction does to the units that keep something between instructions.
enum class UnitRole : uint8_t { None, Weight, Swap, Stage, Rows, AccRows, Pop, AccRead };
UnitRole unit_role(const Instr& in);
int array_of(const Instr& in);  // of those with a role

}  // namespace tenfold::tpu::code
