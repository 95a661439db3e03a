// Kernel code: what the lowering writes and compile() (compile.h) turns into bundles. The isa's own
// instructions over as many virtual registers as wanted, in structured statements, executed in
// order by meaning. Whoever writes it thinks of neither slots, latencies, registers nor addresses'
// arithmetic: scalar expressions of loop indices are strength-reduced, loops are pipelined.
//
//   code::Kernel k("relu");
//   code::Builder b(&k);
//   auto x = b.region("x", Space::Vmem, 0, 4096), y = b.region("y", Space::Vmem, 4096, 4096);
//   auto zero = b.vec(Op::VSplat, 0);
//   b.loop(512, [&](code::Scalar i) {
//     b.store(y, i * 8, b.vec(Op::VMaxF, b.load(x, i * 8), zero));
//   });
//
// Registers: a handle (Scalar, Vector, Mask) is a value; var() and set() make one that changes, for
// what a loop carries. A value defined in a loop is the last iteration's after it, and undefined
// when there was none (verify() refuses such a use).
//
// Memory: each load, store and copy names its region. Two regions whose rows do not overlap are
// independent of each other; within a region addresses are compared. A copy is over when a wait()
// that names its target (and, before the source is written again, its source) has returned.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu::code {

enum class RegKind : uint8_t { Scalar, Vector, Mask };
inline constexpr int32_t kNoReg = -1;
inline constexpr int16_t kNoRegion = -1;

// As tpu::Inst, with numbers of virtual registers (all kinds count together) in place of registers.
struct Instr {
  Op op = Op::Halt;
  uint8_t imm = 0;  // bit i: the 'x' operand i is a number
  // Loads, stores: [0]; copies: source, target. kNoRegion conflicts with everything.
  std::array<int16_t, 2> region = {kNoRegion, kNoRegion};
  std::array<int32_t, kMaxOperands> a{};
  int32_t waits = -1;  // wait: index into Kernel::waits of the regions that are there afterwards

  char letter(int i) const { return info(op).operands[i]; }
  int size() const { return static_cast<int>(info(op).operands.size()); }
  bool is_imm(int i) const {
    char k = letter(i);
    return k == 'i' || k == 'l' || (k == 'x' && (imm >> i & 1));
  }
  bool reads(int i) const {
    char k = letter(i);
    return k == 's' || k == 'v' || k == 'm' || k == 'B' || (k == 'x' && !(imm >> i & 1));
  }
  bool writes(int i) const { return writes_register(letter(i)); }
  // At most one, always the first operand.
  int32_t dest() const { return size() && writes(0) ? a[0] : kNoReg; }
  bool operator==(const Instr&) const = default;
};

struct Loop;
struct If;
struct Block {
  using Stmt = std::variant<Instr, std::unique_ptr<Loop>, std::unique_ptr<If>>;
  std::vector<Stmt> stmts;
};

// `body` for index = 0 .. trips - 1; not at all when trips <= 0.
struct Loop {
  std::string name;   // for reports
  int64_t trips = 0;  // when trip_reg is kNoReg
  int32_t trip_reg = kNoReg;
  int32_t index = kNoReg;
  bool pipeline = true;  // may iterations overlap
  Block body;
};

struct If {  // cond != 0
  int32_t cond = kNoReg;
  Block then_body, else_body;
};

struct Region {
  std::string name;
  Space space = Space::Vmem;
  uint32_t row = 0, rows = 0;  // SMEM: words
};

struct Kernel {
  std::string name;
  std::vector<int32_t> nodes;  // of the compiler's own list, for the report
  std::vector<RegKind> regs;
  std::vector<Region> regions;
  std::vector<DmaShape> shapes;
  std::vector<std::vector<int16_t>> waits;
  Block body;
  explicit Kernel(std::string n) : name(std::move(n)) {}
};

// One statement a line, blocks indented; to read only.
std::string to_text(const Kernel& k);
// What the builder cannot see: a register read before it has a value, a constant address outside
// its region, an operand's number out of range. TF_CHECK inside the compiler, errors in tests.
Status verify(const Kernel& k);

