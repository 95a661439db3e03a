// See _row.h.
#include "ops/_row.h"

#include <cmath>

namespace tenfold::ops {

using loop::Expr;
using Index = std::vector<Expr>;

std::vector<TensorType> infer_norm(const Op& op, Diag& diag) {
  const TensorType& x = type(op, 0);
  check_type(op, 0, kFloat, diag);
  if (!check_axis(op, diag)) return {x};
  const Shape row(x.shape.begin() + op.i64("axis"), x.shape.end());
  for (int i = 1; i < op.num_operands(); ++i) {
    check_dtypes(diag, "types", "the operands", x.dtype, type(op, i).dtype);
    check_shapes(
        diag, "shapes",
        i == 1 ? "the normalized dimensions and scale" : "the normalized dimensions and bias", row,
        type(op, i).shape);
  }
  return {x};
}

Result<std::vector<Literal>> eval_norm(EvalContext& ctx, bool centered) {
  const Literal& x = ctx.args[0];
  const double epsilon = ctx.op->f64("epsilon");
  const std::vector<int64_t> row_dims(x.dims().begin() + ctx.op->i64("axis"), x.dims().end());
  int64_t n = 1;
  for (int64_t d : row_dims) n *= d;
  for (size_t i = 1; i < ctx.args.size(); ++i) {
    TF_TRY(
        same_dims(ctx, "the normalized dimensions and an operand", row_dims, ctx.args[i].dims()));
  }
  Literal out(x.dtype(), x.dims());
  std::vector<double> row(n);
  for (int64_t at = 0; at < x.size(); at += n) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; ++i) row[i] = x.as_f64(at + i), mean += row[i];
    mean = centered ? mean / static_cast<double>(n) : 0;
    for (double v : row) square += (v - mean) * (v - mean);
    const double scale = 1 / std::sqrt(square / static_cast<double>(n) + epsilon);
    for (int64_t i = 0; i < n; ++i) {
      double v = (row[i] - mean) * scale * ctx.args[1].as_f64(i);
      if (ctx.args.size() > 2) v += ctx.args[2].as_f64(i);
      out.set_f64(at + i, v);
    }
  }
  return one(std::move(out));
}

Status emit_norm(EmitContext& ctx, bool centered) {
  loop::Builder& b = *ctx.b;
  const TensorType& x = type(*ctx.op, 0);
  const int64_t axis = ctx.op->i64("axis");
  const DType t = row_accumulator(x.dtype);
  const Shape rows(x.shape.begin(), x.shape.begin() + axis),
      row(x.shape.begin() + axis, x.shape.end());
  const std::vector<Expr> row_dims = dims_of(ctx, row);
  const auto o = [](Prim p, std::vector<Expr> args) { return loop::op(p, std::move(args)); };
  const Expr count = loop::cast(ctx.dim(product(row)), t);
  b.nest("i", dims_of(ctx, rows), [&](const Index& i) {
    const auto at = [&](const Index& k) {
      Index r = i;
      r.insert(r.end(), k.begin(), k.end());
      return r;
    };
    const loop::Buffer v = b.alloc("row", t, row_dims, loop::Scope::Workspace);
    const loop::Buffer sum = b.cell("sum", loop::zero(t));
    each(b, "k", row_dims, [&](const Index& k) {
      const Expr e = b.let("x", loop::cast(ctx.operand(0, at(k)), t));
      b.store(v, k, e);
      if (centered) b.set(sum, o(Prim::Add, {b.get(sum), e}));
    });
    const Expr mean = centered ? b.let("mean", o(Prim::Div, {b.get(sum), count})) : nullptr;
    const auto deviation = [&](const Index& k) {
      const Expr e = loop::load(v, k);
      return centered ? o(Prim::Sub, {e, mean}) : e;
    };
    const loop::Buffer square = b.cell("square", loop::zero(t));
    each(b, "k", row_dims, [&](const Index& k) {
      const Expr e = b.let("d", deviation(k));
      b.set(square, o(Prim::Add, {b.get(square), o(Prim::Mul, {e, e})}));
    });
    const Expr variance = o(Prim::Add, {o(Prim::Div, {b.get(square), count}),
                                        loop::float_const(ctx.op->f64("epsilon"), t)});
    const Expr scale =
        b.let("scale", o(Prim::Div, {loop::float_const(1, t), o(Prim::Sqrt, {variance})}));
    each(b, "k", row_dims, [&](const Index& k) {
      Expr e = o(Prim::Mul, {deviation(k), scale});
      e = o(Prim::Mul, {e, loop::cast(ctx.operand(1, k), t)});
      if (ctx.op->num_operands() > 2) e = o(Prim::Add, {e, loop::cast(ctx.operand(2, k), t)});
      ctx.store(0, at(k), loop::cast(e, x.dtype));
    });
  });
  return ok_status();
}

}  // namespace tenfold::ops
