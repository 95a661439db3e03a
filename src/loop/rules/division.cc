// Rules of floor division and remainder. Reshapes fused into loops leave quotients and remainders
// of linear forms; over loops that already run over the split dimensions all of them vanish here.
#include <algorithm>
#include <functional>
#include <numeric>

#include "loop/rules/rules.h"

namespace tenfold::loop {

namespace {

using Kind = Algebra::Atom::Kind;

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

Expr divide(Algebra& g, const Poly& a, const Poly& b) {
  return g.simplify(op(Prim::FloorDiv, {g.expr(a), g.expr(b)}));
}
Expr remainder(Algebra& g, const Poly& a, const Poly& b) {
  return g.simplify(op(Prim::FloorMod, {g.expr(a), g.expr(b)}));
}
Expr sum(Algebra& g, const Poly& a, const Expr& b) { return g.expr(g.add(a, g.poly(b))); }

// a == q*b + r + shift*b with 0 <= r + shift*b < b proved.
struct Division {
  Poly q, r;
  bool split = false;  // q != 0
  bool exact = false;  // a // b == q + shift, a % b == r - shift*b
  int64_t shift = 0;
};

bool applies(Algebra& g, const Poly& a, const Poly& b) {
  if (b.is_const()) return b.constant > 0 && !g.is_wild(a);
  return !g.is_wild(a) && !g.is_wild(b) && !g.has_data(b);
}

Division analyse(Algebra& g, const Poly& a, const Poly& b) {
  Division d;
  g.divide(a, b, &d.q, &d.r);
  d.split = !d.q.is_const() || d.q.constant != 0;
  if (b.is_const()) {
    const Range rr = g.range(d.r);
    if (rr.lo != kNegInf && rr.hi != kPosInf) {
      const int64_t lo = floor_div(rr.lo, b.constant), hi = floor_div(rr.hi, b.constant);
      if (lo == hi) {
        d.exact = true;
        d.shift = lo;
        return d;
      }
      if (hi - lo > 1) return d;  // far out of one block: no bound will help
    }
  }
  d.exact = g.nonneg(d.r) && g.less(d.r, b);
  return d;
}

// The single atom of `p` when p is that atom plus a constant.
const Algebra::Atom* lone(const Algebra& g, const Poly& p, Kind k) {
  if (p.terms.size() != 1 || p.terms[0].degree != 1 || p.terms[0].coeff != 1) return nullptr;
  const Algebra::Atom& a = g.atom(p.terms[0].atoms[0]);
  return a.kind == k ? &a : nullptr;
}

int64_t content(const Poly& p, int64_t start) {
  int64_t c = start;
  for (const Term& t : p.terms) {
    if (t.coeff == INT64_MIN) return 1;
    c = std::gcd(c, t.coeff);
  }
  return c;
}

Poly divided(const Poly& p, int64_t c) {  // every coefficient a multiple of c, constant floored
  Poly r = p;
  for (Term& t : r.terms) t.coeff /= c;
  r.constant = floor_div(p.constant, c);
  return r;
}

// --- floor division -----------------------------------------------------------------------------

Expr div_exact(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!applies(g, a, b)) return nullptr;
  const Division d = analyse(g, a, b);
  if (!d.exact) return nullptr;
  return g.expr(g.add(d.q, Algebra::constant(d.shift)));
}

Expr div_split(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!applies(g, a, b)) return nullptr;
  if (!b.is_const() && (b.terms.size() != 1 || b.constant != 0)) return nullptr;
  Poly q, r;
  g.divide(a, b, &q, &r);
  if (q.is_const() && q.constant == 0) return nullptr;
  return sum(g, q, divide(g, r, b));
}

Expr div_factor(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!applies(g, a, b)) return nullptr;
  const int64_t c = content(a, content(b, b.constant));
  if (c <= 1) return nullptr;
  return divide(g, divided(a, c), divided(b, c));
}

Expr div_of_div(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!b.is_const() || !applies(g, a, b)) return nullptr;
  const Algebra::Atom* n = lone(g, a, Kind::Div);
  int64_t product = 0, offset = 0;
  if (!n || !n->b.is_const() || __builtin_mul_overflow(n->b.constant, b.constant, &product) ||
      __builtin_mul_overflow(n->b.constant, a.constant, &offset))
    return nullptr;
  const Poly inner = n->a;
  return divide(g, g.add(inner, Algebra::constant(offset)), Algebra::constant(product));
}

Expr div_of_mod(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!b.is_const() || !applies(g, a, b) || a.constant != 0) return nullptr;
  const Algebra::Atom* n = lone(g, a, Kind::Mod);
  if (!n || !n->b.is_const() || n->b.constant % b.constant != 0) return nullptr;
  const int64_t c = n->b.constant / b.constant;
  const Poly inner = n->a;
  return remainder(g, g.poly(divide(g, inner, b)), Algebra::constant(c));
}

