// stablehlo.batch_norm_training: normalisation by the batch's own statistics.
#include <cmath>

#include "ops/batch_norm_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand()->type;
  TensorType features{x.dtype, {Dim(0)}};
  if (check_batch_norm(op, 1, 2, diag)) features.shape[0] = x.shape[op.i64("feature_index")];
  return {x, features, features};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& x = c.args[0];
  const FeatureView v = feature_view(x, c.op->i64("feature_index"));
  const double epsilon = c.op->f64("epsilon");
  Literal out(x.dtype(), x.dims()), mean(x.dtype(), {v.features}),
      variance(x.dtype(), {v.features});
  const double count = static_cast<double>(v.outer * v.inner);
  for (int64_t f = 0; f < v.features; ++f) {
    const auto each = [&](auto&& visit) {
      for (int64_t o = 0; o < v.outer; ++o)
        for (int64_t i = 0; i < v.inner; ++i) visit((o * v.features + f) * v.inner + i);
    };
    double m = 0, s = 0;
    each([&](int64_t i) { m += x.as_f64(i); });
    m /= count;
    each([&](int64_t i) { s += (x.as_f64(i) - m) * (x.as_f64(i) - m); });
    s /= count;
    mean.set_f64(f, m);
    variance.set_f64(f, s);
    each([&](int64_t i) {
      out.set_f64(i, (x.as_f64(i) - m) / std::sqrt(s + epsilon) * c.args[1].as_f64(f) +
                         c.args[2].as_f64(f));
    });
  }
  return std::vector<Literal>{out, mean, variance};
}

// One feature an iteration; sums in f64.
Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const Shape& shape = c.op->operand()->type.shape;
  const DType t = c.op->operand()->type.dtype;
  const int64_t feature = c.op->i64("feature_index");
  const auto wide = [](const Expr& e) { return cast(e, DType::F64); };
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
    const Buffer sum = b.cell("sum", float_const(0, DType::F64));
    each([&] { b.set(sum, loop::op(Prim::Add, {b.get(sum), wide(c.operand(0, index))})); });
    const Expr mean = b.let("mean", loop::op(Prim::Div, {b.get(sum), wide(count)}));
    const Buffer squares = b.cell("squares", float_const(0, DType::F64));
    each([&] {
      const Expr d = loop::op(Prim::Sub, {wide(c.operand(0, index)), mean});
      b.set(squares, loop::op(Prim::Add, {b.get(squares), loop::op(Prim::Mul, {d, d})}));
    });
    const Expr variance = b.let("variance", loop::op(Prim::Div, {b.get(squares), wide(count)}));
    const Expr epsilon = float_const(c.op->f64("epsilon"), DType::F64);
    const Expr stddev =
        b.let("stddev", loop::op(Prim::Sqrt, {loop::op(Prim::Add, {variance, epsilon})}));
    c.store(1, {f}, cast(mean, t));
    c.store(2, {f}, cast(variance, t));
    const Expr factor = b.let("factor", loop::op(Prim::Div, {wide(c.operand(1, {f})), stddev}));
    const Expr offset = b.let("offset", wide(c.operand(2, {f})));
    each([&] {
      const Expr d = loop::op(Prim::Sub, {wide(c.operand(0, index)), mean});
      c.store(0, index, cast(loop::op(Prim::Add, {loop::op(Prim::Mul, {d, factor}), offset}), t));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_batch_norm_training;
const OpDef op_batch_norm_training = {
    .name = "stablehlo.batch_norm_training",
    .summary = "Normalises each feature by the batch's mean and variance",
    .doc =
        "Operands: operand, scale, offset. Results: output, batch mean, batch variance (of the "
        "population). Statistics are summed in f64.",
    .kind = OpKind::Opaque,
    .min_operands = 3,
    .max_operands = 3,
    .num_results = 3,
    .attrs = {{"epsilon", AttrKind::F64}, {"feature_index", AttrKind::I64}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "C4"},
};

}  // namespace tenfold
