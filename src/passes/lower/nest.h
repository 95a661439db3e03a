// Reading loop nests: what schedules ask of a kernel before they change it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "loop/ir.h"

namespace tenfold {

// `top` and the loops perfectly nested in it, outermost first; empty when `top` is no loop.
std::vector<loop::Stmt*> perfect_nest(loop::Stmt* top);
loop::Stmt* find_loop(loop::Body& body, const std::string& name);  // null: no such loop
bool has_loops(const loop::Body& body);
// Every loop whose body holds no other loop.
std::vector<loop::Stmt*> innermost_loops(loop::Body& body);
void for_each_stmt(const loop::Body& body, const std::function<void(const loop::Stmt&)>& f);
// Every Load and Store address under `body`.
struct Access {
  loop::Buffer buffer;
  const std::vector<loop::Expr>* index;
  bool store;
};
std::vector<Access> accesses(const loop::Body& body);
// Row-major element offset.
loop::Expr flat_offset(const loop::Buffer& b, const std::vector<loop::Expr>& index);
// d(offset)/d(var), when the offset is linear in it; null otherwise.
loop::Expr stride_of(const loop::Expr& offset, const loop::Var& v);
bool mentions(const loop::Expr& e, const loop::Var& v);
// Whether the two loops can run as one over the product of their extents without div or mod: every
// address below steps through the outer loop as through more of the inner one.
bool collapsible(const loop::Stmt& outer, const loop::Stmt& inner);
int64_t constant_extent(const loop::Stmt& l);  // -1: not constant
// Bytes of the widest element the loop body computes with.
int widest_element(const loop::Body& body);

}  // namespace tenfold
