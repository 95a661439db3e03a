// The table itself, look-ups in it, and the one way to build an instruction.
#include "tpu/isa/isa.h"

#include <algorithm>
#include <unordered_map>

namespace tenfold::tpu {
namespace {

constexpr OpInfo kTable[] = {
#define TPU_OP(id, mnemonic, slot, latency, operands, feature, meaning) \
  {Op::id, mnemonic, Slot::slot, Latency::latency, operands, Feature::feature, meaning},
#include "tpu/isa/ops.inc"
#undef TPU_OP
};
static_assert(std::size(kTable) == kNumOps);
static_assert(std::all_of(std::begin(kTable), std::end(kTable),
                          [](const OpInfo& o) { return o.operands.size() <= kMaxOperands; }));

constexpr std::string_view kSlotNames[kNumSlots] = {"scalar", "misc", "vload",    "vstore", "valu",
                                                    "eup",    "xlu",  "mxu_push", "mxu_pop"};
constexpr std::string_view kLatencyNames[kNumLatencies] = {
    "scalar",   "scalar_long", "scalar_load", "scalar_store",  "branch",     "dma",
    "sync",     "vload",       "vstore",      "valu",          "valu_long",  "eup",
    "eup_long", "xlu",         "xlu_reduce",  "xlu_transpose", "xlu_scalar", "mxu_weight",
    "mxu_swap", "mxu_rows",    "mxu_pop"};
constexpr std::string_view kFeatureNames[] = {
    "every chip",    "bf16_valu",       "bf16_eup",
    "mxu_int8_rate", "mxu_accumulates", "mxu_int8_rate and mxu_accumulates"};
constexpr std::string_view kSpaceNames[] = {"hbm", "vmem", "smem", "cmem"};

}  // namespace

const OpInfo& info(Op op) { return kTable[static_cast<int>(op)]; }
std::span<const OpInfo> all_instructions() { return kTable; }
std::string_view name(Slot s) { return kSlotNames[static_cast<int>(s)]; }
std::string_view name(Latency l) { return kLatencyNames[static_cast<int>(l)]; }
std::string_view name(Feature f) { return kFeatureNames[static_cast<int>(f)]; }
std::string_view name(Space s) { return kSpaceNames[static_cast<int>(s)]; }

Op find_op(std::string_view mnemonic) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Op> m;
    for (const OpInfo& o : kTable) m.emplace(o.mnemonic, o.op);
    return m;
  }();
  auto it = by_name.find(mnemonic);
  return it == by_name.end() ? Op::Count_ : it->second;
}

Inst make(Op op, std::initializer_list<AnyOperand> operands) {
  const OpInfo& o = info(op);
  TF_CHECK(operands.size() == o.operands.size(),
           std::string(o.mnemonic) + " takes " + std::to_string(o.operands.size()) +
               " operands, got " + std::to_string(operands.size()));
  Inst inst;
  inst.op = op;
  int i = 0;
  for (const AnyOperand& a : operands) {
    const char k = o.operands[i];
    const bool fits = is_vector(k)                       ? a.kind == 'v'
                      : is_mask(k)                       ? a.kind == 'm'
                      : k == 's' || k == 'S' || k == 'B' ? a.kind == 's'
                      : k == 'x'                         ? a.kind == 's' || a.kind == 'i'
                                                         : a.kind == 'i';
    TF_CHECK(fits, "operand " + std::to_string(i) + " of " + std::string(o.mnemonic) + " wants " +
                       k + ", got " + a.kind);
    inst.a[i] = a.value;
    if (k == 'x' && a.kind == 'i') inst.imm |= uint8_t(1u << i);
    ++i;
  }
  return inst;
}

}  // namespace tenfold::tpu
