// Activations of com.microsoft, with the bias that goes before them.
#include <cmath>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Value* erf_gelu(B& b, Value* x) {
  Value* e = add(b, b.unary(Prim::Erf, mul(b, x, std::sqrt(0.5))), 1);
  return mul(b, mul(b, x, 0.5), e);
}

Value* tanh_gelu(B& b, Value* x) {
  Value* cubic = mul(b, mul(b, mul(b, x, x), x), 0.044715);
  Value* t = b.unary(Prim::Tanh, mul(b, add(b, x, cubic), std::sqrt(2.0 / M_PI)));
  return mul(b, mul(b, x, 0.5), add(b, t, 1));
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  const std::string& op = n.op_type();
  Value* in = n.input(0);
  const DType t = in->type.dtype;
  Value* x = b.convert(in, wide(t));
  if (op != "Gelu" && op != "QuickGelu") {
    if (Value* bias = op == "FastGelu" ? n.opt(1) : n.input(1)) {
      x = n.binary(Prim::Add, x, b.convert(bias, wide(t)));
    }
  }
  Value* y;
  if (op == "Gelu" || op == "BiasGelu") {
    y = erf_gelu(b, x);
  } else if (op == "FastGelu") {
    y = tanh_gelu(b, x);
  } else if (op == "BiasAdd") {
    y = n.binary(Prim::Add, x, b.convert(n.input(2), wide(t)));
  } else if (op == "BiasSplitGelu") {
    n.need_rank(x, 1, 16, "X");
    Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
    const Dim half = floordiv(limit.back(), Dim(2));
    n.require_equal(half * Dim(2), limit.back(), "twice half the last dimension");
    const std::vector<int64_t> one(start.size(), 1);
    Shape middle = limit, from = start;
    middle.back() = from.back() = half;
    y = mul(b, b.slice(x, start, middle, one), erf_gelu(b, b.slice(x, from, limit, one)));
  } else {
    const double alpha = n.attr_f("alpha", static_cast<double>(1.702f));
    y = mul(b, x, b.unary(Prim::Logistic, mul(b, x, alpha)));
  }
  return {b.convert(y, t)};
}

}  // namespace

extern const OnnxOp onnx_ms_activations;
const OnnxOp onnx_ms_activations = {.names = {{"Gelu", {1}},
                                              {"FastGelu", {1}},
                                              {"QuickGelu", {1}},
                                              {"BiasGelu", {1}},
                                              {"BiasAdd", {1}},
                                              {"BiasSplitGelu", {1}}},
                                    .domain = "com.microsoft",
                                    .summary = "Activations after a bias.",
                                    .convert = convert};

}  // namespace tenfold::onnx
