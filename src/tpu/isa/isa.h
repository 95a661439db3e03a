// The instruction set of the bundle family (v2 and later): instructions, bundles, programs.
//
// A core issues one bundle a cycle, in order. A bundle reads all its registers before it writes
// any, loads from memory before it stores, and jumps last. Reading a register whose value is still
// on its way waits for it, so a schedule can be slow but not wrong.
//
// Registers: scalar s0-s31 (32 bit), vector v0-v63 (8 sublanes x 128 lanes x 32 bit), masks m0-m15
// (8 x 128 bits). Memories: HBM, CMEM and VMEM are counted in rows of 512 bytes (one sublane: 128
// words), so an (8,128) tile is 8 rows; SMEM in words of 4 bytes, in copies in rows as well. A row
// number is unsigned 32 bit, which reaches 2 TiB.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenfold::tpu {

inline constexpr int kScalarRegs = 32, kVectorRegs = 64, kMaskRegs = 16;
inline constexpr int kSublanes = 8, kLanes = 128, kVregWords = kSublanes * kLanes;
inline constexpr int kRowBytes = 512, kRowWords = 128;
inline constexpr int kSemaphores = 64;
inline constexpr int kMaxOperands = 5;

enum class Op : uint16_t {
#define TPU_OP(id, ...) id,
#include "tpu/isa/ops.inc"
#undef TPU_OP
  Count_
};
inline constexpr int kNumOps = static_cast<int>(Op::Count_);

// What a bundle has room for; how many of each is the chip's.
enum class Slot : uint8_t { Scalar, Misc, VLoad, VStore, Valu, Eup, Xlu, MxuPush, MxuPop };
inline constexpr int kNumSlots = 9;

// From issue until the result can be read; cycles are the chip's.
enum class Latency : uint8_t {
  Scalar,
  ScalarLong,
  ScalarLoad,
  ScalarStore,
  Branch,
  Dma,
  Sync,
  VLoad,
  VStore,
  Valu,
  ValuLong,
  Eup,
  EupLong,
  Xlu,
  XluReduce,
  XluTranspose,
  XluScalar,
  MxuWeight,
  MxuSwap,
  MxuRows,
  MxuPop,
};
inline constexpr int kNumLatencies = 21;

// What the chip must have.
enum class Feature : uint8_t { Base, Bf16Valu, Bf16Eup, Int8Mxu, MxuAcc, Int8MxuAcc };

struct OpInfo {
  Op op;
  std::string_view mnemonic;
  Slot slot;
  Latency latency;
  std::string_view operands;  // letters: see ops.inc
  Feature feature;
  std::string_view meaning;
};
const OpInfo& info(Op op);
std::span<const OpInfo> all_instructions();
// By mnemonic; Op::Count_ when there is none.
Op find_op(std::string_view mnemonic);
std::string_view name(Slot s);
std::string_view name(Latency l);
std::string_view name(Feature f);

// Operand letter queries.
constexpr bool writes_register(char k) { return k == 'V' || k == 'S' || k == 'M' || k == 'B'; }
constexpr bool is_vector(char k) { return k == 'V' || k == 'v'; }
constexpr bool is_mask(char k) { return k == 'M' || k == 'm'; }

// An operand that takes a scalar register or a number ('x'); converts from either.
struct Imm {
  int32_t value;
};
struct SReg {
  int index;
};
struct VReg {
  int index;
};
struct MReg {
  int index;
};

// One instruction. a[i] is a register's number, or an immediate for 'i' and 'l' and for an 'x'
// whose bit i is set in `imm`. Build with make().
struct Inst {
  Op op = Op::Halt;
  uint8_t imm = 0;
  std::array<int32_t, kMaxOperands> a{};
  bool is_imm(int i) const { return (imm >> i & 1) != 0; }
  bool operator==(const Inst&) const = default;
};

