// Shape and Size: dimensions as values.
#include <algorithm>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  const Shape& s = x->type.shape;
  if (n.op_type() == "Size") return {n.b.dim_scalar(product_of(s, 0, s.size()))};
  const int64_t rank = x->type.rank();
  int64_t start = 0, end = rank;
  if (n.opset() >= 15) {
    start = n.attr_i("start", 0);
    end = n.attr_i("end", rank);
  }
  const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  start = clamp(start);
  end = std::max(start, clamp(end));
  return {n.b.dims_value(Shape(s.begin() + start, s.begin() + end))};
}

}  // namespace

extern const OnnxOp onnx_shape;
const OnnxOp onnx_shape = {
    .names = {{"Shape", {1, 13, 15, 19, 21, 23, 24, 25}}, {"Size", {1, 13, 19, 21, 23, 24, 25}}},
    .summary = "The dimensions, or their product, as int64.",
    .convert = convert};

}  // namespace tenfold::onnx
