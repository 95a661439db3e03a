// forward: a local buffer whose contents end up copied, element for element, into another buffer
// becomes that other buffer. (An accumulator held in the output itself.)
#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {
using Kind = ExprNode::Kind;

bool is_load_of(const Expr& e, const BufferDef* b) {
  return e->kind == Kind::Load && e->buffer.get() == b;
}

}  // namespace

Status Schedule::forward(const std::string& buffer) {
  TF_ASSIGN(Place p, find_alloc(*k_, "forward", buffer));
  const Buffer local = p.stmt()->buffer;
  Body& body = p.body();
  if (local->alias_of) return refuse("forward", buffer, "it is an alias");
  // The copy: the last statement after the Alloc that touches the buffer, a nest of one store.
  size_t last = p.index();
  for (size_t i = p.index() + 1; i < body.size(); ++i)
    if (reads(*body[i], local.get()) || writes(*body[i], local.get())) last = i;
  std::vector<Stmt*> chain = perfect_chain(body[last].get());
  Stmt* copy = chain.empty()                    ? body[last].get()
               : chain.back()->body.size() == 1 ? chain.back()->body[0].get()
                                                : nullptr;
  if (last == p.index() || !copy || copy->kind != Stmt::Kind::Store ||
      !is_load_of(copy->value, local.get()))
    return refuse("forward", buffer, "its last use is not a plain copy to another buffer");
  const Buffer dst = copy->buffer;
  if (dst == local || dst->alias_of || dst->dtype != local->dtype)
    return refuse("forward", buffer, "the buffer it is copied to cannot take its place");
  for (Stmt* s : chain)
    if (s->kind == Stmt::Kind::If)
      return refuse("forward", buffer, "it is copied under a condition");
  // Its indices must be all loops of the copy, each once, over the whole dimension; what the
  // destination's indices say of them then holds for any element.
  if (chain.size() != local->shape.size())
    return refuse("forward", buffer, "the copy does not run over its dimensions");
  Algebra g;
  bind_scope(g, *k_, p);
  std::unordered_set<const VarDef*> seen;
  for (size_t d = 0; d < local->shape.size(); ++d) {
    const Expr& e = copy->value->args[d];
    const Stmt* loop = nullptr;
    for (Stmt* s : chain)
      if (e->kind == Kind::Var && s->var == e->var) loop = s;
    int64_t zero = 1;
    if (!loop || !seen.insert(loop->var.get()).second || !is_const(loop->begin, &zero) ||
        zero != 0 || !g.equal(g.poly(loop->extent), g.poly(local->shape[d])))
      return refuse("forward", buffer, "the copy does not cover it element by element");
  }
  // Distinct elements must stay distinct: each loop is alone in one destination dimension.
  for (const VarDef* v : seen) {
    bool alone = false;
    for (const Expr& e : copy->index) {
      const Poly q = g.poly(e);
      int64_t c = 0;
      if (!g.linear_in(q, v, &c) || c == 0) continue;
      bool others = false;
      for (const VarDef* w : seen) others = others || (w != v && uses(e, w));
      alone = alone || !others;
    }
    if (!alone) return refuse("forward", buffer, "two of its elements may share a destination");
  }
  for (const Expr& e : copy->index)
    if (e->has_load) return refuse("forward", buffer, "the destination's index reads memory");
  // Nobody else may see the destination while the buffer is in use.
  bool mixed = has_intrinsic_on(*body[last], local.get());
  for (size_t i = p.index() + 1; i <= last; ++i) {
    mixed = mixed || has_intrinsic_on(*body[i], local.get());
    if (reads(*body[i], dst.get()) || (i != last && writes(*body[i], dst.get())))
      return refuse("forward", buffer, dst->name + " is in use at the same time");
    // Variables of the destination index must mean the same throughout.
    if (body[i]->kind == Stmt::Kind::Let)
      for (const Expr& e : copy->index)
        if (uses(e, body[i]->var.get()))
          return refuse("forward", buffer, "the destination depends on " + body[i]->var->name);
  }
  if (mixed) return refuse("forward", buffer, "an intrinsic uses it");
  for (const Place::Step& step : p.path) {
    const Stmt* s = step.stmt();
    if (s->kind == Stmt::Kind::While)
      return refuse("forward", buffer, "it lives inside a while loop");
  }
  auto at = [&](const std::vector<Expr>& index) {
    Substitution sub;
    for (size_t d = 0; d < index.size(); ++d) sub.emplace_back(copy->value->args[d]->var, index[d]);
    std::vector<Expr> r;
    for (const Expr& e : copy->index) r.push_back(substitute(e, sub));
    return r;
  };
  StmtPtr removed = std::move(body[last]);  // keeps `copy` alive
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(last));
  rewrite_accesses(
      body, local.get(), [&](const std::vector<Expr>& i) { return load(dst, at(i)); },
      [&](Stmt& s) {
        s.index = at(s.index);
        s.buffer = dst;
      });
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(p.index()));
  k_->trace.push_back("forward " + word(buffer));
  return ok_status();
}

}  // namespace tenfold::loop
