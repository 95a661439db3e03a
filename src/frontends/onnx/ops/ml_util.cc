// See ml_util.h.
#include "frontends/onnx/ops/ml_util.h"

#include <cmath>

#include <fmt/format.h>

namespace tenfold::onnx {

using B = GraphBuilder;

Value* feature_rows(NodeContext& n, Value* x) {
  n.need_rank(x, 1, 2, "X");
  if (x->type.rank() == 1) x = n.b.reshape(x, {Dim(1), x->type.shape[0]});
  return n.b.convert(x, x->type.dtype == DType::F64 ? DType::F64 : DType::F32);
}

Value* floats(B& b, DType t, const std::vector<double>& values, std::vector<int64_t> dims) {
  Literal l(t, std::move(dims));
  TF_CHECK(static_cast<size_t>(l.size()) == values.size());
  for (size_t i = 0; i < values.size(); ++i) l.set_f64(static_cast<int64_t>(i), values[i]);
  return b.constant(std::move(l));
}

Transform read_transform(NodeContext& n) {
  if (n.op_type() == "TreeEnsemble") {
    const int64_t k = n.attr_i("post_transform", 0);
    if (k < 0 || k > 4) n.invalid(fmt::format("post_transform {}", k));
    return static_cast<Transform>(k);
  }
  const std::string s = n.attr_s("post_transform", "NONE");
  if (s == "NONE") return Transform::None;
  if (s == "SOFTMAX") return Transform::Softmax;
  if (s == "LOGISTIC") return Transform::Logistic;
  if (s == "SOFTMAX_ZERO") return Transform::SoftmaxZero;
  if (s == "PROBIT") return Transform::Probit;
  n.invalid("post_transform '" + s + "'");
}

Value* transform(B& b, Transform t, Value* v) {
  switch (t) {
    case Transform::None:
      return v;
    case Transform::Logistic:
      return b.unary(Prim::Logistic, v);
    case Transform::Softmax:
      return b.create("tenfold.softmax", {v}, {{"axis", Attr{int64_t{1}}}, {"log", Attr{false}}})
          ->result();
    case Transform::SoftmaxZero: {
      // Zeros stay small and do not count towards the sum.
      const auto spread = [&](Value* s) { return b.broadcast_in_dim(s, v->type.shape, {0}); };
      Value* top = spread(b.reduce(Prim::Max, v, {1}));
      Value* zero = b.compare("LE", b.unary(Prim::Abs, v), like(b, v, 1e-7));
      Value* e = b.unary(Prim::Exp, sub(b, v, top));
      Value* sum = b.reduce(Prim::Add, b.select(zero, like(b, v, 0), e), {1});
      Value* small = mul(b, v, b.unary(Prim::Exp, b.unary(Prim::Neg, top)));
      return div(b, b.select(zero, small, e), spread(sum));
    }
    case Transform::Probit: {
      // sqrt(2) * erfinv(2 x - 1) by Winitzki's approximation, which the standard's reference uses.
      Value* x = add(b, mul(b, v, 2), -1);
      Value* log = b.unary(Prim::Log, mul(b, sub_from(b, 1, x), add(b, x, 1)));
      Value* k = add(b, mul(b, log, 0.5), 2 / (M_PI * 0.147));
      Value* inner = sub(b, b.unary(Prim::Sqrt, sub(b, mul(b, k, k), mul(b, log, 1 / 0.147))), k);
      Value* root = mul(b, b.unary(Prim::Sqrt, inner), std::sqrt(2.0));
      return b.select(b.compare("LT", x, like(b, x, 0)), b.unary(Prim::Neg, root), root);
    }
  }
  return v;
}

ClassLabels read_labels(NodeContext& n, std::string_view ints_name) {
  ClassLabels r;
  const auto strings = n.attr_strings("classlabels_strings", {});
  r.ints = n.attr_ints(ints_name, {});
  if (!strings.empty() && !r.ints.empty()) n.invalid("class labels are given twice");
  r.text = !strings.empty();
  r.count = r.text ? strings.size() : r.ints.size();
  return r;
}

Val labels_at(B& b, const ClassLabels& labels, Value* index) {
  if (labels.text) return Val::unsupported("a tensor of strings (class labels)");
  return take(b, b.constant(Literal::i64s(labels.ints)), index, 0);
}

Value* arg_max(B& b, Value* scores) {
  const Shape s = scores->type.shape;
  Value* top = b.broadcast_in_dim(b.reduce(Prim::Max, scores, {1}), s, {0});
  Value* i = b.iota({DType::I64, s}, 1);
  Value* none = b.full(b.dim_scalar(max(s[1] - Dim(1), Dim(0))), s);
  return b.reduce(Prim::Min, b.select(b.compare("EQ", scores, top), i, none), {1});
}

Value* two_classes(B& b, Transform t, Value* score, bool probability) {
  if (t == Transform::Probit) return transform(b, t, score);
  Value* minus = b.unary(Prim::Neg, score);
  if (t == Transform::Logistic) {
    return b.concatenate({b.unary(Prim::Logistic, minus), b.unary(Prim::Logistic, score)}, 1);
  }
  return b.concatenate({probability ? sub_from(b, 1, score) : minus, score}, 1);
}

}  // namespace tenfold::onnx
