// tensorize: a nest that has the form of an intrinsic's reference becomes a call of it.
#include "loop/intrinsics.h"
#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {

using Kind = ExprNode::Kind;

// Unifies the pattern's loop variable with the nest's, its buffers with loads of the nest.
struct Matcher {
  Algebra& g;
  const VarDef* pattern_var;
  const Var& loop_var;
  std::unordered_map<const BufferDef*, Expr> bound;  // pattern buffer -> load at iteration 0

  // The address with the loop variable taken out: innermost index base + var (or no var at all for
  // a pattern scalar).
  bool address(const Expr& x, bool advances, Expr* out) {
    if (x->kind != Kind::Load) return false;
    std::vector<Expr> index = x->args;
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t c = 0;
      if (index[d]->has_load || !g.linear_in(g.poly(index[d]), loop_var.get(), &c)) return false;
      if (c != (advances && d + 1 == index.size() ? 1 : 0)) return false;
    }
    if (advances && index.empty()) return false;
    for (Expr& i : index) i = g.simplify(substitute(i, {{loop_var, int_const(0)}}));
    *out = load(x->buffer, std::move(index));
    return true;
  }
  bool expr(const Expr& p, const Expr& x) {
    if (p->dtype != x->dtype) return false;
    if (p->kind == Kind::Load) {
      Expr at;
      if (!address(x, !p->args.empty(), &at)) return false;
      auto [it, fresh] = bound.emplace(p->buffer.get(), at);
      return fresh || same(it->second, at);
    }
    if (p->kind != x->kind || p->prim != x->prim || p->args.size() != x->args.size()) return false;
    if (p->kind == Kind::Const) return same(p, x);
    if (p->kind == Kind::Var) return p->var.get() == pattern_var && x->var == loop_var;
    const auto saved = bound;
    bool ok = true;
    for (size_t i = 0; ok && i < p->args.size(); ++i) ok = expr(p->args[i], x->args[i]);
    if (ok) return true;
    bound = saved;
    if (p->kind == Kind::Op && is_integer(p->dtype) &&
        (p->prim == Prim::Add || p->prim == Prim::Mul)) {  // exact either way round
      if (expr(p->args[0], x->args[1]) && expr(p->args[1], x->args[0])) return true;
      bound = saved;
    }
    return false;
  }
};

}  // namespace

Status Schedule::tensorize(const std::string& loop, const std::string& intrinsic) {
  TF_ASSIGN(Place p, find_loop(*k_, "tensorize", loop));
  const Intrinsic* in = find_intrinsic(intrinsic);
  if (!in) return refuse("tensorize", loop, "there is no intrinsic " + intrinsic);
  if (!in->pattern) return refuse("tensorize", loop, intrinsic + " stands for no computation");
  Intrinsic::Pattern pattern = in->pattern();
  Stmt* s = p.stmt();
  const Stmt& ref = *pattern.nest;
  int64_t zero = 1;
  if (!same(s->extent, ref.extent) || !is_const(s->begin, &zero) || zero != 0)
    return refuse("tensorize", loop,
                  intrinsic + " takes a loop from 0 of extent " + print(ref.extent));
  if (s->loop_kind == LoopKind::Vectorized || s->loop_kind == LoopKind::Parallel)
    return refuse("tensorize", loop, "it is vectorized or parallel");
  if (s->body.size() != 1 || s->body[0]->kind != Stmt::Kind::Store)
    return refuse("tensorize", loop, "its body is not one store");
  const Stmt& store = *s->body[0];
  const Stmt& ref_store = *ref.body[0];
  Algebra g;
  bind_scope(g, *k_, p);
  bind_stmt(g, *s);
  Matcher m{g, ref.var.get(), s->var, {}};
  const Expr target = load(store.buffer, store.index);
  if (!m.expr(load(ref_store.buffer, ref_store.index), target) ||
      !m.expr(ref_store.value, store.value))
    return refuse(
        "tensorize", loop,
        "its body does not have the form of " + intrinsic + ": " + std::string(in->summary));
  std::vector<Expr> args;
  for (const Expr& a : pattern.args) {
    auto it = m.bound.find(a->buffer.get());
    if (it == m.bound.end()) return refuse("tensorize", loop, "an operand is missing");
    args.push_back(it->second);
  }
  for (size_t i = 1; i < args.size(); ++i)
    if (storage_of(args[i]->buffer.get()) == storage_of(store.buffer.get()))
      return refuse("tensorize", loop, "it reads what it writes");
  auto call = std::make_unique<Stmt>();
  call->kind = Stmt::Kind::Intrinsic;
  call->name = intrinsic;
  call->args = std::move(args);
  p.body()[p.index()] = std::move(call);
  k_->trace.push_back("tensorize " + word(loop) + " " + word(intrinsic));
  return ok_status();
}

}  // namespace tenfold::loop
