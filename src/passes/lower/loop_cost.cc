#include "passes/lower/loop_cost.h"

#include <unordered_set>

namespace tenfold {
namespace {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;

// Price of one evaluation, in simple scalar operations.
int64_t price(Prim p) {
  switch (p) {
    case Prim::Exp:
    case Prim::Expm1:
    case Prim::Logistic:
    case Prim::Tanh:
    case Prim::Erf:
    case Prim::Log:
    case Prim::Log1p:
    case Prim::Cbrt:
    case Prim::Sin:
    case Prim::Cos:
      return 16;
    case Prim::Tan:
    case Prim::Pow:
    case Prim::Atan2:
    case Prim::Asin:
    case Prim::Acos:
    case Prim::Atan:
    case Prim::Sinh:
    case Prim::Cosh:
    case Prim::Asinh:
    case Prim::Acosh:
    case Prim::Atanh:
    case Prim::Lgamma:
      return 40;
    case Prim::Div:
    case Prim::Rem:
    case Prim::FloorDiv:
    case Prim::FloorMod:
    case Prim::Sqrt:
    case Prim::Rsqrt:
      return 6;
    default:
      return 1;
  }
}

struct Count {
  int64_t flops = 0, weight = 0, bytes = 0;
};

void count(const Expr& e, Count& c, std::unordered_set<const ExprNode*>& seen) {
  if (!seen.insert(e.get()).second) return;
  for (const auto& a : e->args) {
    // Index arithmetic is strength-reduced away; loads count as one.
    if (e->kind == ExprNode::Kind::Load) break;
    count(a, c, seen);
  }
  if (e->kind == ExprNode::Kind::Load) {
    c.weight += 1;
    if (e->buffer->scope == loop::Scope::Param) c.bytes += byte_size(e->dtype);
  } else if (e->kind == ExprNode::Kind::Op) {
    c.weight += price(e->prim);
    if (!e->args.empty() && is_float(e->args[0]->dtype) && e->prim != Prim::Select)
      c.flops += e->prim == Prim::Fma ? 2 : 1;
  } else if (e->kind == ExprNode::Kind::Cast) {
    c.weight += 1;
  }
}

void add(LoopCost& a, const Expr& times, const LoopCost& b) {
  a.flops = a.flops + times * b.flops;
  a.weight = a.weight + times * b.weight;
  a.bytes = a.bytes + times * b.bytes;
}

LoopCost none() { return {loop::int_const(0), loop::int_const(0), loop::int_const(0)}; }

// Extents that depend on an outer loop (tails) are taken at the loop's first iteration.
Expr at_first(const Expr& extent, const loop::Substitution& first) {
  return first.empty() ? extent : loop::substitute(extent, first);
}

// Extents known only from data (a loaded count, a Let of one) are guessed.
bool depends_on_data(const Expr& e, const std::vector<loop::Var>& symbols) {
  if (e->kind == ExprNode::Kind::Load || e->kind == ExprNode::Kind::Guard) return true;
  if (e->kind == ExprNode::Kind::Var) {
    for (const auto& s : symbols)
      if (s == e->var) return false;
    return true;
  }
  for (const auto& a : e->args)
    if (depends_on_data(a, symbols)) return true;
  return e->kind == ExprNode::Kind::Cast || e->kind == ExprNode::Kind::Bitcast;
}

LoopCost visit(const loop::Body& body, loop::Substitution& first,
               const std::vector<loop::Var>& symbols) {
  LoopCost total = none();
  Count local;
  std::unordered_set<const ExprNode*> seen;
  for (const auto& s : body) {
    switch (s->kind) {
      case Stmt::Kind::For: {
        Expr extent = at_first(s->extent, first);
        if (depends_on_data(extent, symbols)) extent = loop::int_const(16);
        first.emplace_back(s->var, at_first(s->begin, first));
        add(total, extent, visit(s->body, first, symbols));
        first.pop_back();
        break;
      }
      case Stmt::Kind::While:
        add(total, loop::int_const(16), visit(s->body, first, symbols));
        break;
      case Stmt::Kind::If:
        add(total, loop::int_const(1), visit(s->body, first, symbols));
        add(total, loop::int_const(1), visit(s->else_body, first, symbols));
        break;
      case Stmt::Kind::Let:
        if (s->value->dtype == DType::I64 && s->value->kind != ExprNode::Kind::Load)
          first.emplace_back(s->var, at_first(s->value, first));
        count(s->value, local, seen);
        break;
      case Stmt::Kind::Store:
        count(s->value, local, seen);
        local.weight += 1;
        if (s->buffer->scope == loop::Scope::Param) local.bytes += byte_size(s->buffer->dtype);
        break;
      case Stmt::Kind::Alloc:
      case Stmt::Kind::Intrinsic:
        break;
    }
  }
  add(total, loop::int_const(1),
      {loop::int_const(local.flops), loop::int_const(local.weight), loop::int_const(local.bytes)});
  return total;
}

}  // namespace

LoopCost cost_of(const loop::Body& body, const std::vector<loop::Var>& symbols) {
  loop::Substitution first;
  return visit(body, first, symbols);
}

std::vector<std::pair<int, int>> phases(const loop::Kernel& k) {
  std::vector<std::pair<int, int>> out;
  int n = static_cast<int>(k.body.size());
  auto parallel = [&](int i) {
    return k.body[i]->kind == Stmt::Kind::For && k.body[i]->loop_kind == loop::LoopKind::Parallel;
  };
  auto works = [&](int i, int end) {
    for (; i < end; ++i)
      if (k.body[i]->kind != Stmt::Kind::Let && k.body[i]->kind != Stmt::Kind::Alloc) return true;
    return false;
  };
  for (int i = 0; i < n;) {
    int j = i + 1;
    if (!parallel(i))
      while (j < n && !parallel(j)) ++j;
    if (works(i, j)) out.emplace_back(i, j);
    i = j;
  }
  if (out.empty()) out.emplace_back(0, 0);  // nothing to compute is a phase as well
  return out;
}

}  // namespace tenfold
