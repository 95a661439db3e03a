// cache_write: what a loop's body does to a part of a buffer happens in a local copy of that part,
// stored back once at the end of the body. The copy starts from the buffer's contents unless the
// body is seen to write all of it without reading.
#include "loop/schedule/dependence.h"
#include "loop/schedule/touched.h"

namespace tenfold::loop {

using namespace sched;

namespace {

// Whether `b` starts with a nest that stores the whole box: bare loop variables from 0.
bool fills(const Body& b, const BufferDef* buffer, const Box& box, Algebra& g) {
  for (const StmtPtr& s : b) {
    if (s->kind == Stmt::Kind::Alloc || s->kind == Stmt::Kind::Let) continue;
    if (!writes(*s, buffer) && !reads(*s, buffer)) continue;
    // The first statement to touch it.
    const Stmt* c = s.get();
    std::vector<const Stmt*> loops;
    while (c->kind == Stmt::Kind::For && c->body.size() == 1) {
      loops.push_back(c);
      c = c->body[0].get();
    }
    if (c->kind != Stmt::Kind::Store || c->buffer.get() != buffer ||
        mentions_buffer(c->value, buffer))
      return false;
    std::unordered_set<const Stmt*> used;
    for (size_t d = 0; d < c->index.size(); ++d) {
      // index == lo + (v - begin), v over the whole side
      const Expr at = g.simplify(c->index[d] - box.sides[d].lo);
      bool found = false;
      if (is_const(box.sides[d].extent) && is_const(at)) {
        int64_t n = 0, x = 0;
        is_const(box.sides[d].extent, &n);
        is_const(at, &x);
        if (n != 1 || x != 0) return false;
        continue;
      }
      for (const Stmt* l : loops) {
        if (used.count(l) || !same(g.simplify(var_ref(l->var) - l->begin), at)) continue;
        if (!g.less_equal(g.poly(box.sides[d].extent), g.poly(l->extent))) continue;
        used.insert(l);
        found = true;
        break;
      }
      if (!found) return false;
    }
    return true;
  }
  return false;
}

}  // namespace

Result<std::string> Schedule::cache_write(const std::string& buffer, const std::string& at,
                                          Scope scope) {
  TF_ASSIGN(Place p, find_loop(*k_, "cache_write", at));
  Stmt* s = p.stmt();
  const Buffer dst = find_buffer(*k_, buffer);
  if (!dst) return refuse("cache_write", buffer, "the kernel has no such buffer");
  if (has_intrinsic_on(*s, dst.get())) return refuse("cache_write", buffer, "an intrinsic uses it");
  for (const Place::Step& step : p.path)
    if (step.stmt()->kind == Stmt::Kind::For && step.stmt()->loop_kind == LoopKind::Vectorized)
      return refuse("cache_write", buffer, "loop " + step.stmt()->var->name + " is vectorized");
  bool other_view = false;
  for_each_stmt(s->body, [&](const Stmt& c) {
    auto look = [&](const Buffer& b) {
      other_view = other_view || (b != dst && storage_of(b.get()) == storage_of(dst.get()));
    };
    if (c.buffer) look(c.buffer);
    for_each_expr(c, [&](const Expr& e) {
      if (e->has_load)
        visit_once(e, [&](const Expr& x) {
          if (x->buffer) look(x->buffer);
        });
    });
  });
  if (other_view) return refuse("cache_write", buffer, "another view of its bytes is in use");

  Algebra g;
  bind_scope(g, *k_, p);
  bind_stmt(g, *s);
  TF_ASSIGN(Box box, touched(g, *k_, "cache_write", p, dst, scope == Scope::Stack));
  if (box.stores == 0) return refuse("cache_write", buffer, "loop " + at + " does not write it");
  const bool full = fills(s->body, dst.get(), box, g);

  Names names(*k_);
  auto copy = std::make_shared<BufferDef>();
  copy->name = names.unique(buffer + "_w");
  copy->dtype = dst->dtype;
  copy->scope = scope;
  for (const Box::Side& side : box.sides) copy->shape.push_back(side.extent);
  auto transfer = [&](bool in) {
    std::vector<Var> vars;
    std::vector<Expr> local, global;
    Expr inside = bool_const(true);
    for (size_t d = 0; d < box.sides.size(); ++d) {
      const std::string n = copy->name + (in ? "_in" : "_out") + std::to_string(d);
      vars.push_back(make_var(names.unique(n)));
      g.bind_loop(vars.back(), int_const(0), copy->shape[d]);
      local.push_back(var_ref(vars.back()));
      global.push_back(g.simplify(box.sides[d].lo + local.back()));
      inside = logical_and(inside, g.simplify(ge(global[d], int_const(0))));
      inside = logical_and(inside, g.simplify(lt(global[d], dst->shape[d])));
    }
    StmtPtr nest;
    if (in) {
      nest = make_store(copy, local, guard(inside, load(dst, global), zero(dst->dtype)));
    } else {
      nest = make_store(dst, global, load(copy, local));
      if (!is_const(inside)) {
        StmtPtr c = make_if(inside);
        c->body.push_back(std::move(nest));
        nest = std::move(c);
      }
    }
    for (size_t d = vars.size(); d-- > 0;) {
      StmtPtr f = make_for(vars[d], int_const(0), copy->shape[d]);
      f->body.push_back(std::move(nest));
      nest = std::move(f);
    }
    return nest;
  };
  // Elements that the body leaves alone are stored back unchanged: no change of meaning
  // sequentially, but a race under loops that are parallel or promised to be independent. Checked
  // on the result, undone if so.
  std::vector<size_t> promised;
  for (size_t d = 0; d < p.path.size(); ++d)
    if (p.path[d].stmt()->kind == Stmt::Kind::For && independent(*p.path[d].stmt()))
      promised.push_back(d);
  StmtPtr saved = promised.empty() ? nullptr : clone(*p.path[0].stmt());
  auto index = [&](const std::vector<Expr>& i) {
    std::vector<Expr> r;
    for (size_t d = 0; d < i.size(); ++d) r.push_back(g.simplify(i[d] - box.sides[d].lo));
    return r;
  };
  rewrite_accesses(
      s->body, dst.get(), [&](const std::vector<Expr>& i) { return load(copy, index(i)); },
      [&](Stmt& st) {
        st.index = index(st.index);
        st.buffer = copy;
      });
  if (!full) s->body.insert(s->body.begin(), transfer(true));
  s->body.insert(s->body.begin(), make_alloc(copy));
  s->body.push_back(transfer(false));
  for (size_t d : promised) {
    Place at_loop;
    at_loop.path.assign(p.path.begin(), p.path.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    std::string why;
    {
      const Region region(*k_, at_loop);
      why = region.carried_by(at_loop.stmt());
    }
    if (why.empty()) continue;
    const std::string outer = at_loop.stmt()->var->name;
    p.path[0].body->at(p.path[0].index) = std::move(saved);
    return refuse(
        "cache_write", buffer,
        "parts that independent iterations of " + outer + " store back may overlap: " + why);
  }
  k_->trace.push_back("cache_write " + word(buffer) + " " + word(at) +
                      (scope == Scope::Stack ? " stack" : " workspace"));
  return copy->name;
}

}  // namespace tenfold::loop
