// FusedConv, FusedMatMul, FusedGemm, NhwcConv of com.microsoft.
#include <fmt/format.h>

#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// `params` as FusedConv's activation_params or FusedGemm's activation_alpha, _beta.
Value* activate(NodeContext& n, Value* x, const std::string& kind,
                const std::vector<double>& params) {
  B& b = n.b;
  const auto need = [&](size_t k) {
    if (params.size() < k) n.invalid(fmt::format("activation {} needs {} parameters", kind, k));
  };
  if (kind.empty()) return x;
  if (kind == "Relu") return max(b, x, 0);
  if (kind == "Tanh") return b.unary(Prim::Tanh, x);
  if (kind == "Sigmoid") return b.unary(Prim::Logistic, x);
  if (kind == "LeakyRelu") {
    need(1);
    return b.select(b.compare("LT", x, like(b, x, 0)), mul(b, x, params[0]), x);
  }
  if (kind == "Clip") {
    need(2);
    return min(b, max(b, x, params[0]), params[1]);
  }
  if (kind == "HardSigmoid") {
    need(2);
    return max(b, min(b, add(b, mul(b, x, params[0]), params[1]), 1), 0);
  }
  n.fail(fmt::format("activation '{}' is not known", kind));
}

Outputs conv(NodeContext& n) {
  B& b = n.b;
  const bool nhwc = n.op_type() == "NhwcConv" || n.op_type() == "NhwcFusedConv";
  const bool fused = n.op_type() != "NhwcConv";
  Value *x = n.input(0), *w = n.input(1), *bias = n.opt(2), *z = fused ? n.opt(3) : nullptr;
  n.need_rank(x, 3, 16, "X");
  const int64_t rank = x->type.rank();
  n.need_rank(w, rank, rank, "W");
  std::vector<int64_t> back = {0};
  if (nhwc) {
    std::vector<int64_t> p = {0, rank - 1};
    for (int64_t i = 1; i + 1 < rank; ++i) p.push_back(i);
    x = b.transpose(x, p);
    if (z) z = b.transpose(z, p);
    back = inverse(p);
  }
  const DType t = x->type.dtype, c = wide(t);
  std::vector<int64_t> kernel;
  for (int64_t i = 2; i < rank; ++i) kernel.push_back(n.static_dim(w, i, "the kernel's shape"));
  const Window win =
      read_window(n, Shape(x->type.shape.begin() + 2, x->type.shape.end()), kernel, true, false);
  const int64_t group = n.attr_i("group", 1);
  if (group < 1) n.invalid(fmt::format("group is {}", group));
  n.require_equal(w->type.shape[1] * Dim(group), x->type.shape[1], "channels");
  Value* y = convolution(b, b.convert(x, c), b.convert(w, c), win, group);
  if (bias) {
    n.need_rank(bias, 1, 1, "B");
    n.require_equal(bias->type.shape[0], y->type.shape[1], "sizes of B and output channels");
    y = add(b, y, b.broadcast_in_dim(b.convert(bias, c), y->type.shape, {1}));
  }
  if (z) y = n.binary(Prim::Add, y, b.convert(z, c));
  if (fused) {
    y = activate(n, y, n.attr_s("activation", ""), n.attr_floats("activation_params", {}));
  }
  y = b.convert(y, t);
  return {nhwc ? b.transpose(y, back) : y};
}

// transBatch: the first dimension goes before the last two; trans: the last two swap.
Value* arrange(NodeContext& n, Value* x, bool batch, bool swap) {
  const int64_t rank = x->type.rank();
  std::vector<int64_t> p = iota_list(rank);
  if (batch) {
    n.need_rank(x, 3, 16, "an operand with transBatch");
    // [m, b..., k] -> [b..., m, k]
    for (int64_t i = 0; i < rank - 2; ++i) p[static_cast<size_t>(i)] = i + 1;
    p[static_cast<size_t>(rank - 2)] = 0;
  }
  if (swap && rank >= 2)
    std::swap(p[static_cast<size_t>(rank - 1)], p[static_cast<size_t>(rank - 2)]);
  return n.b.transpose(x, p);
}

Outputs fused_matmul(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *y = n.input(1);
  const DType t = x->type.dtype;
  const bool plain = n.op_type() == "TransposeMatMul";
  const double alpha = n.attr_f("alpha", 1);
  x = arrange(n, x, !plain && n.attr_flag("transBatchA"), n.attr_flag("transA"));
  y = arrange(n, y, !plain && n.attr_flag("transBatchB"), n.attr_flag("transB"));
  Value* r = matmul(n, b.convert(x, wide(t)), b.convert(y, wide(t)));
  if (alpha != 1) r = mul(b, r, alpha);
  if (n.op_type() == "FusedMatMulActivation") {
    const std::string kind = n.attr_s("activation");
    std::vector<double> params;
    for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
      if (n.has_attr(name)) params.push_back(n.attr_f(name));
    }
    r = activate(n, r, kind, params);
  }
  return {b.convert(r, t)};
}

Outputs fused_gemm(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *y = n.input(1), *c = n.opt(2);
  n.need_rank(x, 2, 2, "A");
  n.need_rank(y, 2, 2, "B");
  const DType t = x->type.dtype, w = wide(t);
  if (n.attr_flag("transA")) x = b.transpose(x, {1, 0});
  if (n.attr_flag("transB")) y = b.transpose(y, {1, 0});
  const double alpha = n.attr_f("alpha", 1), beta = n.attr_f("beta", 1);
  Value* r = matmul(n, b.convert(x, w), b.convert(y, w));
  if (alpha != 1) r = mul(b, r, alpha);
  if (c) {
    c = b.convert(c, w);
    if (beta != 1) c = mul(b, c, beta);
    r = add(b, r, n.broadcast_to(c, r->type.shape));
  }
  const std::string kind = n.attr_s("activation", "");
  std::vector<double> params;
  const bool leaky = kind == "LeakyRelu";
  params.push_back(n.attr_f("activation_alpha", static_cast<double>(leaky ? 0.01f : 0.2f)));
  params.push_back(n.attr_f("activation_beta", 0.5));
  n.ignore_attr("activation_gamma");  // no activation here has a third parameter
  if (kind == "Clip") n.fail("activation 'Clip' is not known");
  return {b.convert(activate(n, r, kind, params), t)};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "FusedGemm") return fused_gemm(n);
  if (op.find("Conv") != std::string::npos) return conv(n);
  return fused_matmul(n);
}

}  // namespace

extern const OnnxOp onnx_ms_fused;
const OnnxOp onnx_ms_fused = {.names = {{"FusedConv", {1}},
                                        {"NhwcConv", {1}},
                                        {"NhwcFusedConv", {1}},
                                        {"FusedMatMul", {1}},
                                        {"TransposeMatMul", {1}},
                                        {"FusedMatMulActivation", {1}},
                                        {"FusedGemm", {1}}},
                              .domain = "com.microsoft",
                              .summary = "Products with an activation after them.",
                              .convert = convert};

}  // namespace tenfold::onnx
