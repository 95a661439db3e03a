#include "passes/lower/nest.h"

#include <algorithm>
#include <unordered_set>

namespace tenfold {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;

std::vector<Stmt*> perfect_nest(Stmt* top) {
  std::vector<Stmt*> out;
  while (top && top->kind == Stmt::Kind::For) {
    out.push_back(top);
    top = top->body.size() == 1 ? top->body[0].get() : nullptr;
  }
  return out;
}

Stmt* find_loop(loop::Body& body, const std::string& name) {
  for (auto& s : body) {
    if (s->kind == Stmt::Kind::For && s->var->name == name) return s.get();
    for (loop::Body* b : {&s->body, &s->else_body})
      if (Stmt* found = find_loop(*b, name)) return found;
  }
  return nullptr;
}

bool has_loops(const loop::Body& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    found |= s.kind == Stmt::Kind::For || s.kind == Stmt::Kind::While;
  });
  return found;
}

void for_each_stmt(const loop::Body& body, const std::function<void(const Stmt&)>& f) {
  for (const auto& s : body) {
    f(*s);
    for_each_stmt(s->body, f);
    for_each_stmt(s->else_body, f);
  }
}

std::vector<Stmt*> innermost_loops(loop::Body& body) {
  std::vector<Stmt*> out;
  for (auto& s : body) {
    if (s->kind == Stmt::Kind::For && !has_loops(s->body)) {
      out.push_back(s.get());
      continue;
    }
    for (loop::Body* b : {&s->body, &s->else_body}) {
      auto inner = innermost_loops(*b);
      out.insert(out.end(), inner.begin(), inner.end());
    }
  }
  return out;
}

namespace {

void collect(const Expr& e, std::vector<Access>& out, std::unordered_set<const ExprNode*>& seen) {
  if (!e || !seen.insert(e.get()).second) return;
  if (e->kind == ExprNode::Kind::Load) out.push_back({e->buffer, &e->args, false});
  for (const auto& a : e->args) collect(a, out, seen);
}

bool mentions_in(const Expr& e, const loop::Var& v, std::unordered_set<const ExprNode*>& seen) {
  if (!seen.insert(e.get()).second) return false;
  if (e->kind == ExprNode::Kind::Var) return e->var == v;
  return std::any_of(e->args.begin(), e->args.end(),
                     [&](const Expr& a) { return mentions_in(a, v, seen); });
}

}  // namespace

std::vector<Access> accesses(const loop::Body& body) {
  std::vector<Access> out;
  std::unordered_set<const ExprNode*> seen;
  for_each_stmt(body, [&](const Stmt& s) {
    for (const Expr* e : {&s.begin, &s.extent, &s.cond, &s.value})
      if (*e) collect(*e, out, seen);
    for (const auto& e : s.index) collect(e, out, seen);
    for (const auto& e : s.args) collect(e, out, seen);
    if (s.kind == Stmt::Kind::Store) out.push_back({s.buffer, &s.index, true});
  });
  return out;
}

Expr flat_offset(const loop::Buffer& b, const std::vector<Expr>& index) {
  Expr at = loop::int_const(0);
  for (size_t i = 0; i < index.size(); ++i) at = at * b->shape[i] + index[i];
  return at;
}

bool mentions(const Expr& e, const loop::Var& v) {
  std::unordered_set<const ExprNode*> seen;
  return mentions_in(e, v, seen);
}

Expr stride_of(const Expr& offset, const loop::Var& v) {
  if (!mentions(offset, v)) return loop::int_const(0);
  Expr next = loop::substitute(offset, {{v, loop::var_ref(v) + 1}});
  Expr d = loop::simplify(next - offset);
  return mentions(d, v) ? nullptr : d;
}

bool collapsible(const Stmt& outer, const Stmt& inner) {
  if (!loop::is_const(outer.begin) || !loop::is_const(inner.begin)) return false;
  int64_t b0 = 0, b1 = 0;
  loop::is_const(outer.begin, &b0);
  loop::is_const(inner.begin, &b1);
  if (b0 != 0 || b1 != 0 || mentions(inner.extent, outer.var)) return false;
  for (const Access& a : accesses(inner.body)) {
    Expr offset = flat_offset(a.buffer, *a.index);
    Expr so = stride_of(offset, outer.var), si = stride_of(offset, inner.var);
    if (!so || !si || !loop::same(loop::simplify(so - si * inner.extent), loop::int_const(0)))
      return false;
  }
  // The variables must not be used otherwise (conditions, iota values).
  bool other = false;
  std::unordered_set<const ExprNode*> seen;
  auto plain = [&](const Expr& e, auto&& self) -> void {
    if (!seen.insert(e.get()).second) return;
    if (e->kind == ExprNode::Kind::Load) return;
    if (e->kind == ExprNode::Kind::Var) other |= e->var == outer.var || e->var == inner.var;
    for (const auto& a : e->args) self(a, self);
  };
  for_each_stmt(inner.body, [&](const Stmt& s) {
    for (const Expr* e : {&s.begin, &s.extent, &s.cond, &s.value})
      if (*e) plain(*e, plain);
  });
  return !other;
}

int64_t constant_extent(const Stmt& l) {
  int64_t n;
  return loop::is_const(l.extent, &n) ? n : -1;
}

int widest_element(const loop::Body& body) {
  int widest = 1;
  std::unordered_set<const ExprNode*> seen;
  auto visit = [&](const Expr& e, auto&& self) -> void {
    if (!seen.insert(e.get()).second) return;
    // Index arithmetic, and conditions on indices, do not decide the width.
    if (e->kind == ExprNode::Kind::Load || is_float(e->dtype) || is_complex(e->dtype))
      widest = std::max(widest, byte_size(e->dtype));
    if (is_float(e->dtype)) widest = std::max(widest, 4);  // narrow floats compute in f32
    if (e->kind == ExprNode::Kind::Load) return;
    for (const auto& a : e->args) self(a, self);
  };
  for_each_stmt(body, [&](const Stmt& s) {
    if (s.kind == Stmt::Kind::Store) widest = std::max(widest, byte_size(s.buffer->dtype));
    if (s.kind == Stmt::Kind::Store || s.kind == Stmt::Kind::Let) visit(s.value, visit);
  });
  return widest;
}

}  // namespace tenfold
