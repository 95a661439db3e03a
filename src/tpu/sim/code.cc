#include "tpu/sim/code.h"

#include "tpu/sim/report.h"

namespace tenfold::tpu {
namespace {

Act act_of(Op op) {
  if (vector_function(op) != nullptr) return Act::Vector;
  switch (op) {
    case Op::SLd:
      return Act::SLoad;
    case Op::SSt:
      return Act::SStore;
    case Op::CoreId:
      return Act::CoreId;
    case Op::Loop:
    case Op::Jump:
    case Op::JumpNz:
    case Op::JumpZ:
    case Op::Halt:
      return Act::Branch;
    case Op::VLd:
    case Op::VLdStride:
    case Op::VLdBcast:
    case Op::VLdMask:
      return Act::VLoad;
    case Op::VSt:
    case Op::VStStride:
    case Op::VStMask:
      return Act::VStore;
    case Op::XToScalar:
      return Act::ToScalar;
    case Op::XTransPush:
      return Act::TransPush;
    case Op::XTransGo:
      return Act::TransGo;
    case Op::XTransPop:
      return Act::TransPop;
    case Op::MxWB:
    case Op::MxWTB:
    case Op::MxWS:
    case Op::MxWTS:
      return Act::Weight;
    case Op::MxSwap:
      return Act::Swap;
    case Op::MxLB:
    case Op::MxLS:
      return Act::Stage;
    case Op::MxMB:
    case Op::MxMS:
      return Act::Rows;
    case Op::MxAB:
    case Op::MxAS:
      return Act::RowsAcc;
    case Op::MxPop:
      return Act::Pop;
    case Op::MxRead:
      return Act::ReadAcc;
    case Op::Dma:
      return Act::Dma;
    case Op::Wait:
      return Act::Wait;
    case Op::Signal:
      return Act::Signal;
    case Op::Barrier:
      return Act::Barrier;
    case Op::Host:
      return Act::Host;
    default:
      return Act::Scalar;
  }
}

bool is_timed(const DecodedInst& d) {
  if (d.hold.what != Holds::Nothing) return true;
  switch (d.act) {
    case Act::Swap:
    case Act::Pop:
    case Act::ReadAcc:
    case Act::TransPop:
    case Act::Dma:
    case Act::Wait:
    case Act::Signal:
    case Act::Barrier:
    case Act::Host:
      return true;
    default:
      return false;
  }
}

// Copies, semaphores and jumps are the scalar core's work.
int unit_of(Slot s) {
  switch (s) {
    case Slot::Scalar:
    case Slot::Misc:
      return static_cast<int>(Unit::Scalar);
    case Slot::VLoad:
      return static_cast<int>(Unit::VLoad);
    case Slot::VStore:
      return static_cast<int>(Unit::VStore);
    case Slot::Valu:
      return static_cast<int>(Unit::Valu);
    case Slot::Xlu:
      return static_cast<int>(Unit::Xlu);
    default:
      return -1;  // the matrix and transcendental units keep their own time
  }
}

}  // namespace

Code decode_for(const Program& p, const Chip& chip) {
  Code code;
  code.program = &p;
  code.insts.reserve(p.insts.size());
  code.bundles.reserve(p.num_bundles());
  size_t kernel = 0;
  for (size_t b = 0; b < p.num_bundles(); ++b) {
    DecodedBundle d{};
    d.insts = static_cast<uint32_t>(code.insts.size());
    d.reads = static_cast<uint32_t>(code.reads.size());
    d.writes = static_cast<uint32_t>(code.writes.size());
    d.timed = static_cast<uint32_t>(code.timed.size());
    d.scalars = static_cast<uint32_t>(code.scalars.size());
    while (kernel < p.kernels.size() && p.kernels[kernel].end <= b) ++kernel;
    const bool inside = kernel < p.kernels.size() && p.kernels[kernel].first <= b;
    d.kernel = inside ? static_cast<uint32_t>(kernel) + 1 : 0;
    for (const Inst& inst : p.bundle(b)) {
      const OpInfo& o = info(inst.op);
      const auto number = static_cast<uint32_t>(code.insts.size());
      DecodedInst e;
      e.inst = inst;
      e.act = act_of(inst.op);
      e.fn = vector_function(inst.op);
      e.hold = hold(chip, inst);
      e.latency = latency(chip, inst.op);
      e.int8 = o.feature == Feature::Int8Mxu || o.feature == Feature::Int8MxuAcc;
      e.transposed = inst.op == Op::MxWTB || inst.op == Op::MxWTS;
      if (e.act == Act::Rows || e.act == Act::RowsAcc) e.results = results_of(chip, inst.a[2]);
      if (const int u = unit_of(o.slot); u >= 0) d.units |= static_cast<uint16_t>(1u << u);
      d.vmem += o.slot == Slot::VLoad || o.slot == Slot::VStore;
      if (is_timed(e)) code.timed.push_back(number);
      if (o.slot == Slot::Scalar || e.act == Act::ToScalar) code.scalars.push_back(number);
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const char k = o.operands[i];
        if (k == 'i' || k == 'l' || (k == 'x' && inst.is_imm(static_cast<int>(i)))) continue;
        const int reg = inst.a[i] + (is_vector(k) ? kFirstVector : is_mask(k) ? kFirstMask : 0);
        if (writes_register(k)) {
          code.writes.push_back({static_cast<uint8_t>(reg), static_cast<uint16_t>(e.latency)});
        }
        if (!writes_register(k) || k == 'B') code.reads.push_back(static_cast<uint8_t>(reg));
      }
      code.insts.push_back(e);
    }
    d.insts_end = static_cast<uint32_t>(code.insts.size());
    d.reads_end = static_cast<uint32_t>(code.reads.size());
    d.writes_end = static_cast<uint32_t>(code.writes.size());
    d.timed_end = static_cast<uint32_t>(code.timed.size());
    d.scalars_end = static_cast<uint32_t>(code.scalars.size());
    code.bundles.push_back(d);
  }
  const auto granule = static_cast<uint64_t>(chip.dma_granule_bytes);
  for (const DmaShape& s : p.shapes) {
    DecodedShape d{};
    d.rows = s.total_rows();
    d.weights = s.weights;
    const Side from = Side::from(s, 0), to = Side::to(s, 0);
    for (const auto& [space, side, read] : {std::tuple{s.from, &from, true}, {s.to, &to, false}}) {
      if (space == Space::Hbm) {
        (read ? d.read_bytes : d.write_bytes) += d.rows * kRowBytes;
        d.hbm_bus += bus_bytes(*side, granule);
      } else if (space == Space::Cmem) {
        d.cmem_bus += d.rows * kRowBytes;
      } else if (space == Space::Vmem) {
        d.vmem_rows += d.rows;
      }
    }
    code.shapes.push_back(d);
  }
  return code;
}

}  // namespace tenfold::tpu
