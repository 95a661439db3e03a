#include "loop/schedule/touched.h"

#include <algorithm>

namespace tenfold::loop::sched {

namespace {

using Kind = ExprNode::Kind;

struct Walker {
  Algebra& g;
  const BufferDef* buffer;
  std::unordered_set<const VarDef*> inner;
  std::vector<std::vector<Poly>> indices;
  int loads = 0, stores = 0;

  void body(const Body& b) {
    for (const StmtPtr& s : b) stmt(*s);
  }
  void stmt(const Stmt& s) {
    for_each_expr(s, [&](const Expr& e) {
      if (!e->has_load) return;
      visit_once(e, [&](const Expr& x) {
        if (x->kind == Kind::Load && x->buffer.get() == buffer) {
          ++loads;
          note(x->args);
        }
      });
    });
    if (s.kind == Stmt::Kind::Store && s.buffer.get() == buffer) {
      ++stores;
      note(s.index);
    }
    if (s.kind == Stmt::Kind::For || s.kind == Stmt::Kind::Let) {
      bind_stmt(g, s);
      inner.insert(s.var.get());
    }
    body(s.body);
    body(s.else_body);
  }
  void note(const std::vector<Expr>& index) {
    std::vector<Poly> p;
    for (const Expr& e : index) p.push_back(g.poly(g.simplify(e)));
    indices.push_back(std::move(p));
  }

  bool is_inner(int32_t id) const {
    const Expr& e = g.atom(id).e;
    if (e->has_load) return true;
    bool found = false;
    visit_once(e, [&](const Expr& x) {
      found = found || (x->kind == Kind::Var && inner.count(x->var.get()));
    });
    return found;
  }

  // The bound of p in terms of what is outside.
  bool bound(Poly p, bool upper, Poly* out) {
    for (int step = 0; step < 64; ++step) {
      int32_t id = -1;
      for (const Term& t : p.terms)
        for (int i = 0; i < t.degree; ++i)
          if (t.atoms[i] > id && is_inner(t.atoms[i])) id = t.atoms[i];
      if (id < 0) return *out = std::move(p), true;
      Poly c, rest;
      if (!g.split(p, id, &c, &rest)) return false;
      const Range rc = g.range(c);
      if (rc.lo < 0 && rc.hi > 0) return false;
      const bool high = (rc.lo >= 0) == upper;
      const Algebra::Atom a = g.atom(id);
      Poly value;
      if (a.kind == Algebra::Atom::Kind::Loop && a.e->kind == Kind::Var) {
        value = high ? a.b : a.a;
      } else {
        const int64_t v = high ? a.range.hi : a.range.lo;
        if (a.wild || v == kNegInf || v == kPosInf) return false;
        value = Algebra::constant(v);
      }
      Poly m;
      if (!g.multiply(c, value, &m)) return false;
      p = g.add(m, rest);
    }
    return false;
  }
};

}  // namespace

Result<Box> touched(Algebra& g, const Kernel& k, const char* primitive, const Place& p,
                    const Buffer& buffer, bool constant) {
  Walker w{g, buffer.get(), {}, {}, 0, 0};
  w.body(p.stmt()->body);
  Box box;
  box.loads = w.loads;
  box.stores = w.stores;
  std::unordered_set<const VarDef*> symbols;
  for (const Var& v : k.symbols) symbols.insert(v.get());
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    Poly lo, hi;
    bool known = true, first = true;
    for (const auto& index : w.indices) {
      Poly l, h;
      if (!w.bound(index[d], false, &l) || !w.bound(index[d], true, &h)) {
        known = false;
        break;
      }
      if (first) {
        lo = l;
        hi = h;
        first = false;
        continue;
      }
      if (g.less_equal(l, lo))
        lo = l;
      else if (!g.less_equal(lo, l))
        lo = g.poly(imin(g.expr(lo), g.expr(l)));
      if (g.less_equal(hi, h))
        hi = h;
      else if (!g.less_equal(h, hi))
        hi = g.poly(imax(g.expr(hi), g.expr(h)));
    }
    Box::Side side;
    Poly extent = g.add(g.add(hi, lo, -1), Algebra::constant(1));
    // Negative where a loop inside may run not at all.
    if (!g.nonneg(extent)) extent = g.poly(g.simplify(imax(g.expr(extent), int_const(0))));
    // Terms that have no plain form say nothing either.
    known = known && !g.is_wild(lo) && !g.is_wild(extent);
    if (known && !first) {
      side.lo = g.expr(lo);
      side.extent = g.expr(extent);
      side.exact = true;
      int64_t c = 0;
      bool loops = false;  // mentions more than symbols
      visit_once(side.extent, [&](const Expr& x) {
        loops = loops || (x->kind == Kind::Var && !symbols.count(x->var.get()));
      });
      if (!is_const(side.extent, &c) && (loops || constant)) {
        const Range r = g.range(extent);
        side.exact = false;
        if (r.hi != kPosInf && (constant || r.hi <= (1 << 16)))
          side.extent = int_const(r.hi);
        else
          known = !loops;
      }
    }
    if (!known || first) {
      side.lo = int_const(0);
      side.extent = g.simplify(buffer->shape[d]);
      side.exact = false;
      side.whole = true;
    }
    if (constant && !is_const(side.extent))
      return refuse(primitive, buffer->name,
                    "the part of dimension " + std::to_string(d) + " in use has no constant bound");
    box.sides.push_back(std::move(side));
  }
  return box;
}

}  // namespace tenfold::loop::sched
