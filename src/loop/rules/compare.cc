// Rules of comparisons, minimum and maximum: decided by ranges, else brought to one form,
//   positive terms < negative terms + constant,   terms >= constant,   terms < constant.
#include <algorithm>
#include <functional>
#include <numeric>

#include "loop/rules/rules.h"

namespace tenfold::loop {

namespace {

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

bool usable(Algebra& g, const Expr& a, const Expr& b) {
  return !g.is_wild(g.poly(a)) && !g.is_wild(g.poly(b));
}

// d < 0 for d = a - b, as an expression.
Expr below_zero(Algebra& g, const Poly& d) {
  Poly left, right;
  for (Term t : d.terms) {
    if (t.coeff > 0) {
      left.terms.push_back(t);
    } else {
      t.coeff = -t.coeff;
      right.terms.push_back(t);
    }
  }
  const int64_t k = d.constant;  // left + k < right
  if (left.terms.empty()) return op(Prim::Ge, {g.expr(right), int_const(k + 1)});
  if (k == -1 && !right.terms.empty()) return op(Prim::Le, {g.expr(left), g.expr(right)});
  right.constant = -k;
  return op(Prim::Lt, {g.expr(left), g.expr(right)});
}

bool small_coefficients(const Poly& p) {
  const int64_t kLimit = int64_t{1} << 61;
  for (const Term& t : p.terms)
    if (t.coeff > kLimit || t.coeff < -kLimit) return false;
  return p.constant < kLimit && p.constant > -kLimit;
}

// d < 0 with the part smaller than one step of a coefficient dropped, and divided by the gcd:
// floor(d / c) < 0 for any c > 0.
Poly tighten(Algebra& g, const Poly& d) {
  std::vector<int64_t> steps;
  for (const Term& t : d.terms) steps.push_back(t.coeff < 0 ? -t.coeff : t.coeff);
  std::sort(steps.begin(), steps.end(), std::greater<>());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (int64_t c : steps) {
    if (c <= 1) break;
    Poly q, r;
    g.divide(d, Algebra::constant(c), &q, &r);
    if (q.is_const()) continue;
    const Range rr = g.range(r);
    if (rr.lo == kNegInf || rr.hi == kPosInf) continue;
    if (floor_div(rr.lo, c) != floor_div(rr.hi, c)) continue;
    return tighten(g, g.add(q, Algebra::constant(floor_div(rr.lo, c))));
  }
  int64_t c = 0;
  for (const Term& t : d.terms) c = std::gcd(c, t.coeff);
  if (c <= 1) return d;
  Poly r = d;
  for (Term& t : r.terms) t.coeff /= c;
  r.constant = floor_div(d.constant, c);
  return r;
}

// Decides or normalises d < 0; `before` is the expression so far.
Expr less_than_zero(Algebra& g, const Poly& d, const Expr& before) {
  if (!small_coefficients(d)) return nullptr;
  if (g.nonneg(g.add(g.scale(d, -1), Algebra::constant(-1)))) return bool_const(true);
  if (g.nonneg(d)) return bool_const(false);
  const Expr r = below_zero(g, tighten(g, d));
  return same(r, before) ? nullptr : r;
}

Poly difference(Algebra& g, const Expr& a, const Expr& b, int64_t add) {
  return g.add(g.add(g.poly(a), g.poly(b), -1), Algebra::constant(add));
}

Expr less(Algebra& g, const Expr& a, const Expr& b) {
  if (!usable(g, a, b)) return nullptr;
  return less_than_zero(g, difference(g, a, b, 0), op(Prim::Lt, {a, b}));
}
Expr less_equal(Algebra& g, const Expr& a, const Expr& b) {
  if (!usable(g, a, b)) return nullptr;
  return less_than_zero(g, difference(g, a, b, -1), op(Prim::Le, {a, b}));
}
Expr greater(Algebra& g, const Expr& a, const Expr& b) {
  if (!usable(g, a, b)) return nullptr;
  return less_than_zero(g, difference(g, b, a, 0), op(Prim::Gt, {a, b}));
}
Expr greater_equal(Algebra& g, const Expr& a, const Expr& b) {
  if (!usable(g, a, b)) return nullptr;
  return less_than_zero(g, difference(g, b, a, -1), op(Prim::Ge, {a, b}));
}

// a == b: whether the difference is never, always or sometimes 0.
enum class Zero { Never, Always, Unknown };
Zero zero(Algebra& g, const Poly& d) {
  if (d.is_const()) return d.constant == 0 ? Zero::Always : Zero::Never;
  if (g.positive(d) || g.positive(g.scale(d, -1))) return Zero::Never;
  int64_t c = 0;
  for (const Term& t : d.terms) c = std::gcd(c, t.coeff);
  if (c > 1 && d.constant % c != 0) return Zero::Never;
  if (g.nonneg(d) && g.nonneg(g.scale(d, -1))) return Zero::Always;
  return Zero::Unknown;
}

template <bool Equal>
Expr equality(Algebra& g, const Expr& a, const Expr& b) {
  if (!usable(g, a, b)) return nullptr;
  const Poly d = difference(g, a, b, 0);
  if (!small_coefficients(d)) return nullptr;
  const Zero z = zero(g, d);
  if (z == Zero::Unknown) return nullptr;
  return bool_const((z == Zero::Always) == Equal);
}

template <bool Equal>
Expr equality_form(Algebra& g, const Expr& a, const Expr& b) {
  if (!usable(g, a, b)) return nullptr;
  Poly d = difference(g, a, b, 0);
  if (!small_coefficients(d)) return nullptr;
  int64_t c = d.constant;
  for (const Term& t : d.terms) c = std::gcd(c, t.coeff);
  if (c > 1) {
    for (Term& t : d.terms) t.coeff /= c;
    d.constant /= c;
  }
  Poly left, right;
  bool positive = false;
  for (const Term& t : d.terms) positive = positive || t.coeff > 0;
  for (Term t : d.terms) {
    if ((t.coeff > 0) == positive) {
      t.coeff = t.coeff < 0 ? -t.coeff : t.coeff;
      left.terms.push_back(t);
    } else {
      t.coeff = -t.coeff;
      right.terms.push_back(t);
    }
  }
  right.constant = positive ? -d.constant : d.constant;
  const Prim p = Equal ? Prim::Eq : Prim::Ne;
  const Expr r = op(p, {g.expr(left), g.expr(right)});
  return same(r, op(p, {a, b})) ? nullptr : r;
}

template <bool IsMin>
Expr pick(Algebra& g, const Expr& a, const Expr& b) {
  // Ranges order even values from memory, as long as nothing was computed that could wrap.
  const Poly x = g.poly(a), y = g.poly(b);
  if (g.is_wild(x) || g.is_wild(y)) return nullptr;
  if (g.less_equal(x, y)) return IsMin ? a : b;
  if (g.less_equal(y, x)) return IsMin ? b : a;
  return nullptr;
}

template <bool IsMin>
Expr nested_constant(Algebra& g, const Expr& a, const Expr& b) {
  const Prim p = IsMin ? Prim::Min : Prim::Max;
  if (a->kind == ExprNode::Kind::Const && b->kind != ExprNode::Kind::Const)
    return g.simplify(op(p, {b, a}));
  int64_t c = 0, d = 0;
  if (!is_const(b, &c) || a->kind != ExprNode::Kind::Op || a->prim != p ||
      !is_const(a->args[1], &d))
    return nullptr;
  return g.simplify(op(p, {a->args[0], int_const(IsMin ? std::min(c, d) : std::max(c, d))}));
}

constexpr Rule kLt[] = {{"less", "a < b decided by ranges, steps and gcd, else normal form", less}};
constexpr Rule kLe[] = {{"less_equal", "a <= b likewise", less_equal}};
constexpr Rule kGt[] = {{"greater", "a > b likewise", greater}};
constexpr Rule kGe[] = {{"greater_equal", "a >= b likewise", greater_equal}};
constexpr Rule kEq[] = {{"equal", "a == b decided by ranges and divisibility", equality<true>},
                        {"equal_form", "c*x + k == c*y -> x + k/c == y", equality_form<true>}};
constexpr Rule kNe[] = {{"not_equal", "a != b decided by ranges and divisibility", equality<false>},
                        {"not_equal_form", "c*x + k != c*y -> x + k/c != y", equality_form<false>}};
constexpr Rule kMin[] = {
    {"min_pick", "min(a, b) -> a  when a <= b", pick<true>},
    {"min_constant", "min(min(x, c), d) -> min(x, min(c, d))", nested_constant<true>}};
constexpr Rule kMax[] = {
    {"max_pick", "max(a, b) -> b  when a <= b", pick<false>},
    {"max_constant", "max(max(x, c), d) -> max(x, max(c, d))", nested_constant<false>}};

}  // namespace

std::span<const Rule> min_rules() { return kMin; }
std::span<const Rule> max_rules() { return kMax; }
std::span<const Rule> compare_rules(Prim p) {
  switch (p) {
    case Prim::Lt:
      return kLt;
    case Prim::Le:
      return kLe;
    case Prim::Gt:
      return kGt;
    case Prim::Ge:
      return kGe;
    case Prim::Eq:
      return kEq;
    case Prim::Ne:
      return kNe;
    default:
      return {};
  }
}

}  // namespace tenfold::loop
