// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv: products of quantized tensors.
#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"
#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

Outputs matmul_integer(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *y = n.input(1), *zx = n.opt(2), *zy = n.opt(3);
  n.need_rank(x, 1, INT64_MAX, "A");
  n.need_rank(y, 1, INT64_MAX, "B");
  if (zx) zx = matrix_scale(n, zx, x->type.shape, true, "a_zero_point");
  if (zy) zy = matrix_scale(n, zy, y->type.shape, false, "b_zero_point");
  return {matmul(n, centered_i32(b, x, zx), centered_i32(b, y, zy))};
}

Outputs qlinear_matmul(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *y = n.input(3);
  n.need_rank(x, 1, INT64_MAX, "a");
  n.need_rank(y, 1, INT64_MAX, "b");
  const auto zero = [&](int i, Value* v, bool left) {
    return matrix_scale(n, n.input(i), v->type.shape, left, left ? "a_zero_point" : "b_zero_point");
  };
  Value* zx = zero(2, x, true);
  Value* zy = zero(5, y, false);
  Value *p, *sx = b.convert(n.input(1), DType::F32), *sy = b.convert(n.input(4), DType::F32);
  if (is_float(x->type.dtype) || is_float(y->type.dtype)) {
    p = matmul(n, centered(b, x, zx), centered(b, y, zy));
  } else {
    p = b.convert(matmul(n, centered_i32(b, x, zx), centered_i32(b, y, zy)), DType::F32);
  }
  // Scales per row of a, per column of b; broadcast over the product.
  const Shape& out = p->type.shape;
  Value *szy = b.convert(n.input(6), DType::F32), *zz = n.input(7);
  Value* scale = nullptr;
  const auto one = [](Value* v) {
    return v->type.is_static() && v->type.num_elements().value() == 1;
  };
  if (one(sx) && one(sy) && one(szy)) {
    const auto flat = [&](Value* v) { return b.reshape(v, {}); };
    scale = b.full(div(b, mul(b, flat(sx), flat(sy)), flat(szy)), out);
  } else {
    scale = mul(b, matrix_scale(n, sx, out, true, "a_scale"),
                matrix_scale(n, sy, out, false, "b_scale"));
    scale = div(b, scale, matrix_scale(n, szy, out, true, "y_scale"));
  }
  return {round_to(b, mul(b, p, scale), matrix_scale(n, zz, out, true, "y_zero_point"),
                   zz->type.dtype)};
}

// The i32 convolution of x - zx by w - zw; zw per output channel or one.
Value* integer_convolution(NodeContext& n, Value* x, Value* w, Value* zx, Value* zw) {
  GraphBuilder& b = n.b;
  n.need_rank(x, 3, 16, "x");
  n.need_rank(w, x->type.rank(), x->type.rank(), "w");
  std::vector<int64_t> kernel;
  for (int64_t i = 2; i < x->type.rank(); ++i) {
    kernel.push_back(n.static_dim(w, i, "the kernel's shape"));
  }
  const Window win =
      read_window(n, Shape(x->type.shape.begin() + 2, x->type.shape.end()), kernel, true, false);
  const int64_t group = n.attr_i("group", 1);
  if (group < 1) n.invalid(fmt::format("group is {}", group));
  n.require_equal(w->type.shape[1] * Dim(group), x->type.shape[1],
                  "channels of w times group and x");
  n.require_equal(mod(w->type.shape[0], Dim(group)), Dim(0), "output channels modulo group");
  if (zx) zx = b.full(one_number(n, zx, "x_zero_point"), x->type.shape);
  if (zw) zw = spread_scale(n, zw, w->type.shape, 0, 0, "w_zero_point");
  return convolution(b, centered_i32(b, x, zx), centered_i32(b, w, zw), win, group);
}

Outputs conv_integer(NodeContext& n) {
  return {integer_convolution(n, n.input(0), n.input(1), n.opt(2), n.opt(3))};
}

Outputs qlinear_conv(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *w = n.input(3), *zy = n.input(7);
  if (n.domain() == "com.microsoft" && n.attr_flag("channels_last")) {
    n.fail("channels_last=1 is not supported");
  }
  Value* p = integer_convolution(n, x, w, n.input(2), n.input(5));
  if (Value* bias = n.opt(8)) {
    n.need_rank(bias, 1, 1, "B");
    n.require_equal(bias->type.shape[0], p->type.shape[1], "sizes of B and output channels");
    p = add(b, p, b.broadcast_in_dim(b.convert(bias, DType::I32), p->type.shape, {1}));
  }
  Value* sx = one_number(n, n.input(1), "x_scale");
  Value* sy = one_number(n, n.input(6), "y_scale");
  Value* sw = n.input(4);
  Value* scale;
  if (sw->type.is_static() && sw->type.num_elements().value() == 1) {
    scale = b.full(div(b, mul(b, sx, b.reshape(sw, {})), sy), p->type.shape);
  } else {
    n.need_rank(sw, 1, 1, "w_scale");
    n.require_equal(sw->type.shape[0], w->type.shape[0], "sizes of w_scale and output channels");
    Value* s = div(b, mul(b, b.full(sx, sw->type.shape), sw), b.full(sy, sw->type.shape));
    scale = b.broadcast_in_dim(s, p->type.shape, {1});
  }
  Value* v = mul(b, b.convert(p, DType::F32), scale);
  return {round_to(b, v, b.full(one_number(n, zy, "y_zero_point"), p->type.shape), zy->type.dtype)};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "MatMulInteger") return matmul_integer(n);
  if (op == "ConvInteger") return conv_integer(n);
  if (op == "QLinearConv") return qlinear_conv(n);
  return qlinear_matmul(n);
}

}  // namespace

extern const OnnxOp onnx_integer_products;
const OnnxOp onnx_integer_products = {
    .names = {{"MatMulInteger", {10}},
              {"ConvInteger", {10}},
              {"QLinearMatMul", {10, 21}},
              {"QLinearConv", {10}}},
    .summary = "Products of quantized tensors; sums in i32, one rounding to even at the end.",
    .convert = convert};

}  // namespace tenfold::onnx
