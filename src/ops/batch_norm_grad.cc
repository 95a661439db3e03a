// stablehlo.batch_norm_grad: gradients of batch_norm_training.
#include <cmath>

#include "ops/batch_norm_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand()->type;
  TensorType features{x.dtype, {Dim(0)}};
  if (check_batch_norm(op, 1, 3, diag)) features.shape[0] = x.shape[op.i64("feature_index")];
  if (shapes_differ(diag, op.operand(4)->type.shape, x.shape))
    diag.fail("C6", "grad_output is " + op.operand(4)->type.str() + ", the operand " + x.str());
  return {x, features, features};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal &x = c.args[0], &grad = c.args[4];
  const FeatureView v = feature_view(x, c.op->i64("feature_index"));
  const double epsilon = c.op->f64("epsilon");
  Literal out(x.dtype(), x.dims()), grad_scale(x.dtype(), {v.features}),
      grad_offset(x.dtype(), {v.features});
  const double count = static_cast<double>(v.outer * v.inner);
  for (int64_t f = 0; f < v.features; ++f) {
    const double scale = c.args[1].as_f64(f), mean = c.args[2].as_f64(f);
    const double variance = c.args[3].as_f64(f) + epsilon;
    const auto each = [&](auto&& visit) {
      for (int64_t o = 0; o < v.outer; ++o)
        for (int64_t i = 0; i < v.inner; ++i) visit((o * v.features + f) * v.inner + i);
    };
    double sum = 0, product = 0;
    each([&](int64_t i) {
      sum += grad.as_f64(i);
      product += grad.as_f64(i) * (x.as_f64(i) - mean);
    });
    each([&](int64_t i) {
      const double inner = grad.as_f64(i) * count - sum - product * (x.as_f64(i) - mean) / variance;
      out.set_f64(i, scale / std::sqrt(variance) / count * inner);
    });
    grad_scale.set_f64(f, product / std::sqrt(variance));
    grad_offset.set_f64(f, sum);
  }
  return std::vector<Literal>{out, grad_scale, grad_offset};
}

Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const Shape& shape = c.op->operand()->type.shape;
  const DType t = c.op->operand()->type.dtype;
  const int64_t feature = c.op->i64("feature_index");
  const auto wide = [](const Expr& e) { return cast(e, DType::F64); };
  const auto add = [](const Expr& p, const Expr& q) { return loop::op(Prim::Add, {p, q}); };
  const auto sub = [](const Expr& p, const Expr& q) { return loop::op(Prim::Sub, {p, q}); };
  const auto mul = [](const Expr& p, const Expr& q) { return loop::op(Prim::Mul, {p, q}); };
  const auto div = [](const Expr& p, const Expr& q) { return loop::op(Prim::Div, {p, q}); };
  Expr count = int_const(1);
  for (size_t d = 0; d < shape.size(); ++d)
    if (static_cast<int64_t>(d) != feature) count = count * c.dim(shape[d]);
  for_rows(b, {c.dim(shape[feature])}, [&](const std::vector<Expr>& row) {
    const Expr f = row[0];
    std::vector<Expr> index(shape.size());
    const auto each = [&](const std::function<void()>& visit) {
      const std::function<void(size_t)> loops = [&](size_t d) {
        if (d == shape.size()) return visit();
        if (static_cast<int64_t>(d) == feature) {
          index[d] = f;
          return loops(d + 1);
        }
        b.for_("i", c.dim(shape[d]), [&](Expr i) {
          index[d] = i;
          loops(d + 1);
        });
      };
      loops(0);
    };
    const Expr mean = b.let("mean", wide(c.operand(2, {f})));
    const Expr variance = b.let(
        "variance", add(wide(c.operand(3, {f})), float_const(c.op->f64("epsilon"), DType::F64)));
    const Expr stddev = b.let("stddev", loop::op(Prim::Sqrt, {variance}));
    const Buffer sum = b.cell("sum", float_const(0, DType::F64));
    const Buffer product = b.cell("product", float_const(0, DType::F64));
    each([&] {
      const Expr g = b.let("g", wide(c.operand(4, index)));
      b.set(sum, add(b.get(sum), g));
      b.set(product, add(b.get(product), mul(g, sub(wide(c.operand(0, index)), mean))));
    });
    const Expr n = wide(count);
    const Expr factor = b.let("factor", div(div(wide(c.operand(1, {f})), stddev), n));
    each([&] {
      const Expr centered = sub(wide(c.operand(0, index)), mean);
      const Expr inner = sub(sub(mul(wide(c.operand(4, index)), n), b.get(sum)),
                             div(mul(b.get(product), centered), variance));
      c.store(0, index, cast(mul(factor, inner), t));
    });
    c.store(1, {f}, cast(div(b.get(product), stddev), t));
    c.store(2, {f}, cast(b.get(sum), t));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_batch_norm_grad;
const OpDef op_batch_norm_grad = {
    .name = "stablehlo.batch_norm_grad",
    .summary = "Gradients of batch_norm_training",
    .doc =
        "Operands: operand, scale, mean, variance, grad_output. Results: the gradients of "
        "operand, scale and offset. Sums are f64.",
    .kind = OpKind::Opaque,
    .min_operands = 5,
    .max_operands = 5,
    .num_results = 3,
    .attrs = {{"epsilon", AttrKind::F64}, {"feature_index", AttrKind::I64}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "C4", "C5", "C6"},
};

}  // namespace tenfold
