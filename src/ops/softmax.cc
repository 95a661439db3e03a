// tenfold.softmax: the maximum is taken off first, so that nothing overflows.
#include <algorithm>
#include <cmath>

#include "ops/_row.h"
#include "ops/reduce_util.h"

namespace tenfold {
namespace {

using loop::Expr;
using Index = std::vector<Expr>;

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Literal& x = ctx.args[0];
  const int64_t axis = ctx.op->i64("axis"), n = x.dims()[axis];
  const int64_t step = row_major_strides(x.dims())[axis];
  const bool log = ctx.op->flag("log");
  Literal out(x.dtype(), x.dims());
  std::vector<double> row(n);
  for (int64_t r = 0; n > 0 && r < x.size() / n; ++r) {
    const int64_t at = r / step * step * n + r % step;
    double most = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      row[k] = x.as_f64(at + k * step);
      most = std::isnan(row[k]) || row[k] > most ? row[k] : most;
    }
    for (double& v : row) v -= most, sum += std::exp(v);
    for (int64_t k = 0; k < n; ++k) {
      out.set_f64(at + k * step, log ? row[k] - std::log(sum) : std::exp(row[k]) / sum);
    }
  }
  return ops::one(std::move(out));
}

Status emit(EmitContext& ctx) {
  loop::Builder& b = *ctx.b;
  const TensorType& x = ops::type(*ctx.op, 0);
  const int64_t axis = ctx.op->i64("axis");
  const bool log = ctx.op->flag("log");
  const DType t = ops::row_accumulator(x.dtype);
  const auto o = [](Prim p, std::vector<Expr> args) { return loop::op(p, std::move(args)); };
  Shape others = x.shape;
  others.erase(others.begin() + axis);
  const Expr n = ctx.dim(x.shape[axis]);
  b.nest("i", ops::dims_of(ctx, others), [&](const Index& i) {
    const auto at = [&](const Expr& k) {
      Index r = i;
      r.insert(r.begin() + axis, k);
      return r;
    };
    const loop::Buffer row = b.alloc("row", t, {n}, loop::Scope::Workspace);
    const loop::Buffer most = b.cell("most", ops::const_expr(identity(Prim::Max, t), 0));
    b.for_("k", n, [&](const Expr& k) {
      const Expr e = b.let("x", loop::cast(ctx.operand(0, at(k)), t));
      b.store(row, {k}, e);
      b.set(most, o(Prim::Max, {b.get(most), e}));
    });
    const Expr top = b.let("top", b.get(most));
    const loop::Buffer sum = b.cell("sum", loop::zero(t));
    b.for_("k", n, [&](const Expr& k) {
      const Expr d = b.let("d", o(Prim::Sub, {loop::load(row, {k}), top}));
      const Expr e = b.let("e", o(Prim::Exp, {d}));
      b.store(row, {k}, log ? d : e);
      b.set(sum, o(Prim::Add, {b.get(sum), e}));
    });
    const Expr total = b.let("total", log ? o(Prim::Log, {b.get(sum)}) : b.get(sum));
    b.for_("k", n, [&](const Expr& k) {
      const Expr e = o(log ? Prim::Sub : Prim::Div, {loop::load(row, {k}), total});
      ctx.store(0, at(k), loop::cast(e, x.dtype));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_softmax;
const OpDef op_softmax = {
    .name = "tenfold.softmax",
    .summary = "exp(x) / sum(exp(x)) along an axis, or its logarithm.",
    .doc = "Computed in f32 (f64 for f64) after the maximum is taken off.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"axis", AttrKind::I64, true, {}, AttrRole::DimIndex},
              {"log", AttrKind::Bool, false, "log-softmax, x - log(sum(exp(x)))"}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      ops::check_type(op, 0, ops::kFloat, diag);
      ops::check_axis(op, diag);
      return {ops::type(op, 0)};
    },
    .eval = eval,
    .emit = emit,
    .any_layout = true,
    .constraints = {"I1", "axis"},
};

}  // namespace tenfold
