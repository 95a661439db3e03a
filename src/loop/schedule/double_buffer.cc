// double_buffer: a buffer filled at the start of each iteration of a loop gets two halves; the next
// iteration's half is filled before this one's is used.
#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

Status Schedule::double_buffer(const std::string& buffer) {
  TF_ASSIGN(Place a, find_alloc(*k_, "double_buffer", buffer));
  const Buffer old = a.stmt()->buffer;
  if (a.top()) return refuse("double_buffer", buffer, "no loop is around it");
  Stmt* loop = a.path[a.path.size() - 2].stmt();
  Body& body = a.body();
  if (loop->kind != Stmt::Kind::For || &loop->body != &body)
    return refuse("double_buffer", buffer, "it is not allocated directly in a loop's body");
  if (loop->loop_kind != LoopKind::Serial)
    return refuse("double_buffer", buffer, "loop " + loop->var->name + " is not serial");
  if (old->alias_of) return refuse("double_buffer", buffer, "it is an alias");
  for (const Expr& e : old->shape)
    if (uses(e, loop->var.get()))
      return refuse("double_buffer", buffer, "its shape changes with loop " + loop->var->name);
  if (loop->begin->has_load || loop->extent->has_load)
    return refuse("double_buffer", buffer, "the bounds of the loop read memory");
  const size_t fill = a.index() + 1;
  if (fill >= body.size() || !writes(*body[fill], old.get()))
    return refuse("double_buffer", buffer, "the statement after its allocation does not fill it");
  if (reads(*body[fill], old.get()))
    return refuse("double_buffer", buffer, "the statement that fills it reads it");
  std::unordered_set<const BufferDef*> sources;
  bool other = false, views = false;
  auto look = [&](const Buffer& b) {
    views = views || (b != old && storage_of(b.get()) == old.get());
  };
  for_each_stmt(loop->body, [&](const Stmt& c) {
    if (c.buffer) look(c.buffer);
    views = views || (c.kind == Stmt::Kind::Intrinsic && has_intrinsic_on(c, old.get()));
    for_each_expr(c, [&](const Expr& e) {
      if (e->has_load)
        visit_once(e, [&](const Expr& x) {
          if (x->buffer) look(x->buffer);
        });
    });
  });
  if (views) return refuse("double_buffer", buffer, "another view or an intrinsic uses it");
  std::function<void(const Stmt&)> gather = [&](const Stmt& c) {
    if (c.kind == Stmt::Kind::Store) other = other || c.buffer != old;
    for_each_expr(c, [&](const Expr& e) {
      if (e->has_load)
        visit_once(e, [&](const Expr& x) {
          if (x->kind == ExprNode::Kind::Load) sources.insert(storage_of(x->buffer.get()));
        });
    });
    for (const StmtPtr& i : c.body) gather(*i);
    for (const StmtPtr& i : c.else_body) gather(*i);
  };
  gather(*body[fill]);
  if (other) return refuse("double_buffer", buffer, "the statement that fills it writes more");
  for (size_t i = 0; i < body.size(); ++i) {
    if (i != fill && writes(*body[i], old.get()))
      return refuse("double_buffer", buffer, "a second statement writes it");
    for (const BufferDef* src : sources)
      if (writes(*body[i], src))
        return refuse("double_buffer", buffer, "its source " + src->name + " changes in the loop");
    if (body[i]->kind == Stmt::Kind::Let && uses_var(*body[fill], body[i]->var.get()))
      return refuse("double_buffer", buffer, "its contents depend on " + body[i]->var->name);
    if (body[i]->kind == Stmt::Kind::Alloc && sources.count(body[i]->buffer.get()))
      return refuse("double_buffer", buffer, "its source is local to the iteration");
  }

  auto b = std::make_shared<BufferDef>(*old);
  b->shape.insert(b->shape.begin(), int_const(2));
  const Expr v = var_ref(loop->var);
  const Expr slot = imod(v - loop->begin, int_const(2));
  Names names(*k_);
  auto to_slot = [&](Body& stmts, const Expr& half) {
    auto with = [&](const std::vector<Expr>& index) {
      std::vector<Expr> r = {half};
      r.insert(r.end(), index.begin(), index.end());
      return r;
    };
    rewrite_accesses(
        stmts, old.get(), [&](const std::vector<Expr>& i) { return load(b, with(i)); },
        [&](Stmt& s) {
          s.index = with(s.index);
          s.buffer = b;
        });
  };
  Body first, next;
  first.push_back(clone(*body[fill]));
  next.push_back(std::move(body[fill]));
  rename(first, names, "_first");
  substitute(first, {{loop->var, loop->begin}});
  to_slot(first, int_const(0));
  substitute(next, {{loop->var, v + 1}});
  to_slot(next, imod(v - loop->begin + 1, int_const(2)));
  StmtPtr more = make_if(lt(v - loop->begin + 1, loop->extent));
  more->body = std::move(next);
  body[fill] = std::move(more);
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(a.index()));
  // Every read is of this iteration's half.
  for (size_t i = 0; i < body.size(); ++i) {
    if (i + 1 == fill) continue;  // the filling statement
    Body one;
    one.push_back(std::move(body[i]));
    to_slot(one, slot);
    body[i] = std::move(one[0]);
  }
  StmtPtr guard_first = make_if(lt(int_const(0), loop->extent));
  guard_first->body = std::move(first);
  loop->loop_kind = LoopKind::Pipelined;
  loop->independent = false;  // an iteration now fills what the next one reads
  Place::Step& at = a.path[a.path.size() - 2];
  Body& parent = *at.body;
  const auto pos = static_cast<std::ptrdiff_t>(at.index);
  int64_t n = 0;
  if (is_const(loop->extent, &n) && n > 0) {
    parent.insert(parent.begin() + pos, std::move(guard_first->body[0]));
  } else {
    parent.insert(parent.begin() + pos, std::move(guard_first));
  }
  parent.insert(parent.begin() + pos, make_alloc(b));
  k_->trace.push_back("double_buffer " + word(buffer));
  return ok_status();
}

}  // namespace tenfold::loop
