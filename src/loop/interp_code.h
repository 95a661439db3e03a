// Instructions of the loop interpreter. Internal to loop/interp*.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "array/literal.h"
#include "array/prim.h"
#include "loop/interp_order.h"
#include "loop/ir.h"

namespace tenfold::loop::interp {

union alignas(16) Reg {
  int64_t i = 0;
  double d;
  float f;
  std::byte raw[16];
};

struct BufferState {
  const BufferDef* def = nullptr;
  int param = -1;
  BufferState* base = nullptr;     // alias
  int element = 0;                 // bytes
  std::vector<uint32_t> dim_regs;  // hold the shape
  std::vector<int64_t> dims;
  std::byte* data = nullptr;
  uint8_t* written = nullptr;  // one a byte; null for Param
  std::vector<std::byte> memory;
  std::vector<uint8_t> shadow;
  size_t bytes = 0;
};

struct Access {
  BufferState* buffer;
  std::vector<uint32_t> index;  // registers
};

struct Frame;
struct Insn;
using Fn = const Insn* (*)(const Insn*, Frame*);

struct Insn {
  Fn fn;
  uint32_t dst, a, b, c;
  union {
    void* ptr;
    int64_t target;  // jump distance, or packed types
  };
};

struct Program {
  std::vector<Insn> code;
  std::vector<Reg> regs;
  std::deque<BufferState> buffers;
  std::deque<Access> accesses;
  std::deque<Body> bodies;  // expanded intrinsics
  std::vector<uint32_t> symbol_regs;
  std::vector<std::pair<std::string, uint32_t>> var_names;
  struct Param {
    Literal* literal;
    bool written;
  };
  std::vector<Param> params;
  IterationTree order;  // when independence is checked
};

struct Frame {
  Reg* r;
  Program* program;
  std::string error;
};

// Runs from the first instruction; the error's text, or empty.
std::string execute(Program& p);

Fn fast_op(Prim p, DType t);         // null: use exec_apply
Fn fast_cast(DType from, DType to);  // null: use exec_cast
Fn load_fn(int bytes, bool param);
Fn store_fn(int bytes, bool param);
const Insn* exec_end(const Insn*, Frame*);
const Insn* exec_apply(const Insn*, Frame*);
const Insn* exec_cast(const Insn*, Frame*);
const Insn* exec_move(const Insn*, Frame*);
const Insn* exec_bitcast_narrow(const Insn*, Frame*);
const Insn* exec_jump(const Insn*, Frame*);
const Insn* exec_jump_if_not(const Insn*, Frame*);
const Insn* exec_for_begin(const Insn*, Frame*);
const Insn* exec_for_next(const Insn*, Frame*);
const Insn* exec_enter_loop(const Insn*, Frame*);
const Insn* exec_next_iteration(const Insn*, Frame*);
const Insn* exec_leave_loop(const Insn*, Frame*);
const Insn* exec_note_load(const Insn*, Frame*);  // of the access that follows
const Insn* exec_note_store(const Insn*, Frame*);
const Insn* exec_bind_param(const Insn*, Frame*);
const Insn* exec_bind_alias(const Insn*, Frame*);
const Insn* exec_alloc(const Insn*, Frame*);

}  // namespace tenfold::loop::interp
