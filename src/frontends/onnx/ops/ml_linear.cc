// LinearRegressor and LinearClassifier.
#include <fmt/format.h>

#include "frontends/onnx/ops/ml_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// x w^T + intercepts, [rows, targets].
Value* scores(NodeContext& n, Value* x, int64_t targets) {
  B& b = n.b;
  const auto weights = n.attr_floats("coefficients", {});
  const auto intercepts = n.attr_floats("intercepts", {});
  const auto total = static_cast<int64_t>(weights.size());
  if (targets < 1 || total % targets != 0) {
    n.invalid(fmt::format("{} coefficients for {} targets", total, targets));
  }
  n.require_equal(x->type.shape[1], Dim(total / targets), "features and coefficients");
  const DType w = x->type.dtype;
  Value* y = b.dot_general(x, floats(b, w, weights, {targets, total / targets}), {}, {}, {1}, {1});
  if (intercepts.empty()) return y;
  if (static_cast<int64_t>(intercepts.size()) != targets) n.invalid("intercepts and targets");
  return add(b, y, b.broadcast_in_dim(floats(b, w, intercepts, {targets}), y->type.shape, {1}));
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Value* x = feature_rows(n, n.input(0));
  const Transform t = read_transform(n);
  if (n.op_type() == "LinearRegressor") {
    Value* y = scores(n, x, n.attr_i("targets", 1));
    return {b.convert(transform(b, t, y), DType::F32)};
  }
  n.ignore_attr("multi_class");  // one score a class either way
  ClassLabels labels = read_labels(n, "classlabels_ints");
  const auto intercepts = n.attr_floats("intercepts", {});
  int64_t classes = static_cast<int64_t>(intercepts.size());
  if (classes == 0) {
    const auto total = static_cast<int64_t>(n.attr_floats("coefficients", {}).size());
    const int64_t features = n.static_dim(x, 1, "the number of features");
    classes = features > 0 ? total / features : 0;
  }
  if (labels.count == 0 && !labels.text) {
    for (int64_t i = 0; i < std::max<int64_t>(classes, 2); ++i) labels.ints.push_back(i);
    labels.count = labels.ints.size();
  }
  Value* s = scores(n, x, classes);
  Value *z, *index;
  if (classes == 1) {
    if (labels.count != 2) n.fail(fmt::format("one score for {} classes", labels.count));
    Value* one = b.reshape(s, {s->type.shape[0]});
    index = b.convert(b.compare("GT", one, like(b, one, 0)), DType::I64);
    if (t == Transform::Probit) n.fail("PROBIT of a single score is not supported");
    z = two_classes(b, t, s, true);
  } else {
    if (static_cast<size_t>(classes) != labels.count) {
      n.invalid(fmt::format("{} scores for {} classes", classes, labels.count));
    }
    index = arg_max(b, s);
    z = transform(b, t, s);
  }
  return {labels_at(b, labels, index), b.convert(z, DType::F32)};
}

}  // namespace

extern const OnnxOp onnx_ml_linear;
const OnnxOp onnx_ml_linear = {.names = {{"LinearRegressor", {1}}, {"LinearClassifier", {1}}},
                               .domain = "ai.onnx.ml",
                               .summary = "Linear models.",
                               .convert = convert,
                               .limits = "string class labels as an output"};

}  // namespace tenfold::onnx
