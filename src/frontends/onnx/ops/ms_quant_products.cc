// DynamicQuantizeMatMul, MatMulIntegerToFloat, QGemm and MatMulInteger16 of
// com.microsoft.
#include <fmt/format.h>

#include "frontends/onnx/ops/dynamic_quantize_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// bias [columns] added along the last dimension.
Value* add_bias(NodeContext& n, Value* y, Value* bias) {
  if (!bias) return y;
  n.need_rank(bias, 1, 1, "bias");
  return n.binary(Prim::Add, y, n.b.convert(bias, y->type.dtype));
}

// Products of x - zx and y - zy by scales: per tensor or row, per tensor or column.
Value* product(NodeContext& n, Value* x, Value* zx, Value* sx, Value* y, Value* zy, Value* sy) {
  B& b = n.b;
  n.need_rank(x, 1, 16, "A");
  n.need_rank(y, 1, 16, "B");
  if (zx) zx = matrix_scale(n, zx, x->type.shape, true, "a_zero_point");
  if (zy) zy = matrix_scale(n, zy, y->type.shape, false, "b_zero_point");
  Value* p = b.convert(matmul(n, centered_i32(b, x, zx), centered_i32(b, y, zy)), DType::F32);
  const auto one = [](Value* v) {
    return v->type.is_static() && v->type.num_elements().value() == 1;
  };
  sx = b.convert(sx, DType::F32);
  sy = b.convert(sy, DType::F32);
  if (one(sx) && one(sy)) {
    return mul(b, p, b.full(mul(b, b.reshape(sx, {}), b.reshape(sy, {})), p->type.shape));
  }
  Value* s = mul(b, matrix_scale(n, sx, p->type.shape, true, "a_scale"),
                 matrix_scale(n, sy, p->type.shape, false, "b_scale"));
  return mul(b, p, s);
}

Outputs dynamic_matmul(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const DType t = x->type.dtype;
  const DynamicQuantized q = dynamic_quantize(b, b.convert(x, DType::F32));
  Value* y = product(n, q.y, q.zero, q.scale, n.input(1), n.opt(3), n.input(2));
  return {b.convert(add_bias(n, y, n.opt(4)), t)};
}

Outputs integer_to_float(NodeContext& n) {
  Value* y = product(n, n.input(0), n.opt(4), n.input(2), n.input(1), n.opt(5), n.input(3));
  return {n.b.convert(add_bias(n, y, n.opt(6)), n.input(2)->type.dtype)};
}

Outputs qgemm(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *y = n.input(3), *c = n.opt(6), *scale = n.opt(7), *zero = n.opt(8);
  n.need_rank(x, 2, 2, "A");
  n.need_rank(y, 2, 2, "B");
  if (n.attr_flag("transA")) x = b.transpose(x, {1, 0});
  if (n.attr_flag("transB")) y = b.transpose(y, {1, 0});
  const double alpha = n.attr_f("alpha", 1);
  Value* zx = b.full(one_number(n, n.input(2), "a_zero_point"), x->type.shape);
  Value* zy = matrix_scale(n, n.input(5), y->type.shape, false, "b_zero_point");
  Value* p = matmul(n, centered_i32(b, x, zx), centered_i32(b, y, zy));
  if (c) p = add(b, p, n.broadcast_to(c, p->type.shape));
  Value* s = b.full(one_number(n, n.input(1), "a_scale"), p->type.shape);
  s = mul(b, s, matrix_scale(n, n.input(4), p->type.shape, false, "b_scale"));
  if (alpha != 1) s = mul(b, s, alpha);
  if (!scale) return {mul(b, b.convert(p, DType::F32), s)};
  if (!zero) n.invalid("y_scale needs y_zero_point");
  s = div(b, s, b.full(one_number(n, scale, "y_scale"), p->type.shape));
  return {round_to(b, mul(b, b.convert(p, DType::F32), s),
                   b.full(one_number(n, zero, "y_zero_point"), p->type.shape), zero->type.dtype)};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "DynamicQuantizeMatMul") return dynamic_matmul(n);
  if (op == "MatMulIntegerToFloat") return integer_to_float(n);
  if (op == "QGemm") return qgemm(n);
  return {matmul(n, n.b.convert(n.input(0), DType::I32), n.b.convert(n.input(1), DType::I32))};
}

}  // namespace

extern const OnnxOp onnx_ms_quant_products;
const OnnxOp onnx_ms_quant_products = {.names = {{"DynamicQuantizeMatMul", {1}},
                                                 {"MatMulIntegerToFloat", {1}},
                                                 {"QGemm", {1}},
                                                 {"MatMulInteger16", {1}}},
                                       .domain = "com.microsoft",
                                       .summary = "Matrix products of quantized tensors.",
                                       .convert = convert};

}  // namespace tenfold::onnx
