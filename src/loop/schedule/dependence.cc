#include "loop/schedule/dependence.h"

#include <numeric>

#include "loop/intrinsics.h"

namespace tenfold::loop::sched {

using Kind = ExprNode::Kind;

namespace {

constexpr size_t kMaxDims = 60;

// The smallest c by which one of `bases` (forms of the same value, v // product) is divided below:
// a factor of a fused loop.
Expr fused_factor(const Stmt& loop, const std::vector<Expr>& bases, int64_t product) {
  Expr best;
  int64_t best_c = kPosInf;
  std::unordered_set<const ExprNode*> seen;
  const VarDef* v = loop.var.get();
  auto look = [&](const Expr& e) {
    if ((e->var_mask & var_bit(*v)) == 0) return;
    visit_once(e, seen, [&](const Expr& x) {
      if (x->kind != Kind::Op || (x->prim != Prim::FloorDiv && x->prim != Prim::FloorMod)) return;
      if (x->args[1]->has_load) return;
      int64_t c = kPosInf - 1;
      const bool constant = is_const(x->args[1], &c);
      bool base = false;
      for (const Expr& b : bases) base = base || same(x->args[0], b);
      Expr factor = x->args[1];
      if (!base) {  // v // (product * c)
        if (!constant || product <= 1 || x->prim != Prim::FloorDiv || c % product != 0 ||
            x->args[0]->kind != Kind::Var || x->args[0]->var.get() != v)
          return;
        c /= product;
        factor = int_const(c);
      }
      if (c > 1 && c < best_c) {
        best_c = c;
        best = factor;
      }
    });
  };
  for_each_stmt(loop.body, [&](const Stmt& s) { for_each_expr(s, look); });
  return best;
}

bool invariant_divisor(const Expr& c, const std::unordered_map<const VarDef*, size_t>& dims) {
  bool ok = true;
  visit_once(
      c, [&](const Expr& x) { ok = ok && !(x->kind == Kind::Var && dims.count(x->var.get())); });
  return ok;
}

Range scaled(Range r, int64_t c) { return mul_range(r, {c, c}); }

}  // namespace

Region::Region(const Kernel& k, const Place& p) {
  bind_scope(g_, k, p);
  stmt(*p.stmt(), 0);
}

uint64_t Region::enter(const Stmt& loop, uint64_t loops) {
  auto new_dim = [&](const Var& v, const Expr& begin, const Expr& extent) -> uint64_t {
    g_.bind_loop(v, begin, extent);
    if (dims.size() >= kMaxDims) {
      problem = "the nest has too many loops";
      varying_.insert(v.get());
      return 0;
    }
    const size_t d = dims.size();
    const Range trips = g_.range(extent);
    dims.push_back({&loop, g_.range(var_ref(v)), trips.hi});
    dim_of_[v.get()] = d;
    of_loop_[&loop].push_back(d);
    return uint64_t{1} << d;
  };
  int64_t zero = 1;
  // v = (q*c1 + m1)*c0 + m0 with 0 <= m < c: exact, as the order of (q, m1, m0) is that of v.
  std::vector<Expr> factors, bases = {var_ref(loop.var)};
  if (is_const(loop.begin, &zero) && zero == 0) {
    int64_t product = 1;
    while (factors.size() < 4) {
      const Expr c = fused_factor(loop, bases, product);
      if (!c || !invariant_divisor(c, dim_of_)) break;
      factors.push_back(c);
      for (Expr& b : bases) b = op(Prim::FloorDiv, {b, c});
      int64_t n = 0;
      if (!is_const(c, &n)) break;
      product *= n;
      if (factors.size() > 1)
        bases.push_back(op(Prim::FloorDiv, {var_ref(loop.var), int_const(product)}));
    }
  }
  if (factors.empty()) return loops | new_dim(loop.var, loop.begin, loop.extent);
  Expr extent = loop.extent;
  for (const Expr& c : factors) extent = simplify(idiv(extent + (c - int_const(1)), c));
  const Var q = make_var(loop.var->name + "'q");
  uint64_t mask = loops | new_dim(q, int_const(0), extent);
  Expr value = var_ref(q);
  for (size_t n = factors.size(); n-- > 0;) {
    const Var m = make_var(loop.var->name + "'m" + std::to_string(n));
    mask |= new_dim(m, int_const(0), factors[n]);
    value = value * factors[n] + var_ref(m);
  }
  g_.bind_alias(loop.var, value);
  return mask;
}

void Region::collect(const Body& b, uint64_t loops) {
  for (const StmtPtr& s : b) stmt(*s, loops);
}

void Region::stmt(const Stmt& s, uint64_t loops) {
  for_each_expr(s, [&](const Expr& e) { loads(s, e, loops); });
  switch (s.kind) {
    case Stmt::Kind::For: {
      const uint64_t inside = enter(s, loops);
      collect(s.body, inside);
      break;
    }
    case Stmt::Kind::While:
    case Stmt::Kind::If:
      collect(s.body, loops);
      collect(s.else_body, loops);
      break;
    case Stmt::Kind::Let:
      bind_stmt(g_, s);
      if (s.value->dtype != DType::I64 || s.value->has_load) varying_.insert(s.var.get());
      break;
    case Stmt::Kind::Alloc:
      alloc_loops_[s.buffer.get()] = loops;
      break;
    case Stmt::Kind::Store:
      add(s, s.buffer, s.index, true, loops);
      break;
    case Stmt::Kind::Intrinsic: {
      const Intrinsic* in = find_intrinsic(s.name);
      if (in && in->reference) {
        bodies_.push_back(in->reference(s.args));
        // Fresh loops for each call, or their variables would be bound twice.
        for (StmtPtr& c : bodies_.back()) {
          if (c->kind != Stmt::Kind::For) continue;
          const Var v = make_var(c->var->name + "'" + std::to_string(bodies_.size()));
          substitute(c->body, {{c->var, var_ref(v)}});
          c->var = v;
        }
        collect(bodies_.back(), loops);
      }
      break;
    }
  }
}

void Region::loads(const Stmt& s, const Expr& e, uint64_t loops) {
  if (!e->has_load || s.kind == Stmt::Kind::Intrinsic) return;
  visit_once(e, [&](const Expr& x) {
    if (x->kind == Kind::Load) add(s, x->buffer, x->args, false, loops);
  });
}

Access::Index Region::affine(const Expr& e) {
  Access::Index r;
  r.coeff.assign(dims.size(), 0);
  const Poly p = g_.poly(g_.simplify(e));
  r.invariant.constant = p.constant;
  for (const Term& t : p.terms) {
    if (t.degree == 1 && g_.atom(t.atoms[0]).e->kind == Kind::Var) {
      auto it = dim_of_.find(g_.atom(t.atoms[0]).e->var.get());
      if (it != dim_of_.end()) {
        r.coeff[it->second] += t.coeff;
        continue;
      }
    }
    bool varies = false;
    for (int i = 0; i < t.degree; ++i) {
      const Expr& a = g_.atom(t.atoms[i]).e;
      varies = varies || a->has_load;
      visit_once(a, [&](const Expr& x) {
        varies = varies || (x->kind == Kind::Var &&
                            (dim_of_.count(x->var.get()) || varying_.count(x->var.get())));
      });
    }
    (varies ? r.rest : r.invariant).terms.push_back(t);
  }
  return r;
}

void Region::add(const Stmt& s, const Buffer& b, const std::vector<Expr>& index, bool write,
                 uint64_t loops) {
  Access a;
  a.stmt = &s;
  a.buffer = b.get();
  a.storage = storage_of(b.get());
  a.write = write;
  a.loops = loops;
  auto it = alloc_loops_.find(a.storage);
  if (it != alloc_loops_.end()) a.fixed = it->second;
  bool broken = false;
  for (const Expr& e : index) {
    a.index.push_back(affine(e));
    broken = broken || !a.index.back().rest.is_const();
  }
  if (broken && index.size() > 1) {
    Expr place = index[0];
    for (size_t d = 1; d < index.size(); ++d) place = place * b->shape[d] + index[d];
    a.place = affine(place);
    a.has_place = true;
  }
  accesses.push_back(std::move(a));
}

std::vector<size_t> Region::dims_of(const Stmt* loop) const {
  auto it = of_loop_.find(loop);
  return it == of_loop_.end() ? std::vector<size_t>{} : it->second;
}

bool Region::may_meet(const Access& a, const Access& b, const std::vector<Dir>& d) const {
  if (a.storage != b.storage) return false;
  for (size_t l = 0; l < dims.size(); ++l) {
    const uint64_t bit = uint64_t{1} << l;
    const bool differs = d[l] == Dir::Less || d[l] == Dir::Greater;
    if (differs && dims[l].trips != kPosInf && dims[l].trips < 2) return false;
    if (differs && ((a.fixed | b.fixed) & bit)) return false;  // another copy of the buffer
  }
  if (a.buffer != b.buffer) return true;  // different views of the same bytes
  for (size_t k = 0; k < a.index.size(); ++k)
    if (!may_equal(a, b, a.index[k], b.index[k], d)) return false;
  return !a.has_place || !b.has_place || may_equal(a, b, a.place, b.place, d);
}

bool Region::may_equal(const Access& a, const Access& b, const Access::Index& x,
                       const Access::Index& y, const std::vector<Dir>& d) const {
  // value = y - x must be 0 somewhere.
  Algebra& g = const_cast<Algebra&>(g_);
  const Poly inv = g.add(y.invariant, x.invariant, -1);
  Range r{inv.constant, inv.constant};
  int64_t gcd = 0;
  bool divisible = true;  // whether the gcd test applies
  if (!inv.is_const()) {
    r = g.is_wild(inv) ? Range{} : g.range(inv);
    divisible = false;
  }
  if (!x.rest.is_const() || !y.rest.is_const()) {
    divisible = false;
    r = add_range(r, g.is_wild(y.rest) ? Range{} : g.range(y.rest));
    r = add_range(r, scaled(g.is_wild(x.rest) ? Range{} : g.range(x.rest), -1));
  }
  for (size_t l = 0; l < dims.size(); ++l) {
    const int64_t cx = l < x.coeff.size() ? x.coeff[l] : 0;
    const int64_t cy = l < y.coeff.size() ? y.coeff[l] : 0;
    if (cx == 0 && cy == 0) continue;
    const uint64_t bit = uint64_t{1} << l;
    const bool common = (a.loops & bit) && (b.loops & bit);
    Dir dir = d[l];
    if ((a.fixed | b.fixed) & bit) dir = Dir::Equal;
    if (!(common && cx == cy && dir == Dir::Equal)) gcd = std::gcd(gcd, std::gcd(cx, cy));
    if (common && cx == cy) {
      const int64_t far = dims[l].trips == kPosInf ? kPosInf : dims[l].trips - 1;
      const int64_t back = far == kPosInf ? kNegInf : -far;
      const Range delta = dir == Dir::Equal     ? Range{0, 0}
                          : dir == Dir::Less    ? Range{1, far}
                          : dir == Dir::Greater ? Range{back, -1}
                                                : Range{back, far};
      r = add_range(r, scaled(delta, cx));
    } else if (common && dir == Dir::Equal) {
      r = add_range(r, scaled(dims[l].range, cy - cx));
    } else {
      r = add_range(r, add_range(scaled(dims[l].range, cy), scaled(dims[l].range, -cx)));
    }
  }
  if (r.lo > 0 || r.hi < 0) return false;
  if (divisible && gcd > 1 && inv.constant % gcd != 0) return false;
  return true;
}

std::string Region::describe(const Access& a, const Access& b) const {
  auto one = [](const Access& x) {
    return std::string(x.write ? "the store to " : "the load of ") + x.buffer->name;
  };
  return one(a) + " and " + one(b) + " may touch the same element in different iterations";
}

std::string Region::carried_by(const Stmt* loop) const {
  if (!problem.empty()) return problem;
  const std::vector<size_t> own = dims_of(loop);
  // Loops of the region outside `loop` run in step.
  std::vector<Dir> base(dims.size(), Dir::Any);
  for (size_t l = 0; l < own.front(); ++l) {
    // An outer loop is one that encloses every access this loop encloses.
    bool outer = true;
    for (const Access& a : accesses)
      if (a.loops & (uint64_t{1} << own.front())) outer = outer && (a.loops & (uint64_t{1} << l));
    if (outer) base[l] = Dir::Equal;
  }
  for (size_t i = 0; i < accesses.size(); ++i) {
    for (size_t j = i; j < accesses.size(); ++j) {
      const Access &a = accesses[i], &b = accesses[j];
      if ((!a.write && !b.write) || a.storage != b.storage) continue;
      const uint64_t bit = uint64_t{1} << own.front();
      if (!(a.loops & bit) || !(b.loops & bit)) continue;
      for (size_t n = 0; n < own.size(); ++n) {
        for (Dir dir : {Dir::Less, Dir::Greater}) {
          std::vector<Dir> d = base;
          for (size_t m = 0; m < n; ++m) d[own[m]] = Dir::Equal;
          d[own[n]] = dir;
          if (may_meet(a, b, d)) return describe(a, b);
        }
      }
    }
  }
  return {};
}

}  // namespace tenfold::loop::sched
