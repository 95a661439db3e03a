// Trilu and EyeLike: patterns along a diagonal.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

// column - row over the last two dimensions of `shape`.
Value* diagonal(GraphBuilder& b, const Shape& shape) {
  const auto r = static_cast<int64_t>(shape.size());
  return sub(b, b.iota({DType::I64, shape}, r - 1), b.iota({DType::I64, shape}, r - 2));
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  if (n.op_type() == "EyeLike") {
    n.need_rank(x, 2, 2, "input");
    const DType t = n.attr_dtype("dtype", x->type.dtype);
    Value* d = diagonal(b, x->type.shape);
    return {b.convert(b.compare("EQ", d, like(b, d, static_cast<double>(n.attr_i("k", 0)))), t)};
  }
  n.need_rank(x, 2, INT64_MAX, "input");
  const bool upper = n.attr_flag("upper", true);
  Value* d = diagonal(b, x->type.shape);
  Value* k = n.opt(1);
  if (k && !(k->type.is_static() && k->type.num_elements().value() == 1)) {
    n.invalid("k must be a scalar, found " + k->type.str());
  }
  Value* edge = k ? b.full(b.convert(b.reshape(k, {}), DType::I64), d->type.shape) : like(b, d, 0);
  return {b.select(b.compare(upper ? "GE" : "LE", d, edge), x, like(b, x, 0))};
}

}  // namespace

extern const OnnxOp onnx_trilu;
const OnnxOp onnx_trilu = {.names = {{"Trilu", {14}}, {"EyeLike", {9, 22}}},
                           .summary = "Triangles of matrices; ones on a diagonal.",
                           .convert = convert};

}  // namespace tenfold::onnx
