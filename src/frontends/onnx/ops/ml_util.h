// What the ops of ai.onnx.ml share: rows of features, transforms of scores, class labels.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

// X as [rows, features] in f32 (f64 stays); a rank-1 tensor is one row.
Value* feature_rows(NodeContext& n, Value* x);
// A literal of `dims` holding `values`.
Value* floats(GraphBuilder& b, DType t, const std::vector<double>& values,
              std::vector<int64_t> dims);

enum class Transform { None, Softmax, Logistic, SoftmaxZero, Probit };
Transform read_transform(NodeContext& n);  // post_transform, a string or (TreeEnsemble) an int
Value* transform(GraphBuilder& b, Transform t, Value* scores);  // along dimension 1

// Labels of classes: integers, or strings that no tensor can hold.
struct ClassLabels {
  std::vector<int64_t> ints;
  size_t count = 0;
  bool text = false;
};
ClassLabels read_labels(NodeContext& n, std::string_view ints_name);
// The labels at `index` [rows] (I64), or an unsupported value when they are strings.
Val labels_at(GraphBuilder& b, const ClassLabels& labels, Value* index);
// Position of the first largest of each row.
Value* arg_max(GraphBuilder& b, Value* scores);
// Scores of two classes from one: what runtimes write for models with a single decision value.
// `probability`: the score is the probability of the second class.
Value* two_classes(GraphBuilder& b, Transform t, Value* score, bool probability);

}  // namespace tenfold::onnx
