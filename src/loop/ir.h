// The loop level: one kernel is loop nests over buffers. Semantics are scalar and sequential:
// loop kinds (vectorized, unrolled, parallel) are promises about how to run, never a change of
// meaning, so the interpreter runs every scheduled kernel as plain loops.
//
//   Expr  immutable, shared; typed by a DType. Index arithmetic is I64.
//   Stmt  a mutable tree, changed only by schedule primitives and passes.
//
// Vectorized loops stay loops until code generation: a backend gives the loop variable one lane per
// iteration and classifies each load as uniform, contiguous, strided or gathered. A guard
// (`If` or Guard expression) on a lane-varying condition becomes a mask.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array/dim.h"
#include "array/dtype.h"
#include "array/prim.h"
#include "base/result.h"

namespace tenfold::loop {

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;
struct BufferDef;
using Buffer = std::shared_ptr<const BufferDef>;

// A variable: loop index, Let, or symbol (a runtime dimension, name = the symbol's). Identity is
// the pointer; names are unique within a kernel for the text form.
struct VarDef {
  std::string name;
  DType dtype = DType::I64;
  int64_t min = INT64_MIN, max = INT64_MAX;  // inclusive bounds known for symbols
};
using Var = std::shared_ptr<const VarDef>;

// Where a buffer lives. CPU: Param is memory the caller owns; Stack is registers or the stack
// (constant shape, small); Workspace is per-task scratch the runtime provides. The others are for
// GPUs and the TPU.
enum class Scope : uint8_t {
  Param,
  Stack,
  Workspace,
  Shared,
  Hbm,
  Vmem,
  Smem,
  WeightQueue,
  Semaphore
};

struct BufferDef {
  std::string name;  // unique within the kernel
  DType dtype = DType::F32;
  std::vector<Expr> shape;  // row-major, contiguous; rank 0 is a scalar cell
  Scope scope = Scope::Param;
  int alignment = 64;  // bytes, of the base
  Buffer alias_of;     // same bytes under another dtype/shape (bitcast views); null: own storage
};

struct ExprNode {
  enum class Kind : uint8_t {
    Const,    // integer types and Bool: `i`; floats: `f` (already rounded to dtype); complex: f, f2
    Var,      // var
    Load,     // buffer, args = index per dimension
    Op,       // prim, args
    Cast,     // args[0] converted to dtype (array/prim.h cast rules)
    Bitcast,  // same bit width
    Guard,    // args[0] ? args[1] : args[2]; only the chosen side is evaluated (guards loads)
  };
  Kind kind{};
  DType dtype{};
  int64_t i = 0;
  double f = 0, f2 = 0;
  Var var;
  Buffer buffer;
  Prim prim{};
  std::vector<Expr> args;
  // Set by the constructors. Equal expressions have equal hashes, the same in every run.
  uint64_t hash = 0;
  uint64_t var_mask = 0;  // one bit a variable (by hash): no bit of `v`, then no `v` inside
  bool has_load = false;
};
uint64_t var_bit(const VarDef& v);
// Whether variable `v` occurs in `e`.
bool uses(const Expr& e, const VarDef* v);
// A node like `e` with other arguments, through the folding constructors.
Expr with_args(const Expr& e, std::vector<Expr> args);

// Constructors; they fold constants and apply the cheap identities on I64 index arithmetic (x+0,
// x*1, constant folding, (a*c)/c ...). Float arithmetic is never rewritten. `simplify` does more.
Expr int_const(int64_t v, DType t = DType::I64);
Expr float_const(double v, DType t);
Expr bool_const(bool v);
Expr complex_const(double re, double im, DType t);
Expr zero(DType t);
Expr var_ref(Var v);
Expr load(Buffer b, std::vector<Expr> index);
Expr op(Prim p, std::vector<Expr> args);
Expr cast(Expr x, DType t);  // no node when already t
Expr bitcast(Expr x, DType t);
Expr guard(Expr cond, Expr a, Expr b);  // folds a constant condition
inline Expr select(Expr c, Expr a, Expr b) { return op(Prim::Select, {c, a, b}); }
// I64 index helpers. div/mod round down and require a positive divisor.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator+(const Expr& a, int64_t b);
Expr operator-(const Expr& a, int64_t b);
Expr operator*(const Expr& a, int64_t b);
Expr idiv(const Expr& a, const Expr& b);
Expr imod(const Expr& a, const Expr& b);
Expr imin(const Expr& a, const Expr& b);
Expr imax(const Expr& a, const Expr& b);
Expr lt(const Expr& a, const Expr& b);
Expr le(const Expr& a, const Expr& b);
Expr eq(const Expr& a, const Expr& b);
Expr ge(const Expr& a, const Expr& b);
Expr logical_and(const Expr& a, const Expr& b);
Expr logical_or(const Expr& a, const Expr& b);
Expr logical_not(const Expr& a);
bool is_const(const Expr& e, int64_t* v = nullptr);  // integer or Bool constant
bool same(const Expr& a, const Expr& b);             // structural

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

enum class LoopKind : uint8_t {
  Serial,
  Parallel,    // iterations independent; only as a kernel's top-level statement
  Vectorized,  // constant extent (lanes); iterations independent, or reductions marked so
  Unrolled,    // constant extent
  Pipelined,   // double-buffered (TPU, GPU)
};

struct Stmt {
  enum class Kind : uint8_t {
    For,        // var in [begin, begin + extent), body
    While,      // while (cond) body; cond re-evaluated (reads cells)
    If,         // cond, body, else_body
    Let,        // var = value, visible to the statements after it in the same Body
    Alloc,      // declares `buffer` (Stack, Workspace ...) for the statements after it
    Store,      // buffer[index] = value
    Intrinsic,  // name(args) on buffers: tensor units, async copies, prefetch
  };
  Kind kind;
  LoopKind loop_kind = LoopKind::Serial;
  // A promise by whoever wrote the loop: no iteration writes what another reads or writes (what is
  // allocated inside apart). Parallel loops are so by their kind. Primitives trust and keep it.
  bool independent = false;
  Var var;
  Expr begin, extent;       // For
  Expr cond;                // While, If
  Expr value;               // Let, Store
  Buffer buffer;            // Alloc, Store
  std::vector<Expr> index;  // Store
  Body body, else_body;
  std::string name;        // Intrinsic
  std::vector<Expr> args;  // Intrinsic: scalars and Load-shaped addresses
};

StmtPtr clone(const Stmt& s);
Body clone(const Body& b);

// One kernel = one fused group of graph ops. Top-level statements run in order with a barrier
// after each; a top-level Parallel loop is split over threads.
struct Kernel {
  std::string name;                 // readable: "conv2d_relu_add_12"
  std::vector<Buffer> params;       // Scope::Param; outputs and inputs in the caller's order
  std::vector<bool> param_written;  // per param
  std::vector<Var> symbols;         // runtime dimensions
  Body body;
  std::vector<std::string> origins;  // the user's nodes
  std::vector<std::string> trace;    // schedule primitives applied, replayable
  double flops = 0;                  // 2 per multiply-add; for static shapes, else at the maximum
};

// Expression of symbols only -> Expr on the kernel's symbol variables.
Expr from_dim(const Dim& d, const std::vector<Var>& symbols);

// Text form and back (kernel.loop files). Exact round trip.
std::string print(const Kernel& k);
std::string print(const Expr& e);
Result<Kernel> parse_kernel(std::string_view text, std::string_view file_name);
// Well-formedness: names, types, ranks, scopes, Stack shapes constant, Parallel at top level.
Status verify(const Kernel& k);

// Deeper algebra on I64/Bool index expressions under known variable ranges; used by passes.
Expr simplify(const Expr& e);
void simplify(Kernel& k);  // every expression, dead branches, loops of extent 0 and 1

// Replaces variables.
using Substitution = std::vector<std::pair<Var, Expr>>;
Expr substitute(const Expr& e, const Substitution& s);
void substitute(Body& b, const Substitution& s);

}  // namespace tenfold::loop
