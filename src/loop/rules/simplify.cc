// The simplifier: expressions bottom-up through the rule table, kernels top-down with what each
// loop and branch makes known. Values never change; loads inside a branch stay inside it.
#include "loop/rules/rules.h"
#include "loop/walk.h"

namespace tenfold::loop {

using Kind = ExprNode::Kind;

std::span<const Rule> rules_of(Prim p) {
  switch (p) {
    case Prim::FloorDiv:
      return floor_div_rules();
    case Prim::FloorMod:
      return floor_mod_rules();
    case Prim::Min:
      return min_rules();
    case Prim::Max:
      return max_rules();
    default:
      return compare_rules(p);
  }
}

// c*(x // c) + x % c -> x, for any multiple, where it leaves fewer quotients and remainders.
void Algebra::rejoin(Poly* p) {
  auto pieces = [&](const Poly& q) {
    size_t n = 0;
    for (const Term& t : q.terms)
      for (int i = 0; i < t.degree; ++i) {
        const Atom::Kind k = atom(t.atoms[i]).kind;
        n += k == Atom::Kind::Div || k == Atom::Kind::Mod;
      }
    return n;
  };
  for (size_t n = 0; n < p->terms.size(); ++n) {
    const Term t = p->terms[n];
    for (int i = 0; i < t.degree; ++i) {
      if (atom(t.atoms[i]).kind != Atom::Kind::Mod) continue;
      const Atom m = atom(t.atoms[i]);
      Term rest;
      rest.coeff = t.coeff;
      for (int j = 0; j < t.degree; ++j)
        if (j != i) rest.atoms[rest.degree++] = t.atoms[j];
      const Poly k = rest.degree ? Poly{{rest}, 0} : constant(rest.coeff);
      const Poly q = poly(simplify(op(Prim::FloorDiv, {m.e->args[0], m.e->args[1]})));
      // k*(x % c) + k*c*(x // c) == k*x
      Poly kc, kcq, kx;
      if (!multiply(k, m.b, &kc) || !multiply(kc, q, &kcq) || !multiply(k, m.a, &kx)) continue;
      const Poly joined = add(add(add(*p, Poly{{t}, 0}, -1), kcq, -1), kx);
      if (pieces(joined) >= pieces(*p)) continue;
      *p = joined;
      n = static_cast<size_t>(-1);  // start again
      break;
    }
  }
}

Expr Algebra::simplify(const Expr& e) {
  if (e->kind == Kind::Const) return e;
  if (e->kind == Kind::Var) {
    auto it = aliases_.find(e->var.get());
    return it == aliases_.end() ? e : simplify(it->second);
  }
  if (auto it = memo_.back().find(e.get()); it != memo_.back().end()) return it->second.second;
  Expr r = simplify_node(e);
  memo_.back().emplace(e.get(), std::pair(e, r));
  if (r != e && r->kind != Kind::Const && r->kind != Kind::Var)
    memo_.back().emplace(r.get(), std::pair(r, r));
  return r;
}

Expr Algebra::simplify_node(const Expr& e) {
  const bool i64 = e->kind == Kind::Op && e->dtype == DType::I64;
  if (i64 && (e->prim == Prim::Add || e->prim == Prim::Sub || e->prim == Prim::Mul)) {
    Poly p = poly(e);
    rejoin(&p);
    Expr r = expr(p);
    return same(r, e) ? e : r;
  }
  if (e->kind == Kind::Guard) {
    const Expr c = simplify(e->args[0]);
    int64_t v = 0;
    if (is_const(c, &v)) return simplify(e->args[v ? 1 : 2]);
    Expr side[2];
    for (int i = 0; i < 2; ++i) {
      const size_t mark = push_fact(c, i == 0);
      side[i] = simplify(e->args[static_cast<size_t>(i + 1)]);
      pop_facts(mark);
    }
    if (c == e->args[0] && side[0] == e->args[1] && side[1] == e->args[2]) return e;
    return guard(c, side[0], side[1]);
  }
  if (e->kind == Kind::Op && e->dtype == DType::Bool && !e->has_load &&
      (e->prim == Prim::And || e->prim == Prim::Or)) {
    const Expr a = simplify(e->args[0]);
    int64_t v = 0;
    if (is_const(a, &v)) return (v != 0) == (e->prim == Prim::Or) ? a : simplify(e->args[1]);
    // The second operand matters only where the first left the answer open.
    const size_t mark = push_fact(a, e->prim == Prim::And);
    const Expr b = simplify(e->args[1]);
    pop_facts(mark);
    return a == e->args[0] && b == e->args[1] ? e : op(e->prim, {a, b});
  }
  std::vector<Expr> args;
  args.reserve(e->args.size());
  bool changed = false;
  for (const Expr& a : e->args) {
    args.push_back(simplify(a));
    changed = changed || args.back() != a;
  }
  Expr r = changed ? with_args(e, std::move(args)) : e;
  if (r->kind != Kind::Op) return r;
  if (r->prim == Prim::Not && r->args[0]->kind == Kind::Op && r->args[0]->args.size() == 2 &&
      r->args[0]->args[0]->dtype == DType::I64) {
    const auto& a = r->args[0]->args;
    switch (r->args[0]->prim) {  // I64 is totally ordered
      case Prim::Lt:
        return simplify(op(Prim::Ge, {a[0], a[1]}));
      case Prim::Le:
        return simplify(op(Prim::Lt, {a[1], a[0]}));
      case Prim::Gt:
        return simplify(op(Prim::Le, {a[0], a[1]}));
      case Prim::Ge:
        return simplify(op(Prim::Lt, {a[0], a[1]}));
      case Prim::Eq:
        return simplify(op(Prim::Ne, {a[0], a[1]}));
      case Prim::Ne:
        return simplify(op(Prim::Eq, {a[0], a[1]}));
      default:
        break;
    }
  }
  if (r->args.size() != 2 || r->args[0]->dtype != DType::I64) return r;
  for (const Rule& rule : rules_of(r->prim)) {
    if (Expr s = rule.fire(*this, r->args[0], r->args[1])) {
      if (fired) fired->push_back(&rule);
      return s;
    }
  }
  return r;
}

namespace {

constexpr size_t kInlineLet = 24;  // nodes of an index expression worth more inlined than named

size_t tree_size(const Expr& e, size_t limit) {
  size_t n = 1;
  for (const Expr& a : e->args) {
    if (n >= limit) return n;
    n += tree_size(a, limit - n);
  }
  return n;
}

class KernelSimplifier {
 public:
  void run(Kernel& k) {
    for (const Var& v : k.symbols) g_.bind_symbol(v);
    body(k.body, true);
    if (!shapes_.empty()) replace_buffers(k.body, shapes_, [](const std::string& n) { return n; });
  }

