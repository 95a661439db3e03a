// Proves p >= 0: by numeric ranges, else by replacing the youngest atom that has symbolic bounds
// with the bound that can only lower p. An atom's bounds and operands are always older than it, so
// this ends. Facts of enclosing conditions are subtracted first where they share an atom.
#include <algorithm>
#include <functional>
#include <numeric>

#include "loop/rules/algebra.h"

namespace tenfold::loop {

// p = c*atom + rest with the atom in neither c nor rest.
bool Algebra::split(const Poly& p, int32_t id, Poly* c, Poly* rest) {
  *c = {};
  *rest = {};
  rest->constant = p.constant;
  for (const Term& t : p.terms) {
    int power = 0;
    for (int i = 0; i < t.degree; ++i) power += t.atoms[i] == id;
    if (power > 1) return false;
    if (power == 0) {
      rest->terms.push_back(t);
      continue;
    }
    Term u;
    u.coeff = t.coeff;
    for (int i = 0; i < t.degree; ++i)
      if (t.atoms[i] != id) u.atoms[u.degree++] = t.atoms[i];
    *c = add(*c, u.degree ? Poly{{u}, 0} : constant(u.coeff));
  }
  return true;
}

struct Prover {
  Algebra& g;
  int budget = 60;  // polynomials looked at

  bool with(const Poly& c, const Poly& value, const Poly& rest) {
    Poly m;
    return g.multiply(c, value, &m) && prove(g.add(m, rest));
  }

  bool replace(const Poly& p, int32_t id) {
    Poly c, rest;
    if (!g.split(p, id, &c, &rest)) return false;
    const Algebra::Atom a = g.atom(id);  // a copy: atoms may be added below
    if (a.kind == Algebra::Atom::Kind::Div) return replace_quotient(a, c, rest);
    const Range rc = g.range(c);
    const bool up = rc.lo >= 0, down = rc.hi <= 0;  // p grows with the atom, or falls
    if (!up && !down) return false;
    switch (a.kind) {
      case Algebra::Atom::Kind::Loop:
        return with(c, up ? a.a : a.b, rest);
      case Algebra::Atom::Kind::Min:
        return up ? with(c, a.a, rest) && with(c, a.b, rest)
                  : with(c, a.a, rest) || with(c, a.b, rest);
      case Algebra::Atom::Kind::Max:
        return up ? with(c, a.a, rest) || with(c, a.b, rest)
                  : with(c, a.a, rest) && with(c, a.b, rest);
      case Algebra::Atom::Kind::Mod:
        if (up) return prove(rest);
        if (with(c, g.add(a.b, Algebra::constant(-1)), rest)) return true;
        return g.range(a.a).lo >= 0 && with(c, a.a, rest);
      default:
        return false;
    }
  }

  // c * floor(x / d): with c == k*d, k*d*floor(x/d) lies in [k*(x - d + 1), k*x] for k > 0.
  bool replace_quotient(const Algebra::Atom& a, const Poly& c, const Poly& rest) {
    Poly k, r, scaled_rest = rest;
    if (a.b.is_const() && c.is_const()) {
      const int64_t d = a.b.constant, common = std::gcd(c.constant, d);
      if (common == 0 || d / common > (1 << 20)) return false;
      scaled_rest = g.scale(rest, d / common);  // p >= 0 iff m*p >= 0
      k = Algebra::constant(c.constant / common);
    } else {
      g.divide(c, a.b, &k, &r);
      if (!r.is_const() || r.constant != 0) return false;
    }
    const Range rk = g.range(k);
    if (rk.lo >= 0) return with(k, g.add(g.add(a.a, a.b, -1), Algebra::constant(1)), scaled_rest);
    if (rk.hi <= 0) return with(k, a.a, scaled_rest);
    return false;
  }

  bool prove(const Poly& p) {
    if (--budget < 0) return false;
    const Range r = g.range(p);
    if (r.lo >= 0) return true;
    if (r.hi < 0) return false;
    // Youngest first; an older one only where the younger cannot be replaced.
    std::vector<int32_t> ids;
    for (const Term& t : p.terms)
      for (int i = 0; i < t.degree; ++i)
        if (g.atom(t.atoms[i]).kind != Algebra::Atom::Kind::Opaque) ids.push_back(t.atoms[i]);
    std::sort(ids.begin(), ids.end(), std::greater<>());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (int32_t id : ids)
      if (replace(p, id)) return true;
    return false;
  }
};

bool Algebra::nonneg(const Poly& p) {
  if (is_wild(p)) return false;
  if (p.is_const()) return p.constant >= 0;
  Prover prover{*this};
  if (prover.prove(p)) return true;
  for (size_t k = facts_.size(); k-- > 0;) {
    const Poly& f = facts_[k];
    for (const Term& t : f.terms) {
      // p - m*f with m > 0 cancelling this term of the fact.
      for (const Term& u : p.terms) {
        if (u.degree != t.degree || !std::equal(t.atoms, t.atoms + t.degree, u.atoms)) continue;
        if (u.coeff % t.coeff != 0 || u.coeff / t.coeff <= 0) continue;
        Prover again{*this};
        if (again.prove(add(p, f, -(u.coeff / t.coeff)))) return true;
      }
    }
  }
  return false;
}

namespace {

// Whether p >= 0 is what `cond` (with the given truth) says; only comparisons of I64.
bool inequality(Algebra& g, const Expr& cond, bool holds, std::vector<Poly>* out) {
  if (cond->kind != ExprNode::Kind::Op) return false;
  const auto& a = cond->args;
  switch (cond->prim) {
    case Prim::Not:
      return inequality(g, a[0], !holds, out);
    case Prim::And:
      if (!holds) return false;
      inequality(g, a[0], true, out);
      inequality(g, a[1], true, out);
      return true;
    case Prim::Or:
      if (holds) return false;
      inequality(g, a[0], false, out);
      inequality(g, a[1], false, out);
      return true;
    default:
      break;
  }
  if (a.size() != 2 || a[0]->dtype != DType::I64) return false;
  const Poly x = g.poly(a[0]), y = g.poly(a[1]);
  if (g.is_wild(x) || g.is_wild(y)) return false;
  const Poly up = g.add(y, x, -1), down = g.add(x, y, -1);  // y - x, x - y
  const Poly one = Algebra::constant(1);
  Prim p = cond->prim;
  if (!holds) {
    p = p == Prim::Lt   ? Prim::Ge
        : p == Prim::Ge ? Prim::Lt
        : p == Prim::Le ? Prim::Gt
        : p == Prim::Gt ? Prim::Le
        : p == Prim::Eq ? Prim::Ne
        : p == Prim::Ne ? Prim::Eq
                        : p;
  }
  switch (p) {
    case Prim::Lt:
      out->push_back(g.add(up, one, -1));
      return true;
    case Prim::Le:
      out->push_back(up);
      return true;
    case Prim::Gt:
      out->push_back(g.add(down, one, -1));
      return true;
    case Prim::Ge:
      out->push_back(down);
      return true;
    case Prim::Eq:
      out->push_back(up);
      out->push_back(down);
      return true;
    default:
      return false;
  }
}

}  // namespace

size_t Algebra::push_fact(const Expr& cond, bool holds) {
  const size_t mark = facts_.size();
  if (cond && !cond->has_load) inequality(*this, cond, holds, &facts_);
  memo_.emplace_back();  // what was not provable may be now
  polys_.clear();
  return mark;
}

void Algebra::pop_facts(size_t mark) {
  facts_.resize(mark);
  memo_.pop_back();
  polys_.clear();
}

}  // namespace tenfold::loop
