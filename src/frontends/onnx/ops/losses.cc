// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// x [n, classes, rest...] at the class that `at` [n, rest...] names.
Value* pick_class(B& b, Value* x, Value* at) {
  const int64_t rank = x->type.rank();
  Shape column = at->type.shape;
  column.push_back(Dim(1));
  std::vector<int64_t> others = {0};
  for (int64_t i = 2; i < rank; ++i) others.push_back(i);
  return b
      .create("stablehlo.gather", {x, b.reshape(at, column)},
              {{"offset_dims", Attr{std::vector<int64_t>{}}},
               {"collapsed_slice_dims", Attr{std::vector<int64_t>{1}}},
               {"operand_batching_dims", Attr{others}},
               {"start_indices_batching_dims", Attr{iota_list(rank - 1)}},
               {"start_index_map", Attr{std::vector<int64_t>{1}}},
               {"index_vector_dim", Attr{rank - 1}},
               {"slice_sizes", Attr{std::vector<Dim>(static_cast<size_t>(rank), Dim(1))}},
               {"indices_are_sorted", Attr{false}}})
      ->result();
}

Value* loss(NodeContext& n, Value* log_prob, Value* target, Value* weight) {
  B& b = n.b;
  const int64_t rank = log_prob->type.rank();
  n.need_rank(log_prob, 2, 16, "input");
  n.need_rank(target, rank - 1, rank - 1, "target");
  for (int64_t i = 0; i < rank; ++i) {
    if (i == 1) continue;
    n.require_equal(log_prob->type.shape[static_cast<size_t>(i)],
                    target->type.shape[static_cast<size_t>(i > 1 ? i - 1 : 0)],
                    "shapes of input and target");
  }
  const std::string reduction = n.attr_s("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    n.invalid("reduction '" + reduction + "'");
  }
  const DType w = log_prob->type.dtype;
  Value* at = b.convert(target, DType::I64);
  Value* used = nullptr;
  if (n.has_attr("ignore_index")) {
    Value* ignored = b.full(b.constant_i(DType::I64, n.attr_i("ignore_index")), at->type.shape);
    used = b.compare("NE", at, ignored);
    at = b.select(used, at, like(b, at, 0));
  }
  Value* v = b.unary(Prim::Neg, pick_class(b, log_prob, at));
  Value* factor = nullptr;
  if (weight) {
    n.need_rank(weight, 1, 1, "weight");
    n.require_equal(weight->type.shape[0], log_prob->type.shape[1], "weights and classes");
    factor = take(b, b.convert(weight, w), at, 0);
    v = mul(b, v, factor);
  }
  if (used) {
    v = b.select(used, v, like(b, v, 0));
    factor = b.select(used, factor ? factor : like(b, v, 1), like(b, v, 0));
  }
  if (reduction == "none") return v;
  const auto all = iota_list(rank - 1);
  if (reduction == "mean" && !factor) return mean(b, v, all, false);
  Value* sum = b.reduce(Prim::Add, v, all);
  return reduction == "sum" ? sum : div(b, sum, b.reduce(Prim::Add, factor, all));
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *target = n.input(1), *weight = n.opt(2);
  const DType t = x->type.dtype;
  Value* log_prob = b.convert(x, wide(t));
  const bool softmax = n.op_type() == "SoftmaxCrossEntropyLoss";
  if (softmax) {
    n.need_rank(x, 2, 16, "scores");
    log_prob =
        b.create("tenfold.softmax", {log_prob}, {{"axis", Attr{int64_t{1}}}, {"log", Attr{true}}})
            ->result();
  }
  Value* y = b.convert(loss(n, log_prob, target, weight), t);
  if (!softmax) return {y};
  return {y, b.convert(log_prob, t)};
}

}  // namespace

extern const OnnxOp onnx_losses;
const OnnxOp onnx_losses = {
    .names = {{"NegativeLogLikelihoodLoss", {12, 13, 22}}, {"SoftmaxCrossEntropyLoss", {12, 13}}},
    .summary = "Classification losses.",
    .convert = convert};

}  // namespace tenfold::onnx
