// Traversals of loop-level trees. Expressions are graphs that share nodes; these visit each node
// once.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "loop/ir.h"

namespace tenfold::loop {

// Calls f(node) once for each node of `e`, operands first. `seen` may span several expressions.
template <class F>
void visit_once(const Expr& e, std::unordered_set<const ExprNode*>& seen, F&& f) {
  if (!e) return;
  if (e.use_count() > 1 && !seen.insert(e.get()).second) return;
  for (const Expr& a : e->args) visit_once(a, seen, f);
  f(e);
}
template <class F>
void visit_once(const Expr& e, F&& f) {
  std::unordered_set<const ExprNode*> seen;
  visit_once(e, seen, f);
}

// Every expression slot of a statement itself (not of its bodies).
template <class S, class F>
void for_each_expr(S& s, F&& f) {
  if (s.begin) f(s.begin);
  if (s.extent) f(s.extent);
  if (s.cond) f(s.cond);
  if (s.value) f(s.value);
  for (auto& e : s.index) f(e);
  for (auto& e : s.args) f(e);
}

// Statements in order, each before its bodies.
template <class F>
void for_each_stmt(const Body& b, F&& f) {
  for (const StmtPtr& s : b) {
    f(*s);
    for_each_stmt(s->body, f);
    for_each_stmt(s->else_body, f);
  }
}

// Applies `f` to every expression of a body, in place.
template <class F>
void rewrite_exprs(Body& b, F&& f) {
  for (StmtPtr& s : b) {
    for_each_expr(*s, [&](Expr& e) { e = f(e); });
    rewrite_exprs(s->body, f);
    rewrite_exprs(s->else_body, f);
  }
}

// Rebuilds `e` bottom-up: `f` sees each node after its operands were replaced, once per node.
Expr transform(const Expr& e, const std::function<Expr(const Expr&)>& f);

// Replaces buffers in loads, stores and allocs. Views of a replaced buffer become views of the new
// one, under the name that `fresh` makes of theirs.
using BufferMap = std::unordered_map<const BufferDef*, Buffer>;
void replace_buffers(Body& b, const BufferMap& map,
                     const std::function<std::string(const std::string&)>& fresh);

// The buffer whose bytes `b` shows (itself unless an alias).
const BufferDef* storage_of(const BufferDef* b);

}  // namespace tenfold::loop
