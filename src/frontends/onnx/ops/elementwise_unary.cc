// Unary ops that are one primitive.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

struct Row {
  std::string_view name;
  Prim prim;
};
constexpr Row kRows[] = {
    {"Abs", Prim::Abs},        {"Neg", Prim::Neg},         {"Floor", Prim::Floor},
    {"Ceil", Prim::Ceil},      {"Round", Prim::RoundEven}, {"Sqrt", Prim::Sqrt},
    {"Exp", Prim::Exp},        {"Log", Prim::Log},         {"Sigmoid", Prim::Logistic},
    {"Sin", Prim::Sin},        {"Cos", Prim::Cos},         {"Tan", Prim::Tan},
    {"Asin", Prim::Asin},      {"Acos", Prim::Acos},       {"Atan", Prim::Atan},
    {"Sinh", Prim::Sinh},      {"Cosh", Prim::Cosh},       {"Tanh", Prim::Tanh},
    {"Asinh", Prim::Asinh},    {"Acosh", Prim::Acosh},     {"Atanh", Prim::Atanh},
    {"Erf", Prim::Erf},        {"Sign", Prim::Sign},       {"Not", Prim::Not},
    {"BitwiseNot", Prim::Not}, {"IsNaN", Prim::IsNan},
};

Outputs convert(NodeContext& n) {
  if (n.opset() < 6) n.ignore_attr("consumed_inputs");
  Value* x = n.input(0);
  const DType t = x->type.dtype;
  for (const Row& r : kRows) {
    if (r.name != n.op_type()) continue;
    if (is_unsigned(t)) {
      if (r.prim == Prim::Abs) return {x};
      if (r.prim == Prim::Sign) return {min(n.b, x, 1)};
    }
    if (is_integer(t) &&
        (r.prim == Prim::Floor || r.prim == Prim::Ceil || r.prim == Prim::RoundEven)) {
      n.invalid(fmt::format("takes floats, found {}", x->type.str()));
    }
    if (is_integer(t) && r.prim == Prim::Erf) {
      return {n.b.convert(n.b.unary(Prim::Erf, n.b.convert(x, DType::F64)), t)};
    }
    return {n.b.unary(r.prim, x)};
  }
  n.invalid("no such op");
}

}  // namespace

extern const OnnxOp onnx_elementwise_unary;
const OnnxOp onnx_elementwise_unary = {
    .names = {{"Abs", {1, 6, 13}},  {"Neg", {1, 6, 13}},   {"Floor", {1, 6, 13}},
              {"Ceil", {1, 6, 13}}, {"Round", {11, 22}},   {"Sqrt", {1, 6, 13}},
              {"Exp", {1, 6, 13}},  {"Log", {1, 6, 13}},   {"Sigmoid", {1, 6, 13}},
              {"Sin", {7, 22}},     {"Cos", {7, 22}},      {"Tan", {7, 22}},
              {"Asin", {7, 22}},    {"Acos", {7, 22}},     {"Atan", {7, 22}},
              {"Sinh", {9, 22}},    {"Cosh", {9, 22}},     {"Tanh", {1, 6, 13}},
              {"Asinh", {9, 22}},   {"Acosh", {9, 22}},    {"Atanh", {9, 22}},
              {"Erf", {9, 13}},     {"Sign", {9, 13}},     {"Not", {1}},
              {"BitwiseNot", {18}}, {"IsNaN", {9, 13, 20}}},
    .summary = "One primitive on every element.",
    .convert = convert};

}  // namespace tenfold::onnx