// a == c*x + r with r in one block [k*c, (k+1)*c) and c a divisor of b: for the largest such c.
struct Blocks {
  int64_t step = 0;
  Poly x;       // x + k
  Poly offset;  // r - k*c
};
Blocks blocks(Algebra& g, const Poly& a, int64_t b) {
  std::vector<int64_t> steps;
  for (const Term& t : a.terms)
    if (t.coeff != INT64_MIN) steps.push_back(std::gcd(t.coeff, b));
  std::sort(steps.begin(), steps.end(), std::greater<>());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  for (int64_t c : steps) {
    if (c <= 1) break;
    Poly q, r;
    g.divide(a, Algebra::constant(c), &q, &r);
    if (q.is_const() || r.is_const()) continue;
    const Range rr = g.range(r);
    if (rr.lo == kNegInf || rr.hi == kPosInf) continue;
    const int64_t k = floor_div(rr.lo, c);
    if (k != floor_div(rr.hi, c)) continue;
    return {c, g.add(q, Algebra::constant(k)), g.add(r, Algebra::constant(-k * c))};
  }
  return {};
}

Expr div_block(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!b.is_const() || !applies(g, a, b)) return nullptr;
  const Blocks k = blocks(g, a, b.constant);
  if (k.step == 0) return nullptr;
  return divide(g, k.x, Algebra::constant(b.constant / k.step));
}

// --- remainder ----------------------------------------------------------------------------------

Expr mod_exact(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!applies(g, a, b)) return nullptr;
  const Division d = analyse(g, a, b);
  if (!d.exact) return nullptr;
  return g.expr(g.add(d.r, b, -d.shift));
}

Expr mod_split(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!applies(g, a, b)) return nullptr;
  if (!b.is_const() && (b.terms.size() != 1 || b.constant != 0)) return nullptr;
  Poly q, r;
  g.divide(a, b, &q, &r);
  if (q.is_const() && q.constant == 0) return nullptr;
  return remainder(g, r, b);
}

Expr mod_factor(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!applies(g, a, b)) return nullptr;
  const int64_t c = content(a, content(b, b.constant));
  if (c <= 1) return nullptr;
  const int64_t rest = a.constant - floor_div(a.constant, c) * c;
  const Poly m = g.poly(remainder(g, divided(a, c), divided(b, c)));
  return g.expr(g.add(g.scale(m, c), Algebra::constant(rest)));
}

Expr mod_of_mod(Algebra& g, const Expr& x, const Expr& y) {
  Poly a = g.poly(x);
  const Poly b = g.poly(y);
  if (!b.is_const() || !applies(g, a, b)) return nullptr;
  for (const Term& t : a.terms) {
    if (t.degree != 1 || g.atom(t.atoms[0]).kind != Kind::Mod) continue;
    const Algebra::Atom n = g.atom(t.atoms[0]);
    int64_t period = 0;
    if (!n.b.is_const() || __builtin_mul_overflow(n.b.constant, t.coeff, &period) ||
        period % b.constant != 0)
      continue;
    a = g.add(g.add(a, Poly{{t}, 0}, -1), n.a, t.coeff);
    return remainder(g, a, b);
  }
  return nullptr;
}

Expr mod_block(Algebra& g, const Expr& x, const Expr& y) {
  const Poly a = g.poly(x), b = g.poly(y);
  if (!b.is_const() || !applies(g, a, b)) return nullptr;
  const Blocks k = blocks(g, a, b.constant);
  if (k.step == 0) return nullptr;
  const Poly m = g.poly(remainder(g, k.x, Algebra::constant(b.constant / k.step)));
  return g.expr(g.add(g.scale(m, k.step), k.offset));
}

constexpr Rule kDiv[] = {
    {"div_exact", "(q*b + r) // b -> q  when 0 <= r < b", div_exact},
    {"div_split", "(q*b + r) // b -> q + r // b", div_split},
    {"div_factor", "(c*x + k) // (c*y) -> (x + k // c) // y", div_factor},
    {"div_block", "(c*x + r) // (c*d) -> x // d  when 0 <= r < c", div_block},
    {"div_of_div", "(x // c + k) // d -> (x + k*c) // (c*d)", div_of_div},
    {"div_of_mod", "(x % (c*d)) // d -> (x // d) % c", div_of_mod},
};
constexpr Rule kMod[] = {
    {"mod_exact", "(q*b + r) % b -> r  when 0 <= r < b", mod_exact},
    {"mod_split", "(q*b + r) % b -> r % b", mod_split},
    {"mod_factor", "(c*x + k) % (c*y) -> c*((x + k // c) % y) + k % c", mod_factor},
    {"mod_block", "(c*x + r) % (c*d) -> c*(x % d) + r  when 0 <= r < c", mod_block},
    {"mod_of_mod", "(k*(x % c) + r) % d -> (k*x + r) % d  when d divides k*c", mod_of_mod},
};

}  // namespace

std::span<const Rule> floor_div_rules() { return kDiv; }
std::span<const Rule> floor_mod_rules() { return kMod; }

}  // namespace tenfold::loop
