// Softmax, LogSoftmax, Hardmax. Before opset 13 everything from the axis on is one row.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

// One at the first largest element of each row, else zero.
Value* hardmax(GraphBuilder& b, Value* x, int64_t axis) {
  const int64_t rank = x->type.rank();
  std::vector<int64_t> others;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis) others.push_back(i);
  }
  const auto spread = [&](Value* v) { return b.broadcast_in_dim(v, x->type.shape, others); };
  Value* is_top = b.compare("EQ", x, spread(b.reduce(Prim::Max, x, {axis})));
  Value* i = b.iota({DType::I64, x->type.shape}, axis);
  Value* none = b.full(b.dim_scalar(x->type.shape[static_cast<size_t>(axis)]), x->type.shape);
  Value* first = b.reduce(Prim::Min, b.select(is_top, i, none), {axis});
  return b.convert(b.compare("EQ", i, spread(first)), x->type.dtype);
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const int64_t rank = x->type.rank();
  const Shape shape = x->type.shape;
  int64_t axis = n.attr_i("axis", n.opset() < 13 ? 1 : -1);
  const bool flatten = n.opset() < 13;
  if (flatten && axis == rank) {
    axis = rank;  // rows of nothing but one element
  } else {
    axis = n.axis(axis, rank);
  }
  if (flatten && axis != rank - 1) {
    x = flatten2(b, x, axis);
    axis = 1;
  }
  if (n.op_type() == "Hardmax") {
    x = hardmax(b, x, axis);
  } else {
    x = b.create("tenfold.softmax", {x},
                 {{"axis", Attr{axis}}, {"log", Attr{n.op_type() == "LogSoftmax"}}})
            ->result();
  }
  return {b.reshape(x, shape)};
}

}  // namespace

extern const OnnxOp onnx_softmax;
const OnnxOp onnx_softmax = {
    .names = {{"Softmax", {1, 11, 13}}, {"LogSoftmax", {1, 11, 13}}, {"Hardmax", {1, 11, 13}}},
    .summary = "Softmax along an axis (opset 13) or over flattened rows.",
    .convert = convert};

}  // namespace tenfold::onnx
