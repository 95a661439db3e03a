// fuse: two nested loops into one over the product of their extents.
#include "loop/schedule/dependence.h"

namespace tenfold::loop {

using namespace sched;

Result<std::string> Schedule::fuse(const std::string& outer, const std::string& inner) {
  TF_ASSIGN(Place p, find_loop(*k_, "fuse", outer));
  const std::string both = outer + ", " + inner;
  Stmt* o = p.stmt();
  std::vector<Stmt*> chain = perfect_chain(o);
  size_t at = 1;
  std::vector<Expr> conds;
  for (; at < chain.size() && chain[at]->kind == Stmt::Kind::If; ++at) {
    if (chain[at]->cond->has_load)
      return refuse("fuse", both, "a branch between the loops reads memory");
    conds.push_back(chain[at]->cond);
  }
  if (at >= chain.size() || chain[at]->kind != Stmt::Kind::For || chain[at]->var->name != inner) {
    TF_TRY(find_loop(*k_, "fuse", inner));
    return refuse("fuse", both, "the loops are not perfectly nested");
  }
  Stmt* i = chain[at];
  for (const Expr& e : {i->begin, i->extent}) {
    if (uses(e, o->var.get())) return refuse("fuse", both, "the inner bounds depend on the outer");
    if (e->has_load) return refuse("fuse", both, "the inner bounds read memory");
  }
  if (o->loop_kind == LoopKind::Parallel && !independent(*i)) {
    Place q = p;
    for (size_t n = 1; n <= at; ++n) q.path.push_back({&chain[n - 1]->body, 0});
    const Region region(*k_, q);
    if (const std::string why = region.carried_by(i); !why.empty())
      return refuse("fuse", both, "the outer loop is parallel and the inner cannot be: " + why);
  }
  Algebra g;
  bind_scope(g, *k_, p);
  const Expr n = g.simplify(i->extent);
  Names names(*k_);
  const std::string name = names.unique(outer + inner);
  const Var v = make_var(name);
  const LoopKind kind = o->loop_kind == LoopKind::Parallel ? LoopKind::Parallel : LoopKind::Serial;
  StmtPtr f = make_for(v, int_const(0), g.simplify(o->extent * n), kind);
  f->independent = independent(*o) && independent(*i);
  Body body = std::move(i->body);
  for (size_t c = conds.size(); c-- > 0;) {
    StmtPtr branch = make_if(conds[c]);
    branch->body = std::move(body);
    body.clear();
    body.push_back(std::move(branch));
  }
  substitute(body,
             {{o->var, o->begin + idiv(var_ref(v), n)}, {i->var, i->begin + imod(var_ref(v), n)}});
  f->body = std::move(body);
  p.body()[p.index()] = std::move(f);
  k_->trace.push_back("fuse " + word(outer) + " " + word(inner));
  return name;
}

}  // namespace tenfold::loop
