#include "backends/tpu/code/machine.h"

#include <algorithm>

namespace tenfold::tpu::code {
namespace {

Inst plain(const Instr& in) {
  Inst i;
  i.op = in.op;
  i.imm = in.imm;
  i.a = in.a;
  return i;
}

}  // namespace

Machine::Machine(const Chip& chip) : chip_(chip) {
  for (int s = 0; s < kNumSlots; ++s) capacity_.push_back(slots(chip, static_cast<Slot>(s)));
  // WeightPort and Rows of each array, then Eup and Transposer.
  capacity_.resize(kNumSlots + 2 * std::max<int64_t>(chip.mxu_count, 0) + 2, 1);
  for (int o = 0; o < kNumOps; ++o) latency_[o] = tpu::latency(chip, static_cast<Op>(o));
  queue_entries_ = result_queue_entries(chip);
}

std::string Machine::resource_name(int r) const {
  if (r < kNumSlots) return std::string(name(static_cast<Slot>(r)));
  r -= kNumSlots;
  int n = static_cast<int>(chip_.mxu_count);
  if (r < n) return "weights of array " + std::to_string(r);
  if (r < 2 * n) return "rows of array " + std::to_string(r - n);
  return r == 2 * n ? "eup" : "transposer";
}

const ResourceUses* Machine::uses(const Instr& in) {
  Hold h = hold(chip_, plain(in));
  int slot = static_cast<int>(info(in.op).slot), unit = -1;
  int n = static_cast<int>(chip_.mxu_count);
  switch (h.what) {
    case Holds::Nothing:
      break;
    case Holds::WeightPort:
      // Weights may come in by the path of the rows.
      unit = kNumSlots + (chip_.mxu_shared_input ? n : 0) + in.a[0];
      break;
    case Holds::Rows:
      unit = kNumSlots + n + in.a[0];
      break;
    case Holds::Eup:
      unit = kNumSlots + 2 * n;
      break;
    case Holds::Transposer:
      unit = kNumSlots + 2 * n + 1;
      break;
  }
  uint64_t key = static_cast<uint64_t>(slot) | static_cast<uint64_t>(unit + 1) << 8 |
                 static_cast<uint64_t>(unit < 0 ? 0 : h.cycles) << 24;
  auto& uses = interned_[key];
  if (!uses) {
    uses = std::make_unique<ResourceUses>();
    uses->push_back({static_cast<uint8_t>(slot), 1});
    if (unit >= 0) {
      uses->push_back({static_cast<uint8_t>(unit), static_cast<uint16_t>(h.cycles)});
    }
  }
  return uses.get();
}

int Machine::registers(RegKind k) const {
  if (k == RegKind::Scalar)
    return static_cast<int>(std::min<int64_t>(chip_.scalar_registers, kScalarRegs));
  if (k == RegKind::Vector)
    return static_cast<int>(std::min<int64_t>(chip_.vector_registers, kVectorRegs));
  return static_cast<int>(std::min<int64_t>(chip_.mask_registers, kMaskRegs));
}

UnitRole unit_role(const Instr& in) {
  switch (info(in.op).latency) {
    case Latency::MxuWeight:
      return UnitRole::Weight;
    case Latency::MxuSwap:
      return UnitRole::Swap;
    case Latency::MxuRows:
      if (info(in.op).operands == "iiv") return UnitRole::Stage;
      return info(in.op).operands == "iiiv" ? UnitRole::Rows : UnitRole::AccRows;
    case Latency::MxuPop:
      return info(in.op).operands == "Vi" ? UnitRole::Pop : UnitRole::AccRead;
    default:
      return UnitRole::None;
  }
}

int array_of(const Instr& in) { return in.dest() == kNoReg ? in.a[0] : in.a[1]; }

}  // namespace tenfold::tpu::code
