// Kernel code while it is compiled: the structure of the source, with what the passes add. Passes
// work on one Tree in turn; after lower_addresses() every loop index that is still read is an
// ordinary register that the loop's last line advances.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/tpu/code/kernel_code.h"

namespace tenfold::tpu::code {

// A scalar register that advances by `step` from one iteration of its loop to the next.
struct Pointer {
  int32_t reg = kNoReg;
  int32_t step = 0;
};

struct Line {
  Instr in;
  // The address is based on this pointer of the innermost loop (its register is the base operand),
  // so that the line can be moved to another iteration by changing the number beside it.
  int16_t pointer = -1;
  // Bit i: operand i is the previous iteration's value although this iteration's is there already.
  uint8_t old = 0;
};

struct Node;
using Nodes = std::vector<Node>;

struct LoopNode {
  std::string name;
  int64_t trips = 0;
  int32_t trip_reg = kNoReg;
  int32_t index = kNoReg;  // kNoReg once it is a register like others
  bool pipeline = true;
  std::vector<Pointer> pointers;
  Nodes before;  // lines to run just before the loop
  Nodes body;
};
struct IfNode {
  int32_t cond = kNoReg;
  Nodes then_body, else_body;
};
struct Node {
  Line line;
  std::unique_ptr<LoopNode> loop;
  std::unique_ptr<IfNode> branch;
  Node() = default;
  explicit Node(Line l) : line(l) {}
  explicit Node(const Instr& in) { line.in = in; }
  bool is_line() const { return !loop && !branch; }
};

struct Tree {
  std::string name;
  std::vector<RegKind> regs;
  std::vector<int32_t> origin;  // the kernel's own register that each stands for, or kNoReg
  std::vector<Region> regions;
  std::vector<std::vector<int16_t>> waits;
  Nodes body;
  // A register, perhaps one that holds some of the values of register `of`.
  int32_t new_reg(RegKind k, int32_t of = kNoReg) {
    regs.push_back(k);
    origin.push_back(of == kNoReg ? kNoReg : origin[of]);
    return static_cast<int32_t>(regs.size()) - 1;
  }
};

// Base operand and number beside it of a load, store or addition whose address can be moved; -1
// when it has none.
struct AddressOperands {
  int base = -1, offset = -1;
};
AddressOperands address_operands(const Instr& in);
// Nothing but its destination changes: may be moved, repeated and removed.
bool is_pure(const Instr& in);
bool is_copy(const Instr& in);  // VMov, SMov of a register, MOr of one mask with itself
Instr instr(Op op, std::initializer_list<Arg> operands);

Tree make_tree(const Kernel& k);
std::string to_text(const Tree& t);

// How often each register is written and read.
struct Uses {
  std::vector<int32_t> defs, reads;
};
Uses count_uses(const Tree& t);

// ---- passes, in this order ---------------------------------------------------------------------
// Loops of few constant iterations, written out.
void unroll_small_loops(Tree* t);
// Registers of the kernel in `spilled` live in memory: a store after each write, a load before each
// read; what one instruction without operands makes is made again instead. Slots come from options'
// spill area.
struct SpillArea {
  uint32_t row = 0, rows = 0, word = 0, words = 0;
};
Status spill_registers(Tree* t, const std::set<int32_t>& spilled, const SpillArea& area);
// t = op ..; v = t  becomes  v = op .. where nothing in between minds.
void coalesce_copies(Tree* t);
// What does not change in a loop is computed before it; scalars only if asked for, as they are
// cheap to compute and few registers hold them.
void hoist_invariants(Tree* t, bool scalars);
// Addresses become register + number: linear functions of loop indices share one pointer a loop for
// each combination of strides. Without `pointers` addresses stay as written, which wants fewer
// registers.
void lower_addresses(Tree* t, bool pointers);
// A scalar, a mask or a constant that was computed before is not computed again; `across_blocks`:
// nor in a loop inside.
void share_values(Tree* t, bool across_blocks);
void remove_dead(Tree* t);

}  // namespace tenfold::tpu::code
