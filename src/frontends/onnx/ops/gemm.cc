// Gemm: alpha * A' * B' + beta * C.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *y = n.input(1);
  n.need_rank(x, 2, 2, "A");
  n.need_rank(y, 2, 2, "B");
  const DType t = x->type.dtype;
  if (y->type.dtype != t) n.invalid("A and B differ in element type");
  const double alpha = n.attr_f("alpha", 1), beta = n.attr_f("beta", 1);
  const int64_t ka = n.attr_flag("transA") ? 0 : 1, kb = n.attr_flag("transB") ? 1 : 0;
  n.require_equal(x->type.shape[static_cast<size_t>(ka)], y->type.shape[static_cast<size_t>(kb)],
                  "contracted dimensions");
  Value* c = n.opset() >= 11 ? n.opt(2) : n.input(2);
  if (n.opset() < 7) n.ignore_attr("broadcast");
  // Integers keep their type; a factor other than one goes through double.
  const bool scaled = alpha != 1 || (c && beta != 1);
  const DType w = is_integer(t) ? (scaled ? DType::F64 : t) : wide(t);
  Value* r = b.dot_general(b.convert(x, w), b.convert(y, w), {}, {}, {ka}, {kb});
  if (alpha != 1) r = mul(b, r, alpha);
  if (c) {
    if (c->type.dtype != t) n.invalid("C has another element type");
    Value* bias = b.convert(c, w);
    if (beta != 1) bias = mul(b, bias, beta);
    r = add(b, r, n.broadcast_to(bias, r->type.shape));
  }
  return {b.convert(r, t)};
}

}  // namespace

extern const OnnxOp onnx_gemm;
const OnnxOp onnx_gemm = {.names = {{"Gemm", {1, 6, 7, 9, 11, 13}}},
                          .summary = "alpha * A' * B' + beta * C.",
                          .convert = convert};

}  // namespace tenfold::onnx
