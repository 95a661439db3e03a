// Activation functions of one tensor and attributes.
#include <cmath>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// x where x > 0, else y.
Value* where_positive(B& b, Value* x, Value* positive, Value* other) {
  return b.select(b.compare("GT", x, like(b, x, 0)), positive, other);
}

// log(exp(x) + 1) without overflow.
Value* softplus(B& b, Value* x) {
  Value* tail = b.unary(Prim::Log1p, b.unary(Prim::Exp, b.unary(Prim::Neg, b.unary(Prim::Abs, x))));
  return add(b, max(b, x, 0), tail);
}

Value* hard_sigmoid(B& b, Value* x, double alpha, double beta) {
  return max(b, min(b, add(b, mul(b, x, alpha), beta), 1), 0);
}

Value* gelu(B& b, Value* x, bool tanh) {
  Value* inner;
  if (tanh) {
    Value* cubic = mul(b, mul(b, mul(b, x, x), x), 0.044715);
    inner = b.unary(Prim::Tanh, mul(b, add(b, x, cubic), std::sqrt(2.0 / M_PI)));
  } else {
    inner = b.unary(Prim::Erf, mul(b, x, std::sqrt(0.5)));
  }
  return mul(b, mul(b, x, 0.5), add(b, inner, 1));
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  B& b = n.b;
  if (n.opset() < 6) n.ignore_attr("consumed_inputs");
  Value* x = n.input(0);
  const auto wide_of = [&](auto f) -> Outputs { return {in_wide(b, x, f)}; };

  if (op == "Relu") return {max(b, x, 0)};
  if (op == "Elu") {
    const double a = n.attr_f("alpha", 1.0);
    return wide_of(
        [&](Value* v) { return where_positive(b, v, v, mul(b, b.unary(Prim::Expm1, v), a)); });
  }
  if (op == "Selu") {
    const bool old = n.opset() < 6;
    const double a = n.attr_f("alpha", old ? 1.6732f : 1.67326319217681884765625f);
    const double g = n.attr_f("gamma", old ? 1.0507f : 1.05070102214813232421875f);
    return wide_of([&](Value* v) {
      return mul(b, where_positive(b, v, v, mul(b, b.unary(Prim::Expm1, v), a)), g);
    });
  }
  if (op == "Celu") {
    const double a = n.attr_f("alpha", 1.0);
    return wide_of([&](Value* v) {
      Value* e = mul(b, b.unary(Prim::Expm1, div(b, v, like(b, v, a))), a);
      return add(b, max(b, v, 0), min(b, e, 0));
    });
  }
  if (op == "LeakyRelu") {
    const double a = n.attr_f("alpha", static_cast<double>(0.01f));
    return wide_of(
        [&](Value* v) { return b.select(b.compare("LT", v, like(b, v, 0)), mul(b, v, a), v); });
  }
  if (op == "ThresholdedRelu") {
    const double a = n.attr_f("alpha", 1.0);
    return wide_of(
        [&](Value* v) { return b.select(b.compare("GT", v, like(b, v, a)), v, like(b, v, 0)); });
  }
  if (op == "HardSigmoid") {
    const double alpha = n.attr_f("alpha", static_cast<double>(0.2f));
    const double beta = n.attr_f("beta", 0.5);
    return wide_of([&](Value* v) { return hard_sigmoid(b, v, alpha, beta); });
  }
  if (op == "HardSwish") {
    return wide_of([&](Value* v) { return mul(b, v, hard_sigmoid(b, v, 1.0 / 6, 0.5)); });
  }
  if (op == "Swish") {
    const double a = n.attr_f("alpha", 1.0);
    return wide_of(
        [&](Value* v) { return mul(b, v, b.unary(Prim::Logistic, a == 1 ? v : mul(b, v, a))); });
  }
  if (op == "Mish") {
    return wide_of([&](Value* v) { return mul(b, v, b.unary(Prim::Tanh, softplus(b, v))); });
  }
  if (op == "Gelu") {
    const std::string kind = n.attr_s("approximate", "none");
    if (kind != "none" && kind != "tanh") {
      n.invalid("approximate '" + kind + "', wanted none or tanh");
    }
    return wide_of([&](Value* v) { return gelu(b, v, kind == "tanh"); });
  }
  if (op == "Softplus") return wide_of([&](Value* v) { return softplus(b, v); });
  if (op == "Softsign") {
    return wide_of([&](Value* v) { return div(b, v, add(b, b.unary(Prim::Abs, v), 1)); });
  }
  if (op == "Reciprocal") return {div_from(b, 1, x)};
  n.invalid("no such op");
}

}  // namespace

extern const OnnxOp onnx_activations;
const OnnxOp onnx_activations = {.names = {{"Relu", {1, 6, 13, 14}},
                                           {"Elu", {1, 6, 22}},
                                           {"Selu", {1, 6, 22}},
                                           {"Celu", {12, 28}},
                                           {"LeakyRelu", {1, 6, 16}},
                                           {"ThresholdedRelu", {10, 22}},
                                           {"HardSigmoid", {1, 6, 22}},
                                           {"HardSwish", {14, 22}},
                                           {"Swish", {24}},
                                           {"Mish", {18, 22}},
                                           {"Gelu", {20}},
                                           {"Softplus", {1, 22}},
                                           {"Softsign", {1, 22}},
                                           {"Reciprocal", {1, 6, 13}}},
                                 .summary = "Activation functions; narrow floats compute in f32.",
                                 .convert = convert};

}  // namespace tenfold::onnx
