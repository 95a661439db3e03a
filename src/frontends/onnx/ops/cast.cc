// Cast and CastLike, with saturation to the 8-bit floats and the roundings to powers of two.
#include <fmt/format.h>

#include "array/floats.h"
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

bool is_float8(DType t) {
  switch (t) {
    case DType::F8E3M4:
    case DType::F8E4M3:
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E4M3B11FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
      return true;
    default:
      return false;
  }
}

// The exponent of |x|, rounded as asked, as the code of an E8M0 number.
Value* to_e8m0(NodeContext& n, Value* x, const std::string& mode, bool saturate) {
  GraphBuilder& b = n.b;
  Value* v = b.convert(x, DType::F64);
  Value* bits =
      b.create("stablehlo.bitcast_convert", {v}, {}, {{DType::U64, v->type.shape}})->result();
  const auto number = [&](int64_t k) { return b.full(b.constant_i(DType::U64, k), v->type.shape); };
  Value* exponent = b.binary(Prim::And, b.binary(Prim::ShrL, bits, number(52)), number(0x7ff));
  Value* mantissa = b.binary(Prim::And, bits, number((int64_t{1} << 52) - 1));
  Value* code = add(b, b.convert(exponent, DType::I64), -896);
  if (mode != "down") {
    Value* limit = number(mode == "up" ? 1 : int64_t{1} << 51);
    code = add(b, code, b.convert(b.compare("GE", mantissa, limit), DType::I64));
  }
  Value* low = b.compare("LT", code, like(b, code, 0));
  Value* high = b.compare("GT", code, like(b, code, 254));
  code = b.select(low, like(b, code, saturate ? 0 : 255), code);
  code = b.select(high, like(b, code, saturate ? 254 : 255), code);
  code = b.select(b.unary(Prim::IsNan, v), like(b, code, 255), code);
  return b
      .create("stablehlo.bitcast_convert", {b.convert(code, DType::U8)}, {},
              {{DType::F8E8M0FNU, v->type.shape}})
      ->result();
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  DType to;
  if (n.op_type() == "CastLike") {
    to = n.input(1)->type.dtype;
  } else if (n.opset() < 6) {
    const std::string name = n.attr_s("to");
    static const std::pair<std::string_view, DType> kNames[] = {
        {"FLOAT", DType::F32},  {"DOUBLE", DType::F64}, {"FLOAT16", DType::F16},
        {"INT8", DType::I8},    {"INT16", DType::I16},  {"INT32", DType::I32},
        {"INT64", DType::I64},  {"UINT8", DType::U8},   {"UINT16", DType::U16},
        {"UINT32", DType::U32}, {"UINT64", DType::U64}, {"BOOL", DType::Bool}};
    const DType* found = nullptr;
    for (const auto& [text, t] : kNames) {
      if (text == name) found = &t;
    }
    if (!found) n.fail("onnx-unsupported-type", "cast to '" + name + "'");
    to = *found;
  } else {
    to = n.attr_dtype("to");
  }
  const bool saturate = n.opset() < 19 || n.attr_flag("saturate", true);
  const std::string mode = n.opset() < 24 ? "up" : n.attr_s("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest") {
    n.invalid(fmt::format("round_mode '{}', wanted up, down or nearest", mode));
  }
  const DType from = x->type.dtype;
  if (from == to) return {x};
  if (is_complex(from) != is_complex(to)) {
    n.invalid(fmt::format("no cast from {} to {}", name(from), name(to)));
  }
  if (to == DType::F8E8M0FNU) return {to_e8m0(n, x, mode, saturate)};
  if (is_float8(to)) {
    Value* v = is_float(from) && bit_width(from) >= 32 ? x : b.convert(x, DType::F32);
    if (saturate) {
      const double peak = static_cast<double>(
          decode_small_float(to, static_cast<uint16_t>(format_of(to).max_code())));
      v = max(b, min(b, v, peak), -peak);
    }
    return {b.convert(v, to)};
  }
  // Out-of-range floats keep their low bits in the integers narrower than a byte.
  if (is_float(from) && is_integer(to) && bit_width(to) < 8) x = b.convert(x, DType::I32);
  return {b.convert(x, to)};
}

}  // namespace

extern const OnnxOp onnx_cast;
const OnnxOp onnx_cast = {
    .names = {{"Cast", {1, 6, 9, 13, 19, 21, 23, 24, 25, 28}},
              {"CastLike", {15, 19, 21, 23, 24, 25}}},
    .summary = "Element type conversion; out-of-range floats saturate when cast to integers.",
    .convert = convert,
    .limits = "string tensors"};

}  // namespace tenfold::onnx
