// unguard: removes branches of a perfect nest whose statements only write local buffers, when the
// elements written under a false condition are never looked at and everything then read exists and
// has a value. Loads of parameters that may not exist keep the condition for themselves.
#include <algorithm>
#include <functional>

#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {

using Kind = ExprNode::Kind;

struct Checker {
  const Kernel& k;
  const char* name = "unguard";
  const std::string& loop;
  std::vector<Expr> conds = {};
  // Set when the branch is surely taken in the first round of the loops it depends on: what does
  // not depend on `lanes` is read there anyway.
  bool first_round = false;
  std::unordered_set<const VarDef*> lanes = {};
  int choices = 0;  // Guards around the expression being looked at
  // Loads of parameters in stored values that keep the conditions, as guards of their own.
  bool in_value = false;
  std::vector<Expr> guarded = {};

  bool read_anyway(const Expr& load) const {
    if (!first_round || choices > 0) return false;
    bool depends = false;
    for (const Expr& i : load->args) depends |= uses(i, lanes);
    return !depends;
  }
  static bool uses(const Expr& e, const std::unordered_set<const VarDef*>& vars) {
    bool found = false;
    visit_once(e, [&](const Expr& x) {
      found |= x->kind == Kind::Load || (x->kind == Kind::Var && vars.contains(x->var.get()));
    });
    return found;
  }

  // Fills `lanes` and `first_round` for the perfect nest `chain` with `inner` inside it.
  void find_first_round(Algebra& g, const std::vector<Stmt*>& chain, const Body& inner) {
    for (const StmtPtr& s : inner)
      if (s->kind != Stmt::Kind::Store) return;
    Substitution begins;
    for (const Stmt* s : chain) {
      if (s->kind != Stmt::Kind::For) continue;
      const std::unordered_set<const VarDef*> self = {s->var.get()};
      if (std::none_of(conds.begin(), conds.end(), [&](const Expr& c) { return uses(c, self); }))
        continue;
      lanes.insert(s->var.get());
      begins.emplace_back(s->var, s->begin);
    }
    for (const Stmt* s : chain)
      if (s->kind == Stmt::Kind::For && (uses(s->begin, lanes) || uses(s->extent, lanes))) return;
    first_round = std::all_of(conds.begin(), conds.end(), [&](const Expr& c) {
      int64_t value = 0;
      return is_const(g.simplify(substitute(c, begins)), &value) && value != 0;
    });
  }

  Error no(const std::string& why) const { return refuse(name, loop, why); }

  // Every index of the loads in `e` is within its buffer, by what encloses it.
  Status in_bounds(Algebra& g, const Expr& e) {
    if (!e->has_load) return ok_status();
    if (e->kind == Kind::Guard) {
      TF_TRY(in_bounds(g, e->args[0]));
      for (size_t i = 1; i < 3; ++i) {
        const size_t mark = g.push_fact(e->args[0], i == 1);
        ++choices;
        Status s = in_bounds(g, e->args[i]);
        --choices;
        g.pop_facts(mark);
        TF_TRY(std::move(s));
      }
      return ok_status();
    }
    for (const Expr& a : e->args) TF_TRY(in_bounds(g, a));
    if (e->kind != Kind::Load || read_anyway(e)) return ok_status();
    Status s = index_in_bounds(g, *e->buffer, e->args);
    if (s.ok() || !in_value || choices > 0 || e->buffer->scope != Scope::Param) return s;
    guarded.push_back(e);
    return ok_status();
  }
  Status index_in_bounds(Algebra& g, const BufferDef& b, const std::vector<Expr>& index) {
    for (size_t d = 0; d < index.size(); ++d) {
      const Poly i = g.poly(g.simplify(index[d]));
      if (!g.nonneg(i) || !g.less(i, g.poly(g.simplify(b.shape[d]))))
        return no("without the branch, index " + print(index[d]) + " of " + b.name +
                  " is not seen to be within its shape");
    }
    return ok_status();
  }

