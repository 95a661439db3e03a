// Binary ops with NumPy broadcasting that are one primitive or nearly so.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

std::optional<Prim> prim_of(std::string_view op) {
  if (op == "Add") return Prim::Add;
  if (op == "Sub") return Prim::Sub;
  if (op == "Mul") return Prim::Mul;
  if (op == "Div") return Prim::Div;
  if (op == "And" || op == "BitwiseAnd") return Prim::And;
  if (op == "Or" || op == "BitwiseOr") return Prim::Or;
  if (op == "Xor" || op == "BitwiseXor") return Prim::Xor;
  if (op == "Equal") return Prim::Eq;
  if (op == "Less") return Prim::Lt;
  if (op == "LessOrEqual") return Prim::Le;
  if (op == "Greater") return Prim::Gt;
  if (op == "GreaterOrEqual") return Prim::Ge;
  return {};
}

// Integers: Python's % (fmod 0) or C's % (fmod 1). Floats: fmod, then with fmod 0 a step into the
// divisor's sign.
Value* modulo(NodeContext& n, Value* x, Value* y) {
  const int64_t fmod = n.attr_i("fmod", 0);
  if (fmod != 0 && fmod != 1) n.invalid(fmt::format("fmod is {}, wanted 0 or 1", fmod));
  const DType t = x->type.dtype;
  if (!is_float(t)) return n.binary(fmod ? Prim::Rem : Prim::FloorMod, x, y);
  if (fmod) return n.binary(Prim::Rem, x, y);
  if (n.opset() < 28) n.invalid("fmod 0 on floats needs opset 28");
  auto v = n.broadcast({x, y});
  GraphBuilder& b = n.b;
  Value *a = b.convert(v[0], wide(t)), *d = b.convert(v[1], wide(t));
  Value* r = b.binary(Prim::Rem, a, d);
  Value* zero = like(b, r, 0);
  // A zero result takes the divisor's sign.
  Value* neg_zero = like(b, r, -0.0);
  Value* d_neg = b.compare("LT", d, zero);
  Value* zero_signed = b.select(d_neg, neg_zero, zero);
  Value* differs = b.binary(Prim::Ne, b.compare("LT", r, zero), d_neg);
  Value* moved = b.select(differs, add(b, r, d), r);
  Value* out = b.select(b.compare("EQ", r, zero), zero_signed, moved);
  return b.convert(out, t);
}

Value* shift(NodeContext& n, Value* x, Value* y) {
  const std::string direction = n.attr_s("direction");
  if (direction == "LEFT") return n.binary(Prim::Shl, x, y);
  if (direction != "RIGHT") n.invalid("direction '" + direction + "', wanted LEFT or RIGHT");
  return n.binary(is_signed(x->type.dtype) ? Prim::ShrA : Prim::ShrL, x, y);
}

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  Value* y = legacy_operand(n, x, n.input(1));
  const std::string& op = n.op_type();
  if (op == "Mod") return {modulo(n, x, y)};
  if (op == "BitShift") return {shift(n, x, y)};
  const auto p = prim_of(op);
  if (!p) n.invalid("no such op");
  return {n.binary(*p, x, y)};
}

}  // namespace

extern const OnnxOp onnx_elementwise_binary;
const OnnxOp onnx_elementwise_binary = {
    .names = {{"Add", {1, 6, 7, 13, 14}},
              {"Sub", {1, 6, 7, 13, 14}},
              {"Mul", {1, 6, 7, 13, 14}},
              {"Div", {1, 6, 7, 13, 14}},
              {"And", {1, 7}},
              {"Or", {1, 7}},
              {"Xor", {1, 7}},
              {"BitwiseAnd", {18}},
              {"BitwiseOr", {18}},
              {"BitwiseXor", {18}},
              {"Equal", {1, 7, 11, 13, 19}},
              {"Less", {1, 7, 9, 13}},
              {"LessOrEqual", {12, 16}},
              {"Greater", {1, 7, 9, 13}},
              {"GreaterOrEqual", {12, 16}},
              {"Mod", {10, 13, 28}},
              {"BitShift", {11, 28}}},
    .summary = "Element by element with broadcasting; integer division cuts towards zero.",
    .convert = convert,
    .limits = "string tensors"};

}  // namespace tenfold::onnx
