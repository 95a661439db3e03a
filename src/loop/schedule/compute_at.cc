// compute_at: a producer that fills a local buffer moves to where it is needed, and computes only
// the part in use there.
#include "loop/schedule/touched.h"

namespace tenfold::loop {

using namespace sched;

namespace {
using Kind = ExprNode::Kind;
}

Status Schedule::compute_at(const std::string& buffer, const std::string& at) {
  TF_ASSIGN(Place a, find_alloc(*k_, "compute_at", buffer));
  TF_ASSIGN(Place p, find_loop(*k_, "compute_at", at));
  const Buffer old = a.stmt()->buffer;
  Body& home = a.body();
  const size_t depth = a.path.size();
  if (old->alias_of) return refuse("compute_at", buffer, "it is an alias");
  if (p.path.size() < depth || p.path[depth - 1].body != &home ||
      p.path[depth - 1].index <= a.index())
    return refuse("compute_at", buffer, "loop " + at + " is not after it in the same body");
  // One nest writes it, before the statement with `at`.
  size_t producer = 0;
  for (size_t i = a.index() + 1; i < home.size(); ++i) {
    if (!writes(*home[i], old.get())) continue;
    if (producer) return refuse("compute_at", buffer, "several statements write it");
    producer = i;
  }
  const size_t consumer = p.path[depth - 1].index;
  if (!producer || producer >= consumer)
    return refuse("compute_at", buffer, "no nest before loop " + at + " fills it");
  Stmt* s = p.stmt();
  for (size_t i = a.index() + 1; i < home.size(); ++i)
    if (i != producer && i != consumer && reads(*home[i], old.get()))
      return refuse("compute_at", buffer, "it is also read outside loop " + at);
  {
    // Within the consumer, only the body of `at` may read.
    Body saved;
    std::swap(saved, s->body);
    const bool elsewhere = reads(*home[consumer], old.get());
    std::swap(saved, s->body);
    if (elsewhere) return refuse("compute_at", buffer, "it is also read outside loop " + at);
  }
  for (const Place::Step& step : p.path)
    if (step.stmt()->kind == Stmt::Kind::For && step.stmt()->loop_kind == LoopKind::Vectorized)
      return refuse("compute_at", buffer, "loop " + step.stmt()->var->name + " is vectorized");

  // The loops that run over its dimensions.
  std::vector<Stmt*> chain = perfect_chain(home[producer].get());
  std::vector<const Stmt*> stores;
  for_each_stmt(home[producer]->body, [&](const Stmt& c) {
    if (c.kind == Stmt::Kind::Store && storage_of(c.buffer.get()) == old.get())
      stores.push_back(&c);
  });
  if (stores.empty()) return refuse("compute_at", buffer, "its producer is no loop nest");
  Algebra pg;
  bind_scope(pg, *k_, a);
  std::vector<Stmt*> over;
  for (size_t d = 0; d < old->shape.size(); ++d) {
    Stmt* loop = nullptr;
    const Expr& e = stores[0]->index[d];
    for (Stmt* c : chain)
      if (c->kind == Stmt::Kind::For && e->kind == Kind::Var && c->var == e->var) loop = c;
    int64_t zero = 1;
    if (!loop || !is_const(loop->begin, &zero) || zero != 0 ||
        !pg.equal(pg.poly(loop->extent), pg.poly(old->shape[d])))
      return refuse("compute_at", buffer,
                    "dimension " + std::to_string(d) + " is not filled by one loop over all of it");
    for (Stmt* o : over)
      if (o == loop) return refuse("compute_at", buffer, "a loop fills two of its dimensions");
    over.push_back(loop);
  }
  for (Stmt* c : chain) {
    if (c->kind == Stmt::Kind::If)
      return refuse("compute_at", buffer, "its producer is under a condition");
    for (Stmt* o : over)
      if (uses(c->begin, o->var.get()) || uses(c->extent, o->var.get()))
        return refuse("compute_at", buffer, "the producer's loop bounds depend on each other");
  }
  auto same_index = [&](const std::vector<Expr>& index, const BufferDef* b) {
    bool ok = b == old.get();
    for (size_t d = 0; ok && d < over.size(); ++d)
      ok = index[d]->kind == Kind::Var && index[d]->var == over[d]->var;
    return ok;
  };
  bool regular = !has_intrinsic_on(*home[producer], old.get());
  std::unordered_set<const BufferDef*> sources;
  for (const Stmt* st : stores) regular = regular && same_index(st->index, st->buffer.get());
  for_each_stmt(home[producer]->body, [&](const Stmt& c) {
    if (c.kind == Stmt::Kind::Store && storage_of(c.buffer.get()) != old.get()) {
      // A cell of the producer's own is fine; anything else is a second result.
      Place own;
      regular = regular && find_stmt(
                               home[producer]->body,
                               [&](const Stmt& x) {
                                 return x.kind == Stmt::Kind::Alloc &&
                                        x.buffer.get() == storage_of(c.buffer.get());
                               },
                               &own);
    }
    for_each_expr(c, [&](const Expr& e) {
      if (!e->has_load) return;
      visit_once(e, [&](const Expr& x) {
        if (x->kind != Kind::Load) return;
        if (storage_of(x->buffer.get()) == old.get())
          regular = regular && same_index(x->args, x->buffer.get());
        else
          sources.insert(storage_of(x->buffer.get()));
      });
    });
  });
  if (!regular)
    return refuse("compute_at", buffer, "its producer does more than fill it element by element");
  for (size_t i = producer + 1; i <= consumer; ++i)
    for (const BufferDef* src : sources)
      if (writes(*home[i], src))
        return refuse("compute_at", buffer, "its source " + src->name + " changes in between");

  Algebra g;
  bind_scope(g, *k_, p);
  bind_stmt(g, *s);
  TF_ASSIGN(Box box, touched(g, *k_, "compute_at", p, old, old->scope == Scope::Stack));
  if (box.loads == 0) return refuse("compute_at", buffer, "loop " + at + " does not read it");
  auto b = std::make_shared<BufferDef>(*old);
  b->shape.clear();
  for (const Box::Side& side : box.sides) b->shape.push_back(side.extent);

  auto local = [&](const std::vector<Expr>& index) {
    std::vector<Expr> r;
    for (size_t d = 0; d < index.size(); ++d) r.push_back(g.simplify(index[d] - box.sides[d].lo));
    return r;
  };
  rewrite_accesses(
      s->body, old.get(), [&](const std::vector<Expr>& i) { return load(b, local(i)); },
      [](Stmt&) {});
  // The producer over the box: v -> lo + v.
  StmtPtr nest = std::move(home[producer]);
  Substitution sub;
  Expr inside = bool_const(true);
  for (size_t d = 0; d < over.size(); ++d) {
    const Var v = over[d]->var;
    over[d]->extent = box.sides[d].extent;
    g.bind_loop(v, int_const(0), box.sides[d].extent);
    const Expr e = g.simplify(box.sides[d].lo + var_ref(v));
    inside = logical_and(inside, g.simplify(ge(e, int_const(0))));
    inside = logical_and(inside, g.simplify(lt(e, old->shape[d])));
    sub.emplace_back(v, e);
  }
  auto plain = [&](const std::vector<Expr>&) {
    std::vector<Expr> r;
    for (Stmt* o : over) r.push_back(var_ref(o->var));
    return r;
  };
  Body& innermost = chain.back()->body;
  // Shift everything but the buffer's own accesses, whose indices stay the plain loop variables.
  substitute(innermost, sub);
  for (size_t c = 0; c < chain.size(); ++c) {
    chain[c]->begin = substitute(chain[c]->begin, sub);
    bool is_over = false;
    for (Stmt* o : over) is_over = is_over || o == chain[c];
    if (!is_over) chain[c]->extent = substitute(chain[c]->extent, sub);
  }
  rewrite_accesses(
      innermost, old.get(), [&](const std::vector<Expr>& i) { return load(b, plain(i)); },
      [&](Stmt& st) {
        st.index = plain(st.index);
        st.buffer = b;
      });
  if (!is_const(inside)) {
    StmtPtr c = make_if(inside);
    c->body = std::move(innermost);
    innermost.clear();
    innermost.push_back(std::move(c));
  }
  s->body.insert(s->body.begin(), std::move(nest));
  s->body.insert(s->body.begin(), make_alloc(b));
  home.erase(home.begin() + static_cast<std::ptrdiff_t>(producer));
  home.erase(home.begin() + static_cast<std::ptrdiff_t>(a.index()));
  k_->trace.push_back("compute_at " + word(buffer) + " " + word(at));
  return ok_status();
}

}  // namespace tenfold::loop