  // Local buffers and the stores to them below the branch; anything else is refused.
  Status body(Algebra& g, const Body& b, std::vector<const Stmt*>* stores) {
    for (const StmtPtr& s : b) {
      switch (s->kind) {
        case Stmt::Kind::For: {
          TF_TRY(in_bounds(g, s->begin));
          TF_TRY(in_bounds(g, s->extent));
          bind_stmt(g, *s);
          TF_TRY(body(g, s->body, stores));
          break;
        }
        case Stmt::Kind::Let:
          TF_TRY(in_bounds(g, s->value));
          bind_stmt(g, *s);
          break;
        case Stmt::Kind::Store:
          if (storage_of(s->buffer.get())->scope == Scope::Param || s->buffer->alias_of)
            return no("it protects a store to " + s->buffer->name);
          in_value = true;
          TF_TRY(in_bounds(g, s->value));
          in_value = false;
          for (const Expr& i : s->index) TF_TRY(in_bounds(g, i));
          TF_TRY(index_in_bounds(g, *s->buffer, s->index));
          stores->push_back(s.get());
          break;
        default:
          return no("it protects more than loops, lets and stores");
      }
    }
    return ok_status();
  }
};

// Whether the statement fills all of `b`: a nest of one store at bare loop variables from 0 over
// the whole dimensions, without branches.
bool fills_whole(Algebra& g, const Stmt& s, const Buffer& b) {
  const Stmt* c = &s;
  std::vector<const Stmt*> loops;
  while (c->kind == Stmt::Kind::For && c->body.size() == 1) {
    loops.push_back(c);
    c = c->body[0].get();
  }
  if (c->kind != Stmt::Kind::Store || c->buffer != b || mentions_buffer(c->value, b.get()))
    return false;
  for (const Stmt* l : loops) bind_stmt(g, *l);
  // Written as mixed radix of the loops: the index polynomials' ranges are the dimensions and the
  // number of iterations is the number of elements, each loop used once with stride of the others.
  std::unordered_set<const VarDef*> used;
  for (size_t d = 0; d < c->index.size(); ++d) {
    Poly p = g.poly(g.simplify(c->index[d]));
    const Poly n = g.poly(g.simplify(b->shape[d]));
    if (p.constant != 0) return false;
    // Smallest stride first: coefficients are 1, e1, e1*e2 ... and the product is n.
    std::sort(p.terms.begin(), p.terms.end(),
              [](const Term& x, const Term& y) { return x.coeff < y.coeff; });
    Poly stride = Algebra::constant(1);
    for (const Term& t : p.terms) {
      if (t.degree != 1 || g.atom(t.atoms[0]).e->kind != Kind::Var || !stride.is_const() ||
          t.coeff != stride.constant)
        return false;
      const VarDef* v = g.atom(t.atoms[0]).e->var.get();
      const Stmt* loop = nullptr;
      for (const Stmt* l : loops)
        if (l->var.get() == v) loop = l;
      int64_t zero = 1;
      if (!loop || !used.insert(v).second || !is_const(loop->begin, &zero) || zero != 0)
        return false;
      if (!g.multiply(stride, g.poly(g.simplify(loop->extent)), &stride)) return false;
    }
    if (!g.equal(stride, n)) return false;
  }
  return true;
}

}  // namespace

