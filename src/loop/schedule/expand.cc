// expand: one copy of a local buffer per iteration of a loop around it (scalar expansion).
#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {
constexpr int64_t kMaxStackBytes = 64 << 10;
}

Status Schedule::expand(const std::string& buffer, const std::string& loop) {
  TF_ASSIGN(Place a, find_alloc(*k_, "expand", buffer));
  TF_ASSIGN(Place l, find_loop(*k_, "expand", loop));
  const size_t depth = l.path.size();
  if (a.path.size() <= depth || a.path[depth - 1].stmt() != l.stmt())
    return refuse("expand", buffer, "it is not allocated inside loop " + loop);
  const Buffer old = a.stmt()->buffer;
  if (old->alias_of) return refuse("expand", buffer, "it is an alias");
  Stmt* s = l.stmt();
  for (size_t d = depth - 1; d + 1 < a.path.size(); ++d) {
    const Stmt& c = *a.path[d].stmt();
    if (c.kind == Stmt::Kind::For && c.loop_kind == LoopKind::Parallel)
      return refuse("expand", buffer, "loop " + c.var->name + " is parallel");
    if (d >= depth && c.kind == Stmt::Kind::For && c.loop_kind == LoopKind::Vectorized)
      return refuse("expand", buffer, "loop " + c.var->name + " between them is vectorized");
    if (c.kind == Stmt::Kind::For)
      for (const Expr& e : old->shape)
        if (uses(e, c.var.get()))
          return refuse("expand", buffer, "its shape depends on loop " + c.var->name);
  }
  bool aliased = false, intrinsic = has_intrinsic_on(*s, old.get());
  for_each_stmt(s->body, [&](const Stmt& c) {
    auto look = [&](const Buffer& b) {
      for (const BufferDef* x = b.get(); x; x = x->alias_of.get())
        aliased = aliased || x->alias_of == old;
    };
    if (c.buffer) look(c.buffer);
    for_each_expr(c, [&](const Expr& e) {
      if (e->has_load)
        visit_once(e, [&](const Expr& x) {
          if (x->buffer) look(x->buffer);
        });
    });
  });
  if (aliased) return refuse("expand", buffer, "another view of its bytes exists");
  if (intrinsic) return refuse("expand", buffer, "an intrinsic uses it");

  auto b = std::make_shared<BufferDef>(*old);
  b->shape.insert(b->shape.begin(), s->extent);
  int64_t bytes = byte_size(b->dtype);
  bool fits = true;
  for (const Expr& e : b->shape) {
    int64_t n = 0;
    fits = fits && is_const(e, &n) && !__builtin_mul_overflow(bytes, n, &bytes);
  }
  if (b->scope == Scope::Stack && (!fits || bytes > kMaxStackBytes)) b->scope = Scope::Workspace;

  const Expr lane = var_ref(s->var) - s->begin;
  a.body().erase(a.body().begin() + static_cast<std::ptrdiff_t>(a.index()));
  auto shifted = [&](const std::vector<Expr>& index) {
    std::vector<Expr> r = {lane};
    r.insert(r.end(), index.begin(), index.end());
    return r;
  };
  rewrite_accesses(
      s->body, old.get(), [&](const std::vector<Expr>& i) { return load(b, shifted(i)); },
      [&](Stmt& st) {
        st.index = shifted(st.index);
        st.buffer = b;
      });
  l.body().insert(l.body().begin() + static_cast<std::ptrdiff_t>(l.index()), make_alloc(b));
  k_->trace.push_back("expand " + word(buffer) + " " + word(loop));
  return ok_status();
}

}  // namespace tenfold::loop
