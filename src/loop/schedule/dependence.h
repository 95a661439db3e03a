// Dependences between the accesses below one statement: which direction vectors are possible.
//
// Indices are affine in the loops of the region (through the polynomial form); each dimension of a
// buffer gives one equation, refuted by intervals or divisibility. What is not affine counts as
// any value in its range. A loop that was fused (used as f // c and f % c) is seen as two.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "loop/schedule/util.h"

namespace tenfold::loop::sched {

// Of a pair's iterations of one loop. Less: the first access runs in an earlier one.
enum class Dir : uint8_t { Any, Less, Equal, Greater };

struct Access {
  const Stmt* stmt = nullptr;
  const BufferDef* buffer = nullptr;   // as named
  const BufferDef* storage = nullptr;  // what it aliases
  bool write = false;
  uint64_t loops = 0;  // dimensions of the region that enclose it
  uint64_t fixed = 0;  // of those, the ones that enclose the buffer's Alloc: one copy each
  struct Index {
    std::vector<int64_t> coeff;  // per dimension
    Poly invariant;              // the same in every iteration
    Poly rest;                   // neither
  };
  std::vector<Index> index;
  // The place in row-major order, for indices with quotients and remainders: over a fused loop they
  // add up to the loop itself again. Elements are the same only if their places are.
  bool has_place = false;
  Index place;
};

class Region {
 public:
  struct Dimension {
    const Stmt* loop;
    Range range;    // of the variable
    int64_t trips;  // at most; kPosInf unknown
  };

  // Everything below the statement at `p`, which is part of it.
  Region(const Kernel& k, const Place& p);

  std::vector<Dimension> dims;
  std::vector<Access> accesses;
  std::string problem;  // why nothing can be said (too many loops)

  std::vector<size_t> dims_of(const Stmt* loop) const;
  // May the two touch the same element under these directions (one per dimension)?
  bool may_meet(const Access& a, const Access& b, const std::vector<Dir>& d) const;
  // A pair with a dependence carried by `loop` (outer loops of the region equal), described; empty:
  // its iterations are independent.
  std::string carried_by(const Stmt* loop) const;
  std::string describe(const Access& a, const Access& b) const;

 private:
  void collect(const Body& b, uint64_t loops);
  void stmt(const Stmt& s, uint64_t loops);
  void add(const Stmt& s, const Buffer& b, const std::vector<Expr>& index, bool write,
           uint64_t loops);
  void loads(const Stmt& s, const Expr& e, uint64_t loops);
  uint64_t enter(const Stmt& loop, uint64_t loops);
  Access::Index affine(const Expr& e);
  bool may_equal(const Access& a, const Access& b, const Access::Index& x, const Access::Index& y,
                 const std::vector<Dir>& d) const;

  Algebra g_;
  std::unordered_map<const Stmt*, std::vector<size_t>> of_loop_;
  std::unordered_map<const VarDef*, size_t> dim_of_;
  std::unordered_set<const VarDef*> varying_;  // Lets and loops without a dimension
  std::unordered_map<const BufferDef*, uint64_t> alloc_loops_;
  std::deque<Body> bodies_;
};

}  // namespace tenfold::loop::sched
