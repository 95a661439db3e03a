// QuantizeLinear and DequantizeLinear, of ai.onnx and com.microsoft: a number per tensor, per index
// of an axis, or per block.
#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

int64_t block_of(NodeContext& n, Value* x, int64_t& axis) {
  const bool ms = !n.domain().empty();
  axis = n.opset() < 13 && !ms ? 1 : n.attr_i("axis", 1);
  if (x->type.rank() == 1 && axis == 1) axis = 0;
  return ms || n.opset() >= 21 ? n.attr_i("block_size", 0) : 0;
}

void check_zero(NodeContext& n, Value* scale, Value* zero, std::string_view name) {
  if (zero && zero->type.rank() != scale->type.rank()) {
    const auto one = [](Value* v) {
      return v->type.is_static() && v->type.num_elements().value() == 1;
    };
    if (!one(zero) || !one(scale)) {
      n.invalid(fmt::format("{} is {}, the scale is {}; they must have one shape", name,
                            zero->type.str(), scale->type.str()));
    }
  }
}

Outputs quantize(NodeContext& n) {
  GraphBuilder& b = n.b;
  const bool ms = !n.domain().empty();
  Value *x = n.input(0), *scale = n.input(1), *zero = n.opt(2);
  int64_t axis = 1;
  const int64_t block = block_of(n, x, axis);
  DType to = zero ? zero->type.dtype : DType::U8;
  if (ms || n.opset() >= 21) {
    const int64_t stated = n.attr_i("output_dtype", 0);
    if (stated != 0) {
      const DType t = n.attr_dtype("output_dtype");
      if (zero && t != to) n.invalid("output_dtype and the zero point's type differ");
      to = t;
    }
  }
  const bool saturate = ms || n.opset() < 19 || n.attr_flag("saturate", true);
  if (ms) n.ignore_attr("saturate");
  if (!is_integer(to) && !is_float8(to) && !(is_float(to) && bit_width(to) < 8)) {
    n.fail("onnx-unsupported-type", fmt::format("quantization to {}", name(to)));
  }
  check_zero(n, scale, zero, "y_zero_point");
  // The division's type.
  DType p = scale->type.dtype;
  if (is_integer(p)) p = DType::F64;
  if (p == DType::F8E8M0FNU) p = wide(is_float(x->type.dtype) ? x->type.dtype : DType::F32);
  if (n.opset() >= 23 && !ms && n.attr_i("precision", 0) != 0) p = n.attr_dtype("precision");
  if (!is_float(p)) n.invalid("precision must be a float type");
  Value* s = spread_scale(n, b.convert(scale, p), x->type.shape, axis, block, "y_scale");
  Value* z = zero ? spread_scale(n, zero, x->type.shape, axis, block, "y_zero_point") : nullptr;
  return {round_to(b, div(b, b.convert(x, p), s), z, to, saturate)};
}

Outputs dequantize(NodeContext& n) {
  GraphBuilder& b = n.b;
  const bool ms = !n.domain().empty();
  Value *x = n.input(0), *scale = n.input(1), *zero = n.opt(2);
  int64_t axis = 1;
  const int64_t block = block_of(n, x, axis);
  DType to = scale->type.dtype;
  if (!ms && n.opset() >= 23 && n.attr_i("output_dtype", 0) != 0) {
    to = n.attr_dtype("output_dtype");
  }
  if (!is_float(to) || bit_width(to) < 16) {
    n.invalid(fmt::format("the result would be {}; give output_dtype", name(to)));
  }
  if (zero && zero->type.dtype != x->type.dtype) n.invalid("x and x_zero_point differ in type");
  check_zero(n, scale, zero, "x_zero_point");
  const DType w = wide(to);
  Value* s = spread_scale(n, b.convert(scale, w), x->type.shape, axis, block, "x_scale");
  Value* z = zero ? spread_scale(n, zero, x->type.shape, axis, block, "x_zero_point") : nullptr;
  Value* v = mul(b, b.convert(centered(b, x, z), w), s);
  return {b.convert(v, to)};
}

Outputs convert(NodeContext& n) {
  return n.op_type() == "QuantizeLinear" ? quantize(n) : dequantize(n);
}

}  // namespace

extern const OnnxOp onnx_quantize_linear;
const OnnxOp onnx_quantize_linear = {
    .names = {{"QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}},
              {"DequantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}}},
    .summary =
        "saturate(round(x / scale) + zero_point), rounding to even, and back; a scale per "
        "tensor, axis or block.",
    .convert = convert};

}  // namespace tenfold::onnx