 private:
  void body(Body& b, bool top) {
    Body out;
    out.reserve(b.size());
    for (StmtPtr& s : b) stmt(std::move(s), out, top);
    b = std::move(out);
  }

  void fix(Expr& e) {
    if (e) e = g_.simplify(e);
  }

  // At top level several statements are several phases, so only one may take another's place.
  static void splice(Body& from, Body& out) {
    for (StmtPtr& s : from) out.push_back(std::move(s));
  }

  void stmt(StmtPtr s, Body& out, bool top) {
    switch (s->kind) {
      case Stmt::Kind::For: {
        fix(s->begin);
        fix(s->extent);
        const Poly extent = g_.poly(s->extent);
        if (g_.nonneg(g_.scale(extent, -1))) return;  // never runs
        const bool once = extent.is_const() && extent.constant == 1 && !s->begin->has_load &&
                          s->loop_kind != LoopKind::Parallel;
        if (once && !top) {
          g_.bind_alias(s->var, s->begin);
          body(s->body, false);
          splice(s->body, out);
          return;
        }
        g_.bind_loop(s->var, s->begin, s->extent);
        const bool fact = !extent.is_const() && !s->extent->has_load;
        const size_t mark = fact ? g_.push_fact(op(Prim::Ge, {s->extent, int_const(1)}), true) : 0;
        body(s->body, false);
        if (fact) g_.pop_facts(mark);
        if (s->body.empty()) return;
        break;
      }
      case Stmt::Kind::While:
        fix(s->cond);
        body(s->body, false);
        break;
      case Stmt::Kind::If: {
        fix(s->cond);
        int64_t c = 0;
        if (is_const(s->cond, &c)) {
          Body& side = c ? s->body : s->else_body;
          if (!top || side.size() <= 1) {
            body(side, top);
            splice(side, out);
            return;
          }
        }
        size_t mark = g_.push_fact(s->cond, true);
        body(s->body, false);
        g_.pop_facts(mark);
        if (!s->else_body.empty()) {
          mark = g_.push_fact(s->cond, false);
          body(s->else_body, false);
          g_.pop_facts(mark);
        }
        if (s->body.empty() && s->else_body.empty()) return;
        if (s->body.empty()) {
          s->body = std::move(s->else_body);
          s->else_body.clear();
          s->cond = g_.simplify(logical_not(s->cond));
        }
        break;
      }
      case Stmt::Kind::Let: {
        fix(s->value);
        const Expr& v = s->value;
        if (v->kind == Kind::Const || v->kind == Kind::Var ||
            (v->dtype == DType::I64 && !v->has_load && tree_size(v, kInlineLet) < kInlineLet)) {
          g_.bind_alias(s->var, v);
          return;
        }
        g_.bind_let(s->var, v);
        break;
      }
      case Stmt::Kind::Alloc: {
        std::vector<Expr> shape;
        bool differs = false;
        for (const Expr& e : s->buffer->shape) {
          shape.push_back(g_.simplify(e));
          differs = differs || shape.back() != e;
        }
        if (differs) {
          auto n = std::make_shared<BufferDef>(*s->buffer);
          n->shape = std::move(shape);
          shapes_[s->buffer.get()] = n;
        }
        break;
      }
      case Stmt::Kind::Store:
      case Stmt::Kind::Intrinsic:
        for_each_expr(*s, [&](Expr& e) { fix(e); });
        break;
    }
    out.push_back(std::move(s));
  }

  Algebra g_;
  BufferMap shapes_;  // buffers whose shapes got simpler
};

}  // namespace

Expr simplify(const Expr& e) { return Algebra().simplify(e); }

void simplify(Kernel& k) { KernelSimplifier().run(k); }

}  // namespace tenfold::loop
