// Pow: the result has the base's type, whatever the exponent's is.
#include <algorithm>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  Value* y = legacy_operand(n, x, n.input(1));
  const DType t = x->type.dtype, e = y->type.dtype;
  const auto power_in = [&](DType in) -> Outputs {
    return {b.convert(n.binary(Prim::Pow, b.convert(x, in), b.convert(y, in)), t)};
  };
  if (t == e) return {n.binary(Prim::Pow, x, y)};
  if (is_float(t) && is_integer(e)) {
    // f32 holds integers up to 2^24 exactly; larger exponents need their parity.
    bool small = bit_width(e) <= 16;
    if (auto c = small ? std::nullopt : n.const_ints(y)) {
      small = std::all_of(c->begin(), c->end(),
                          [](int64_t v) { return v > -(1 << 24) && v < (1 << 24); });
    }
    return power_in(small ? wide(t) : DType::F64);
  }
  if (is_float(t)) return power_in(bit_width(wide(e)) > bit_width(wide(t)) ? wide(e) : wide(t));
  if (is_float(e)) return power_in(DType::F64);
  return power_in(is_unsigned(t) && bit_width(t) == 64 ? DType::U64 : DType::I64);
}

}  // namespace

extern const OnnxOp onnx_pow;
const OnnxOp onnx_pow = {.names = {{"Pow", {1, 7, 12, 13, 15}}},
                         .summary = "base ^ exponent with broadcasting.",
                         .convert = convert};

}  // namespace tenfold::onnx