Status Schedule::unguard(const std::string& loop) {
  TF_ASSIGN(Place p, find_loop(*k_, "unguard", loop));
  std::vector<Stmt*> chain = perfect_chain(p.stmt());
  Checker check{.k = *k_, .loop = loop};
  for (Stmt* s : chain) {
    if (s->kind != Stmt::Kind::If) continue;
    if (s->cond->has_load) return refuse("unguard", loop, "a condition reads memory");
    check.conds.push_back(s->cond);
  }
  if (check.conds.empty()) return refuse("unguard", loop, "no branch is perfectly nested in it");
  Body& inner = chain.back()->body;
  std::vector<const Stmt*> stores;
  {
    Algebra g;
    bind_scope(g, *k_, p);
    for (Stmt* s : chain) {
      if (s->kind != Stmt::Kind::For) continue;
      TF_TRY(check.in_bounds(g, s->begin));
      TF_TRY(check.in_bounds(g, s->extent));
      bind_stmt(g, *s);
    }
    check.find_first_round(g, chain, inner);
    TF_TRY(check.body(g, inner, &stores));
  }
  if (stores.empty()) return refuse("unguard", loop, "it protects no store");

  std::unordered_set<const Stmt*> own(stores.begin(), stores.end());
  for (const Stmt* st : stores) {
    const Buffer& b = st->buffer;
    // The store's indices, to express the condition in terms of the element.
    TF_ASSIGN(Place alloc, find_alloc(*k_, "unguard", b->name));
    Body& home = alloc.body();
    // Loads of b and of other locals under the branch need values everywhere: an earlier nest that
    // fills all of it, directly beside the Alloc, or along the way down to here.
    std::unordered_set<const BufferDef*> read;
    for_each_stmt(inner, [&](const Stmt& s) {
      for_each_expr(s, [&](const Expr& e) {
        if (e->has_load)
          visit_once(e, [&](const Expr& x) {
            if (x->kind == Kind::Load && storage_of(x->buffer.get())->scope != Scope::Param)
              read.insert(storage_of(x->buffer.get()));
          });
      });
    });
    for (const BufferDef* r : read) {
      TF_ASSIGN(Place ra, find_alloc(*k_, "unguard", r->name));
      bool filled = false;
      for (size_t d = ra.path.size() - 1; d < p.path.size() && !filled; ++d) {
        const Place::Step& step = p.path[d];
        const size_t from = d + 1 == ra.path.size() ? ra.index() + 1 : 0;
        for (size_t i = from; i < step.index && !filled; ++i) {
          Algebra g;
          Place here;
          here.path.assign(p.path.begin(), p.path.begin() + static_cast<std::ptrdiff_t>(d));
          here.path.push_back({step.body, i});
          bind_scope(g, *k_, here);
          filled = fills_whole(g, *(*step.body)[i], ra.stmt()->buffer);
        }
      }
      if (!filled) return refuse("unguard", loop, "not all of " + r->name + " is written before");
    }
    // Every other load of b: under conditions that imply these ones for its element, or the
    // accumulation of an element into itself.
    std::vector<std::pair<const Stmt*, Place>> readers;
    std::function<void(Body&, Place)> walk = [&](Body& bd, Place base) {
      for (size_t i = 0; i < bd.size(); ++i) {
        Place here = base;
        here.path.push_back({&bd, i});
        bool found = false;
        for_each_expr(*bd[i], [&](const Expr& e) { found = found || mentions_buffer(e, b.get()); });
        if (found && !own.count(bd[i].get())) readers.emplace_back(bd[i].get(), here);
        walk(bd[i]->body, here);
        walk(bd[i]->else_body, here);
      }
    };
    Place root;
    root.path.assign(alloc.path.begin(), alloc.path.end() - 1);
    walk(home, root);
    for (auto& [stmt, place] : readers) {
      std::vector<Expr> loads;
      for_each_expr(*stmt, [&](const Expr& e) {
        visit_once(e, [&](const Expr& x) {
          if (x->kind == Kind::Load && storage_of(x->buffer.get()) == b.get()) loads.push_back(x);
        });
      });
      for (const Expr& l : loads) {
        if (stmt->kind == Stmt::Kind::Store && stmt->buffer == b && l->buffer == b) {
          bool self = true;
          for (size_t d = 0; d < l->args.size(); ++d)
            self = self && same(l->args[d], stmt->index[d]);
          if (self) continue;
        }
        // Solve store index == load index for the loops of the store: matching terms one by one.
        Algebra g;
        bind_scope(g, *k_, place);
        Substitution sub;
        bool solved = l->buffer == b;
        for (size_t d = 0; solved && d < l->args.size(); ++d) {
          Poly x = g.poly(st->index[d]);
          Poly y = g.poly(l->args[d]);
          if (g.equal(x, y)) continue;
          auto by_coeff = [](const Term& m, const Term& n) { return m.coeff > n.coeff; };
          std::sort(x.terms.begin(), x.terms.end(), by_coeff);
          std::sort(y.terms.begin(), y.terms.end(), by_coeff);
          if (x.constant != 0 || y.constant != 0) solved = false;
          if (x.terms.size() == 1 && x.terms[0].degree == 1 && x.terms[0].coeff == 1) {
            sub.emplace_back(g.atom(x.terms[0].atoms[0]).e->var, l->args[d]);
            solved = solved && g.atom(x.terms[0].atoms[0]).e->kind == Kind::Var;
            continue;
          }
          // i*c + j on both sides with j < c on both: equal digit by digit.
          solved = solved && x.terms.size() == y.terms.size();
          for (size_t n = 0; solved && n < x.terms.size(); ++n) {
            const Term &m = x.terms[n], &q = y.terms[n];
            solved = m.degree == 1 && q.degree == 1 && m.coeff == q.coeff && m.coeff > 0 &&
                     g.atom(m.atoms[0]).e->kind == Kind::Var &&
                     g.atom(q.atoms[0]).e->kind == Kind::Var;
            if (!solved) break;
            sub.emplace_back(g.atom(m.atoms[0]).e->var, g.atom(q.atoms[0]).e);
          }
          // Digits: what is below each coefficient is smaller than it, on the reader's side (the
          // writer's is the same form of its own loops).
          Poly low;
          for (size_t n = x.terms.size(); solved && n-- > 0;) {
            if (n + 1 < x.terms.size()) {
              const Range r = g.range(low);
              solved = r.lo >= 0 && r.hi < y.terms[n].coeff;
            }
            low = g.add(low, Poly{{y.terms[n]}, 0});
          }
        }
        if (!solved)
          return refuse("unguard", loop,
                        "a load of " + b->name + " elsewhere does not match the stores here");
        for (const Expr& c : check.conds) {
          int64_t yes = 0;
          const Expr holds = g.simplify(substitute(c, sub));
          if (is_const(holds, &yes) && yes) continue;
          return refuse("unguard", loop,
                        "a load of " + b->name +
                            " elsewhere may see elements that the branch left "
                            "alone: " +
                            print(holds) + " is not known there");
        }
      }
    }
  }

  if (!check.guarded.empty()) {
    Expr all = check.conds[0];
    for (size_t c = 1; c < check.conds.size(); ++c) all = logical_and(all, check.conds[c]);
    rewrite_exprs(inner, [&](const Expr& e) {
      return transform(e, [&](const Expr& x) {
        const bool known =
            x->kind == Kind::Load && std::any_of(check.guarded.begin(), check.guarded.end(),
                                                 [&](const Expr& l) { return same(l, x); });
        return known ? guard(all, x, zero(x->dtype)) : x;
      });
    });
  }
  Body rebuilt = std::move(inner);
  for (size_t c = chain.size(); c-- > 0;) {
    if (chain[c]->kind == Stmt::Kind::If) continue;
    StmtPtr f = make_for_like(*chain[c], chain[c]->var, chain[c]->begin, chain[c]->extent,
                              chain[c]->loop_kind);
    f->body = std::move(rebuilt);
    rebuilt.clear();
    rebuilt.push_back(std::move(f));
  }
  p.body()[p.index()] = std::move(rebuilt[0]);
  k_->trace.push_back("unguard " + word(loop));
  return ok_status();
}

}  // namespace tenfold::loop
