// stablehlo.batch_norm_inference: normalisation by given statistics.
#include "ops/batch_norm_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  check_batch_norm(op, 1, 4, diag);
  return {op.operand()->type};
}

// The specification's decomposition, op by op.
Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& x = c.args[0];
  const FeatureView v = feature_view(x, c.op->i64("feature_index"));
  const Literal epsilon = Literal::scalar(x.dtype(), c.op->f64("epsilon"));
  Literal stddev(x.dtype(), c.args[4].dims());
  const void* sum_args[] = {c.args[4].bytes(), epsilon.bytes()};
  const int64_t sum_strides[] = {1, 0};
  apply(Prim::Add, x.dtype(), sum_args, sum_strides, stddev.mutable_bytes(), v.features);
  const Literal sum = stddev;
  const void* root_args[] = {sum.bytes()};
  const int64_t unit[] = {1};
  apply(Prim::Sqrt, x.dtype(), root_args, unit, stddev.mutable_bytes(), v.features);
  const Literal centered = spread_apply(Prim::Sub, v, x, c.args[3]);
  const Literal normal = spread_apply(Prim::Div, v, centered, stddev);
  const Literal scaled = spread_apply(Prim::Mul, v, c.args[1], normal);
  return std::vector<Literal>{spread_apply(Prim::Add, v, scaled, c.args[2])};
}

loop::Expr element(ElementContext& c, const std::vector<loop::Expr>& index) {
  using namespace loop;
  const Expr f = index[c.op->i64("feature_index")];
  const Expr x = c.operand(0, index);
  const Expr epsilon = cast(float_const(c.op->f64("epsilon"), DType::F64), x->dtype);
  const Expr stddev = loop::op(Prim::Sqrt, {loop::op(Prim::Add, {c.operand(4, {f}), epsilon})});
  const Expr normal = loop::op(Prim::Div, {loop::op(Prim::Sub, {x, c.operand(3, {f})}), stddev});
  return loop::op(Prim::Add, {loop::op(Prim::Mul, {c.operand(1, {f}), normal}), c.operand(2, {f})});
}

}  // namespace

extern const OpDef op_batch_norm_inference;
const OpDef op_batch_norm_inference = {
    .name = "stablehlo.batch_norm_inference",
    .summary = "Normalises each feature by given mean and variance",
    .doc =
        "(operand - mean) / sqrt(variance + epsilon) * scale + offset, feature by feature. "
        "Operands in order: operand, scale, offset, mean, variance.",
    .kind = OpKind::GatherScatter,
    .min_operands = 5,
    .max_operands = 5,
    .attrs = {{"epsilon", AttrKind::F64}, {"feature_index", AttrKind::I64}},
    .infer = infer,
    .eval = eval,
    .element = element,
    .constraints = {"C1", "C2", "C3", "C4", "C5", "C6"},
};

}  // namespace tenfold
