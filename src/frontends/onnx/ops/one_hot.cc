// OneHot: a row of off-values with one on-value; indices outside [-depth, depth) give none.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *indices = n.input(0), *values = n.input(2);
  Value* depth_value = n.input(1);
  if (is_float(depth_value->type.dtype)) depth_value = b.convert(depth_value, DType::I64);
  const Dim depth = n.dim(depth_value, "depth");
  n.need_rank(values, 1, 1, "values");
  n.require_equal(values->type.shape[0], Dim(2), "number of values");
  const int64_t rank = indices->type.rank() + 1;
  const int64_t axis = n.axis(n.attr_i("axis", -1), rank);
  Shape shape = indices->type.shape;
  shape.insert(shape.begin() + axis, depth);
  Value* i = wrap_indices(b, indices, depth);
  std::vector<int64_t> map;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis) map.push_back(d);
  }
  Value* hit =
      b.compare("EQ", b.broadcast_in_dim(i, shape, map), b.iota({DType::I64, shape}, axis));
  const auto value = [&](int64_t k) {
    return b.full(b.reshape(b.slice(values, {Dim(k)}, {Dim(k + 1)}, {1}), {}), shape);
  };
  return {b.select(hit, value(1), value(0))};
}

}  // namespace

extern const OnnxOp onnx_one_hot;
const OnnxOp onnx_one_hot = {.names = {{"OneHot", {9, 11, 28}}},
                             .summary = "One-hot rows along an axis.",
                             .convert = convert};

}  // namespace tenfold::onnx
