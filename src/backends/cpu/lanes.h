// What a vectorized loop's body depends on its lane for, and whether one lane per iteration can run
// it at all. No LLVM here.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loop/ir.h"

namespace tenfold::cpu {

// Facts of a vectorized loop. Lane-private buffers are those declared in its body: every lane has
// its own copy.
struct LaneFacts {
  const loop::VarDef* lane = nullptr;
  std::unordered_set<const loop::VarDef*> varying_lets;
  std::unordered_set<const loop::BufferDef*> private_buffers;
  std::unordered_map<const loop::Stmt*, Prim> reductions;  // stores that combine all lanes
  bool legal = true;      // false: run the iterations one after the other
  int element_bytes = 1;  // widest element computed with, which decides the lanes of a register

  bool varying(const loop::Expr& e) const;

 private:
  mutable std::unordered_map<const loop::ExprNode*, bool> memo_;
  friend LaneFacts analyse_lanes(const loop::Stmt& loop);
};

LaneFacts analyse_lanes(const loop::Stmt& loop);

// Store b[i] = op(b[i], x) or op(x, b[i]): the other operand, else null.
loop::Expr accumulated(const loop::Stmt& store, Prim* op);

// Rough size of a body once unrolled, in expression nodes.
int64_t weight(const loop::Body& b);

struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
};
// Bounds and divisibility of index expressions under known loops and Lets.
class IndexFacts {
 public:
  std::unordered_map<const loop::VarDef*, Interval> ranges;
  std::unordered_map<const loop::VarDef*, loop::Expr> lets;    // I64, without loads
  std::unordered_map<const loop::VarDef*, int64_t> constants;  // unrolled loops
  Interval range(const loop::Expr& e) const;
  bool in_bounds(const loop::Buffer& b, const std::vector<loop::Expr>& index) const;
  // e == U + c + s * lane with U a multiple of `multiple` (0: U is 0) for every value of the other
  // variables.
  struct Parts {
    bool ok = false;
    int64_t multiple = 0, c = 0, s = 0;
  };
  Parts parts(const loop::Expr& e, const loop::VarDef* lane) const;
  // Whether `v` occurs in `e`, looking through Lets.
  bool depends(const loop::Expr& e, const loop::VarDef* v) const;
};

}  // namespace tenfold::cpu
