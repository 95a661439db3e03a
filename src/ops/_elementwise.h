// Builds the descriptors of elementwise ops, so that one of them is a few lines: either a plain
// primitive, or one generic lambda over a small algebra that literals (the evaluator) and loop
// expressions (the lowering) both provide.
#pragma once

#include "ops/_check.h"

namespace tenfold::ops {

// The algebra. Every operand is a whole tensor for LiteralAlgebra, one element for ExprAlgebra;
// scalars broadcast.
struct LiteralAlgebra {
  using V = Literal;
  static DType dtype(const V& x) { return x.dtype(); }
  static V op(Prim p, std::vector<V> args);
  static V cast(const V& x, DType t) { return convert(x, t); }
  static V bitcast(const V& x, DType t);
  static V integer(DType t, int64_t v) { return Literal::scalar_i(t, v); }
  static V number(DType t, double v) { return Literal::scalar(t, v); }
};
struct ExprAlgebra {
  using V = loop::Expr;
  static DType dtype(const V& x) { return x->dtype; }
  static V op(Prim p, std::vector<V> args) { return loop::op(p, std::move(args)); }
  static V cast(const V& x, DType t) { return loop::cast(x, t); }
  static V bitcast(const V& x, DType t) { return loop::bitcast(x, t); }
  static V integer(DType t, int64_t v) {
    return t == DType::Bool ? loop::bool_const(v != 0) : loop::int_const(v, t);
  }
  static V number(DType t, double v) {
    return is_float(t) ? loop::float_const(v, t) : integer(t, static_cast<int64_t>(v));
  }
};

// Operand shapes agree, rank 0 apart.
Status check_elementwise_args(const EvalContext& ctx);
// Operand i at `index`; scalars at {}.
loop::Expr operand_at(ElementContext& ctx, int i, const std::vector<loop::Expr>& index);

// A plain primitive: operands in `types`, all of one type ("C1"), result by result_dtype().
OpDef elementwise(std::string_view name, Prim p, TypeSet types, std::string_view summary,
                  std::string_view doc = {});

// Gives `d` both hooks from `f(const Op&, algebra, std::vector<V>) -> V`.
template <class F>
OpDef with_scalar(OpDef d, F f) {
  d.kind = OpKind::Elementwise;
  d.eval = [f](EvalContext& ctx) -> Result<std::vector<Literal>> {
    TF_TRY(check_elementwise_args(ctx));
    return one(f(*ctx.op, LiteralAlgebra{}, ctx.args));
  };
  d.element = [f](ElementContext& ctx, const std::vector<loop::Expr>& index) {
    std::vector<loop::Expr> args;
    for (int i = 0; i < ctx.op->num_operands(); ++i) args.push_back(operand_at(ctx, i, index));
    return f(*ctx.op, ExprAlgebra{}, std::move(args));
  };
  return d;
}

}  // namespace tenfold::ops
