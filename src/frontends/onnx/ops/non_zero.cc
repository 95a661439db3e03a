// NonZero and Compress: results whose sizes are counted at run time.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs non_zero(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const Shape shape = x->type.shape;
  Value* mask = x->type.dtype == DType::Bool ? x : b.compare("NE", x, like(b, x, 0));
  const Dim total = product_of(shape, 0, shape.size());
  Value* flat = positions_of(n, b.reshape(mask, {total}), "nonzero");
  const Shape row = {Dim(1), flat->type.shape[0]};
  if (shape.empty()) {
    // A scalar has no coordinates.
    return {b.splat({DType::I64, {Dim(0), flat->type.shape[0]}}, 0)};
  }
  std::vector<Value*> rows;
  for (size_t d = 0; d < shape.size(); ++d) {
    Value* v = flat;
    const Dim inner = product_of(shape, d + 1, shape.size());
    if (!(inner == Dim(1))) v = div(b, v, b.full(b.dim_scalar(max(inner, Dim(1))), v->type.shape));
    if (d > 0) {
      v = b.binary(Prim::Rem, v, b.full(b.dim_scalar(max(shape[d], Dim(1))), v->type.shape));
    }
    rows.push_back(b.reshape(v, row));
  }
  return {b.concatenate(rows, 0)};
}

Outputs compress(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *condition = n.input(1);
  n.need_rank(condition, 1, 1, "condition");
  if (condition->type.dtype != DType::Bool) n.invalid("condition must be bool");
  int64_t axis = 0;
  if (n.has_attr("axis")) {
    axis = n.axis(n.attr_i("axis"), x->type.rank());
  } else {
    x = b.reshape(x, {product_of(x->type.shape, 0, x->type.shape.size())});
  }
  if (less(x->type.shape[static_cast<size_t>(axis)], condition->type.shape[0]) == Truth::Yes) {
    n.invalid("condition is longer than the dimension it picks from");
  }
  return {take(b, x, positions_of(n, condition, "compress"), axis)};
}

}  // namespace

extern const OnnxOp onnx_non_zero;
const OnnxOp onnx_non_zero = {
    .names = {{"NonZero", {9, 13}}, {"Compress", {9, 11, 28}}},
    .summary = "Positions or elements that a mask picks.",
    .convert = [](NodeContext& n) { return n.op_type() == "NonZero" ? non_zero(n) : compress(n); },
    .limits = "string tensors"};

}  // namespace tenfold::onnx