// make(Op::VLd, VReg{3}, SReg{1}, Imm{8}), make(Op::SAdd, SReg{1}, SReg{1}, Imm{8}). Kinds are
// checked against the table (TF_CHECK).
struct AnyOperand {
  char kind;  // 'i', 's', 'v', 'm'
  int32_t value;
  AnyOperand(Imm i) : kind('i'), value(i.value) {}   // NOLINT: implicit by design
  AnyOperand(SReg r) : kind('s'), value(r.index) {}  // NOLINT
  AnyOperand(VReg r) : kind('v'), value(r.index) {}  // NOLINT
  AnyOperand(MReg r) : kind('m'), value(r.index) {}  // NOLINT
};
Inst make(Op op, std::initializer_list<AnyOperand> operands);
template <class... A>
Inst make(Op op, A... operands) {
  return make(op, std::initializer_list<AnyOperand>{AnyOperand(operands)...});
}

enum class Space : uint8_t { Hbm, Vmem, Smem, Cmem };
std::string_view name(Space s);

// The shape of a copy: `rows` rows that lie together, repeated over up to three counted dimensions,
// the last innermost. Strides are in rows and may be 0 (source) or negative.
struct DmaShape {
  Space from = Space::Hbm, to = Space::Vmem;
  uint32_t rows = 1;
  struct Dim {
    uint32_t count = 1;
    int32_t from_stride = 0, to_stride = 0;
    bool operator==(const Dim&) const = default;
  };
  std::array<Dim, 3> dims{};
  bool weights = false;  // waiting for it counts as weight_load, not memory
  uint64_t total_rows() const {
    return uint64_t{rows} * dims[0].count * dims[1].count * dims[2].count;
  }
  bool operator==(const DmaShape&) const = default;
};

// A stretch of bundles that belongs to one kernel, for the report. Bundles between kernels belong
// to none. `nodes` are numbers in the compiler's own list.
struct KernelRange {
  std::string name;
  uint32_t first = 0, end = 0;  // bundles
  std::vector<int32_t> nodes;
  bool operator==(const KernelRange&) const = default;
};

// A piece of HBM with a name: an argument, a result, a constant, a temporary.
struct HbmRegion {
  std::string name;
  uint32_t row = 0, rows = 0;
  bool operator==(const HbmRegion&) const = default;
};

// Work of the host between two bundles: the crossing's bytes are priced by the chip's host link.
struct HostStep {
  std::string name, reason;
  uint64_t bytes_to_host = 0, bytes_from_host = 0;
  bool operator==(const HostStep&) const = default;
};

struct Program {
  std::vector<Inst> insts;  // bundle i: insts[first[i] .. first[i + 1])
  std::vector<uint32_t> first{0};
  std::vector<DmaShape> shapes;  // `dma`'s last operand
  std::vector<KernelRange> kernels;
  std::vector<HbmRegion> regions;
  std::vector<HostStep> host_steps;

  size_t num_bundles() const { return first.size() - 1; }
  std::span<const Inst> bundle(size_t i) const {
    return std::span(insts).subspan(first[i], first[i + 1] - first[i]);
  }
  void add_bundle(std::span<const Inst> ops) {
    insts.insert(insts.end(), ops.begin(), ops.end());
    first.push_back(static_cast<uint32_t>(insts.size()));
  }
  uint32_t add_shape(const DmaShape& s) {  // shared with an equal one
    for (size_t i = shapes.size(); i-- > 0 && i + 64 > shapes.size();)
      if (shapes[i] == s) return static_cast<uint32_t>(i);
    shapes.push_back(s);
    return static_cast<uint32_t>(shapes.size() - 1);
  }
  bool operator==(const Program&) const = default;
};

// Text: one bundle a line, instructions separated by ';', '#' starts a comment, `name:` a label,
// `nop` an empty bundle. Directives: .shape .kernel .region .host (docs: make docs, isa.md).
//   loop0: vld v1, s3, 0 ; vadd.f32 v2, v1, v0 ; sadd s3, s3, 8 ; loop s4, loop0
Result<Program> assemble(std::string_view text, std::string_view file = "program.s");
std::string disassemble(const Program& p);
std::string to_text(const Inst& i);

// Bytes, little endian, with a magic and a version. decode(encode(p)) == p.
std::string encode(const Program& p);
Result<Program> decode(std::string_view bytes);

// The reference page, in Markdown.
std::string reference_page();

}  // namespace tenfold::tpu