class Builder;
struct Scalar {
  int32_t id = kNoReg;
  Builder* b = nullptr;
};
struct Vector {
  int32_t id = kNoReg;
};
struct Mask {
  int32_t id = kNoReg;
};
// An operand: any register or a number.
struct Arg {
  char kind;  // 's', 'v', 'm', 'i'
  int32_t value;
  Arg(Scalar s) : kind('s'), value(s.id) {}                       // NOLINT: implicit by design
  Arg(Vector v) : kind('v'), value(v.id) {}                       // NOLINT
  Arg(Mask m) : kind('m'), value(m.id) {}                         // NOLINT
  Arg(int i) : kind('i'), value(i) {}                             // NOLINT
  Arg(uint32_t i) : kind('i'), value(static_cast<int32_t>(i)) {}  // NOLINT
  Arg(int64_t i);                                                 // NOLINT: must fit 32 bits
  Arg(uint64_t i) : Arg(static_cast<int64_t>(i)) {}               // NOLINT
};
struct RegionRef {
  int16_t id = kNoRegion;
};

// Appends to a kernel. Operands come in the order of the isa's table, without the destination.
class Builder {
 public:
  explicit Builder(Kernel* k) : kernel_(k), block_(&k->body) {}
  Kernel* kernel() const { return kernel_; }

  RegionRef region(std::string name, Space space, uint32_t row, uint32_t rows);
  const Region& at(RegionRef r) const { return kernel_->regions[r.id]; }

  // Instructions that touch no memory: vec(Op::VAddF, x, y), scl(Op::SMul, i, 3), emit(Op::MxSwap,
  // 0).
  template <class... A>
  Vector vec(Op op, A... args) {
    return {append(op, {Arg(args)...})};
  }
  template <class... A>
  Scalar scl(Op op, A... args) {
    return {append(op, {Arg(args)...}), this};
  }
  template <class... A>
  Mask msk(Op op, A... args) {
    return {append(op, {Arg(args)...})};
  }
  template <class... A>
  void emit(Op op, A... args) {
    append(op, {Arg(args)...});
  }
  Vector splat(float f);
  Scalar constant(int32_t value) { return scl(Op::SMov, value); }

  // VMEM; `row` counts from the region's first row, and so do all rows below.
  Vector load(RegionRef r, Arg row);
  Vector load_stride(RegionRef r, Arg row, int stride);
  Vector load_bcast(RegionRef r, Arg row);
  Vector load_mask(RegionRef r, Arg row, Mask m);
  void store(RegionRef r, Arg row, Vector v);
  void store_stride(RegionRef r, Arg row, int stride, Vector v);
  void store_mask(RegionRef r, Arg row, Vector v, Mask m);
  // SMEM words.
  Scalar load_word(RegionRef r, Arg word);
  void store_word(RegionRef r, Arg word, Arg value);

  // Starts a copy; from and to of `shape` are the regions' spaces.
  void dma(RegionRef from, Arg from_row, RegionRef to, Arg to_row, Arg semaphore, DmaShape shape);
  // Takes n off the semaphore when it is there; afterwards the copies into `ready` are done.
  // Without regions nothing moves across it.
  void wait(Arg semaphore, Arg n, std::vector<RegionRef> ready = {});

  // f(index), index a Scalar from 0. The loop is returned for its hints and name.
  Loop* loop(Arg trips, const std::function<void(Scalar)>& f, std::string name = "");
  void if_(Scalar cond, const std::function<void()>& then_body,
           const std::function<void()>& else_body = nullptr);

  // Registers that change.
  Scalar var(Scalar init);
  Vector var(Vector init);
  Mask var(Mask init);
  void set(Scalar var, Arg value);
  void set(Vector var, Vector value);
  void set(Mask var, Mask value);

  // The general form: operands without the destination, whose register is returned (or kNoReg).
  int32_t append(Op op, const std::vector<Arg>& args);

 private:
  int32_t reg(RegKind kind);
  Instr& push(Op op, int32_t dest, const std::vector<Arg>& args);
  Arg absolute(RegionRef r, Arg row);
  Kernel* kernel_;
  Block* block_;
};

// Scalar arithmetic as written; constants fold.
Scalar operator+(Scalar a, Arg b);
Scalar operator-(Scalar a, Arg b);
Scalar operator*(Scalar a, Arg b);

}  // namespace tenfold::tpu::code
