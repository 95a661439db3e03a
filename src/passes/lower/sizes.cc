#include "passes/lower/sizes.h"

namespace tenfold {
namespace {

using Op = rt::SizeExpr::Op;

void emit(const Dim& d, const SymbolRegister& reg, rt::SizeExpr& out) {
  bool first = true;
  for (const auto& term : d.terms()) {
    out.steps.push_back({Op::Const, term.coeff});
    for (const auto& a : term.atoms) {
      switch (a->kind) {
        case Dim::AtomKind::Symbol:
          out.steps.push_back({Op::Sym, reg(a->symbol->name)});
          break;
        case Dim::AtomKind::FloorDiv:
        case Dim::AtomKind::Mod:
        case Dim::AtomKind::Min:
        case Dim::AtomKind::Max: {
          emit(a->a, reg, out);
          emit(a->b, reg, out);
          Op op = a->kind == Dim::AtomKind::FloorDiv ? Op::FloorDiv
                  : a->kind == Dim::AtomKind::Mod    ? Op::Mod
                  : a->kind == Dim::AtomKind::Min    ? Op::Min
                                                     : Op::Max;
          out.steps.push_back({op, 0});
          break;
        }
      }
      out.steps.push_back({Op::Mul, 0});
    }
    if (!first) out.steps.push_back({Op::Add, 0});
    first = false;
  }
  if (first || d.constant_term() != 0) {
    out.steps.push_back({Op::Const, d.constant_term()});
    if (!first) out.steps.push_back({Op::Add, 0});
  }
}

bool emit(const loop::Expr& e, const SymbolRegister& reg, rt::SizeExpr& out) {
  using Kind = loop::ExprNode::Kind;
  if (e->kind == Kind::Const && !is_float(e->dtype)) {
    out.steps.push_back({Op::Const, e->i});
    return true;
  }
  if (e->kind == Kind::Var) {
    out.steps.push_back({Op::Sym, reg(e->var->name)});
    return true;
  }
  if (e->kind != Kind::Op || e->args.size() != 2 || e->dtype != DType::I64) return false;
  if (!emit(e->args[0], reg, out) || !emit(e->args[1], reg, out)) return false;
  switch (e->prim) {
    case Prim::Add:
      out.steps.push_back({Op::Add, 0});
      break;
    case Prim::Sub:
      out.steps.push_back({Op::Sub, 0});
      break;
    case Prim::Mul:
      out.steps.push_back({Op::Mul, 0});
      break;
    case Prim::Div:  // index arithmetic divides by positive numbers
    case Prim::FloorDiv:
      out.steps.push_back({Op::FloorDiv, 0});
      break;
    case Prim::Rem:
    case Prim::FloorMod:
      out.steps.push_back({Op::Mod, 0});
      break;
    case Prim::Min:
      out.steps.push_back({Op::Min, 0});
      break;
    case Prim::Max:
      out.steps.push_back({Op::Max, 0});
      break;
    default:
      return false;
  }
  return true;
}

}  // namespace

rt::SizeExpr size_expr(const Dim& d, const SymbolRegister& reg) {
  rt::SizeExpr out;
  emit(d, reg, out);
  return out;
}

std::optional<rt::SizeExpr> size_expr(const loop::Expr& e, const SymbolRegister& reg) {
  rt::SizeExpr out;
  if (!emit(e, reg, out)) return std::nullopt;
  return out;
}

}  // namespace tenfold
