// Whether a program is one that the chip can issue. The simulator runs only checked programs, so it
// does not look again at what is fixed in the text of an instruction.
#include <cmath>

#include "tpu/isa/timing.h"

namespace tenfold::tpu {
namespace {

constexpr size_t kMostErrors = 20;

class Checker {
 public:
  Checker(const Program& p, const Chip& c) : p_(p), c_(c) {}

  Status run() {
    if (p_.first.empty() || p_.first.front() != 0 || p_.first.back() != p_.insts.size()) {
      return Error{"tpu-bundle", "the bundles do not cover the instructions", {"TPU program"}, {}};
    }
    for (size_t b = 0; b < p_.num_bundles() && errors_.size() < kMostErrors; ++b) {
      bundle_ = b;
      if (p_.first[b] > p_.first[b + 1]) {
        fail("its instructions end before they begin");
        break;
      }
      bundle(p_.bundle(b));
    }
    for (size_t i = 0; i < p_.shapes.size(); ++i) shape(i);
    uint32_t before = 0;
    for (const KernelRange& k : p_.kernels) {
      if (k.first < before || k.end < k.first || k.end > p_.num_bundles()) {
        errors_.push_back(Error{"tpu-bundle",
                                "kernel " + k.name + " has bundles " + std::to_string(k.first) +
                                    " to " + std::to_string(k.end) +
                                    "; wanted kernels in order, apart, inside the program",
                                {"TPU program"},
                                {}});
      }
      before = k.end;
    }
    if (!errors_.empty()) return errors_;
    return ok_status();
  }

 private:
  void fail(std::string message) {
    errors_.push_back(
        Error{"tpu-bundle", std::move(message), {"bundle " + std::to_string(bundle_)}, {}});
  }

  // Copies stay below 2^32 rows and their strides' reach below 2^40, so that sums cannot overflow.
  void shape(size_t i) {
    const DmaShape& s = p_.shapes[i];
    double rows = s.rows, reach = 0;
    for (const auto& d : s.dims) {
      rows *= d.count;
      for (int32_t stride : {d.from_stride, d.to_stride})
        reach =
            std::max(reach, static_cast<double>(d.count) * std::abs(static_cast<double>(stride)));
    }
    if (rows >= 1 && rows < 0x1p32 && reach < 0x1p40) return;
    errors_.push_back(Error{"tpu-bundle",
                            "shape " + std::to_string(i) + " moves " + std::to_string(rows) +
                                " rows with strides that reach " + std::to_string(reach) +
                                "; wanted 1 to 2^32 rows and less than 2^40",
                            {"TPU program"},
                            {}});
  }

  void bundle(std::span<const Inst> insts) {
    int used[kNumSlots] = {};
    uint64_t written[3] = {};
    int jumps = 0;
    for (const Inst& inst : insts) {
      const OpInfo& o = info(inst.op);
      ++used[static_cast<int>(o.slot)];
      jumps += o.latency == Latency::Branch;
      if (!has(c_, o.feature)) {
        fail(std::string(o.mnemonic) + " wants a chip with " + std::string(name(o.feature)) + "; " +
             c_.name + " has none");
      }
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const char k = o.operands[i];
        const int32_t v = inst.a[i];
        if (k == 'l') {
          if (v < 0 || static_cast<size_t>(v) >= p_.num_bundles()) {
            fail(std::string(o.mnemonic) + " jumps to bundle " + std::to_string(v) +
                 ", wanted one below " + std::to_string(p_.num_bundles()));
          }
          continue;
        }
        if (k == 'i' || (k == 'x' && inst.is_imm(static_cast<int>(i)))) continue;
        const int bank = is_vector(k) ? 0 : is_mask(k) ? 1 : 2;
        const int64_t count = bank == 0   ? std::min<int64_t>(kVectorRegs, c_.vector_registers)
                              : bank == 1 ? std::min<int64_t>(kMaskRegs, c_.mask_registers)
                                          : std::min<int64_t>(kScalarRegs, c_.scalar_registers);
        if (v < 0 || v >= count) {
          fail(std::string(o.mnemonic) + " names register " + "vms"[bank] + std::to_string(v) +
               "; " + c_.name + " has " + std::to_string(count));
          continue;
        }
        if (!writes_register(k)) continue;
        if ((written[bank] >> v & 1) != 0)
          fail(std::string("register ") + "vms"[bank] + std::to_string(v) + " is written twice");
        written[bank] |= uint64_t{1} << v;
      }
      numbers(inst, o);
    }
    for (int s = 0; s < kNumSlots; ++s) {
      const int room = slots(c_, static_cast<Slot>(s));
      if (used[s] > room) {
        fail(std::to_string(used[s]) + " instructions for the " +
             std::string(name(static_cast<Slot>(s))) + " slots; " + c_.name + " has " +
             std::to_string(room) + " a bundle; put some into another bundle");
      }
    }
    if (jumps > 1) fail(std::to_string(jumps) + " jumps; a bundle may have one");
  }

  void range(const OpInfo& o, std::string_view what, int64_t v, int64_t low, int64_t high) {
    if (v >= low && v <= high) return;
    fail(std::string(o.mnemonic) + ": " + std::string(what) + " " + std::to_string(v) +
         ", wanted " + std::to_string(low) + " to " + std::to_string(high));
  }

  // Immediates whose range is the chip's or the program's.
  void numbers(const Inst& inst, const OpInfo& o) {
    const int64_t parts = (c_.mxu_dim + 127) / 128;
    const bool int8 = o.feature == Feature::Int8Mxu || o.feature == Feature::Int8MxuAcc;
    const int rows = int8 ? 32 : 16;
    if (o.slot == Slot::MxuPush || o.slot == Slot::MxuPop) {
      range(o, "array", inst.a[o.slot == Slot::MxuPop ? 1 : 0], 0, c_.mxu_count - 1);
    }
    if (o.latency == Latency::MxuWeight && inst.is_imm(1))
      range(o, "weight register", inst.a[1], 0, (c_.mxu_dim + rows - 1) / rows * parts - 1);
    if (o.latency == Latency::MxuRows) {
      range(o, "K part", inst.a[1], 0, parts - 1);
      if (inst.op != Op::MxLB && inst.op != Op::MxLS) range(o, "rows", inst.a[2], 1, rows);
    }
    switch (inst.op) {
      case Op::Dma:
        range(o, "shape", inst.a[3], 0, static_cast<int64_t>(p_.shapes.size()) - 1);
        break;
      case Op::Host:
        range(o, "host step", inst.a[0], 0, static_cast<int64_t>(p_.host_steps.size()) - 1);
        break;
      case Op::XTransPush:
      case Op::XTransPop:
        range(o, "row block", inst.a[1], 0, 15);
        break;
      case Op::VUnpack4:
      case Op::VUnpack4U:
        range(o, "row block", inst.a[2], 0, 3);
        break;
      default:
        break;
    }
  }

  const Program& p_;
  const Chip& c_;
  size_t bundle_ = 0;
  Errors errors_;
};

}  // namespace

Status check(const Program& p, const Chip& chip) { return Checker(p, chip).run(); }

}  // namespace tenfold::tpu
