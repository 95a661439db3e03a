// Algebra of I64 index expressions: polynomials over atoms with integer coefficients, ranges of
// variables, and a prover of inequalities. What simplify() and the schedule primitives reason with.
//
// Sums and products wrap around consistently, so the polynomial form is exact on any data. Order
// and division are not: rules that need them refuse "wild" polynomials, those with a value from
// memory of unknown size. Everything else is an index or a size, which never overflows.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "loop/ir.h"

namespace tenfold::loop {

constexpr int64_t kNegInf = INT64_MIN, kPosInf = INT64_MAX;

struct Range {  // inclusive; the extremes mean unbounded
  int64_t lo = kNegInf, hi = kPosInf;
};

struct Term {
  static constexpr int kMaxDegree = 4;
  int64_t coeff = 0;
  int32_t degree = 0;
  int32_t atoms[kMaxDegree] = {};  // sorted
};

struct Poly {
  std::vector<Term> terms;  // sorted by atoms, coefficients not 0
  int64_t constant = 0;
  bool is_const() const { return terms.empty(); }
};

class Algebra {
 public:
  // --- what is known of variables; each is bound once
  void bind_symbol(const Var& v);
  void bind_loop(const Var& v, const Expr& begin, const Expr& extent);
  void bind_let(const Var& v, const Expr& value);    // range of the value only
  void bind_alias(const Var& v, const Expr& value);  // the variable is replaced by the value
  // Facts that hold in a scope: conditions without loads. push returns a mark for pop.
  size_t push_fact(const Expr& cond, bool holds);
  void pop_facts(size_t mark);

  // --- polynomials
  Poly poly(const Expr& e);  // of an I64 expression
  Expr expr(const Poly& p);  // canonical: large coefficients first
  static Poly constant(int64_t c) { return {{}, c}; }
  Poly add(const Poly& a, const Poly& b, int64_t scale = 1);  // a + scale*b
  Poly scale(const Poly& a, int64_t c);
  bool multiply(const Poly& a, const Poly& b, Poly* out);  // false: too large
  bool equal(const Poly& a, const Poly& b);
  // p == c*atom + rest with the atom in neither; false: a power of it occurs.
  bool split(const Poly& p, int32_t atom, Poly* c, Poly* rest);
  // a == q*b + r, taking from `a` every multiple of b's leading term.
  void divide(const Poly& a, const Poly& b, Poly* q, Poly* r);
  bool is_wild(const Poly& p) const;
  bool has_data(const Poly& p) const;  // depends on memory contents
  Range range(const Poly& p) const;
  Range range(const Expr& e) { return range(poly(e)); }
  // Coefficient of variable `v` when p is linear in it with a constant coefficient and no other
  // atom of p contains it.
  bool linear_in(const Poly& p, const VarDef* v, int64_t* coeff);
  bool mentions(const Poly& p, const VarDef* v) const;

  // --- proofs (false: not proved)
  bool nonneg(const Poly& p);
  bool positive(const Poly& p) { return nonneg(add(p, constant(-1))); }
  bool less(const Poly& a, const Poly& b) { return nonneg(add(add(b, a, -1), constant(-1))); }
  bool less_equal(const Poly& a, const Poly& b) { return nonneg(add(b, a, -1)); }

  // --- the driver (simplify.cc)
  Expr simplify(const Expr& e);

  std::vector<const struct Rule*>* fired = nullptr;  // tests: which rules were used

  // The atom of polynomials that stands for `e` (already simplified).
  int32_t intern(const Expr& e);
  struct Atom {
    enum class Kind : uint8_t { Opaque, Loop, Min, Max, Div, Mod };
    Expr e;
    Kind kind = Kind::Opaque;
    Range range;
    bool data = false;  // depends on memory contents
    bool wild = false;  // and may be of any size
    Poly a, b;          // Loop: symbolic bounds lo, hi (inclusive); the others: operands
  };
  const Atom& atom(int32_t id) const { return atoms_[static_cast<size_t>(id)]; }

 private:
  friend struct Prover;
  Poly atom_poly(int32_t id) const;
  Range atom_range(const Expr& e, Atom& a);
  Poly poly_uncached(const Expr& e);
  Expr simplify_node(const Expr& e);
  void rejoin(Poly* p);

  std::vector<Atom> atoms_;
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
  std::unordered_map<const VarDef*, Expr> aliases_;
  std::vector<Poly> facts_;  // each >= 0
  using Memo = std::unordered_map<const ExprNode*, std::pair<Expr, Expr>>;
  std::vector<Memo> memo_{1};  // one per fact scope
  std::unordered_map<const ExprNode*, std::pair<Expr, Poly>> polys_;
};

// Saturating helpers on ranges.
int64_t clamp_i64(__int128 v);
Range add_range(Range a, Range b);
Range mul_range(Range a, Range b);

}  // namespace tenfold::loop
