// MoE and QMoE: each token goes through the k feed-forward networks (experts) that its router
// scores choose, and takes their sum weighted by the softmax of the scores.
//
// All experts are computed for all tokens, and those not chosen weigh nothing: the shapes are
// fixed.
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

struct Layer {
  Value* weight = nullptr;  // [experts, outputs, inputs], wide
  Value* bias = nullptr;    // [experts, outputs] or null
};

// x[tokens, (experts,) inputs] through a layer: [experts, tokens, outputs].
Value* apply(NodeContext& n, Value* x, const Layer& l) {
  B& b = n.b;
  Value* y = x->type.rank() == 2
                 ? b.transpose(b.dot_general(x, l.weight, {}, {}, {1}, {2}), {1, 0, 2})
                 : b.dot_general(x, l.weight, {0}, {0}, {2}, {2});
  if (l.bias) y = add(b, y, b.broadcast_in_dim(l.bias, y->type.shape, {0, 2}));
  return y;
}

// Every `step`th element of the last dimension from `from` on, `count` of them.
Value* pick(B& b, Value* x, int64_t from, int64_t count, int64_t step) {
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  std::vector<int64_t> stride(start.size(), 1);
  start.back() = Dim(from);
  limit.back() = Dim(from + (count - 1) * step + 1);
  stride.back() = step;
  return b.slice(x, start, limit, stride);
}

Value* sigmoid_gate(B& b, Value* x, double alpha) {
  return mul(b, x, b.unary(Prim::Logistic, alpha == 1 ? x : mul(b, x, alpha)));
}

// [tokens, experts]: the weight of each expert for each token, 0 where it is not chosen.
Value* routing(NodeContext& n, Value* scores, Value* weights) {
  B& b = n.b;
  const int64_t k = n.attr_i("k", 1), experts = n.static_dim(scores, 1, "experts");
  if (k < 1 || k > experts) n.invalid(fmt::format("k is {}, of {} experts", k, experts));
  if (n.attr_flag("use_sparse_mixer")) n.fail("use_sparse_mixer is not supported");
  Value* chosen = b.create("tenfold.top_k", {scores},
                           {{"k", Attr{std::vector<Dim>{Dim(k)}}},
                            {"axis", Attr{int64_t{1}}},
                            {"largest", Attr{true}},
                            {"index_type", Attr{DType::I64}}})
                      ->result(1);
  const Shape all = {scores->type.shape[0], Dim(k), Dim(experts)};
  Value* hit = b.reduce(
      Prim::Or,
      b.compare("EQ", b.broadcast_in_dim(chosen, all, {0, 1}), b.iota({DType::I64, all}, 2)), {1});
  Value* w = weights;
  if (!w) {
    Value* top = b.reduce(Prim::Max, scores, {1}, true);
    Value* e = b.unary(Prim::Exp, n.binary(Prim::Sub, scores, top));
    w = n.binary(Prim::Div, e, b.reduce(Prim::Add, e, {1}, true));
  }
  w = b.select(hit, w, b.splat(w->type, 0));
  if (n.attr_flag("normalize_routing_weights"))
    w = n.binary(Prim::Div, w, b.reduce(Prim::Add, w, {1}, true));
  return w;
}

struct Experts {
  Layer fc1, fc2, fc3;
};

// The activation, on [experts, tokens, values]; `more` makes the second operand where it is apart.
Value* activate(NodeContext& n, Value* x, Value* more) {
  B& b = n.b;
  const std::string kind = n.attr_s("activation_type", "relu");
  if (kind != "swiglu" && more) n.fail("fc3 is supported with swiglu only");
  const double alpha = n.attr_f("activation_alpha", 1), beta = n.attr_f("activation_beta", 0);
  const bool limited = n.has_attr("swiglu_limit");
  const double limit = n.attr_f("swiglu_limit", 0);
  if (n.attr_flag("swiglu_limit_after_activation")) {
    n.fail("swiglu_limit_after_activation is not supported");
  }
  const int64_t fused = n.attr_i("swiglu_fusion", 0);
  if (kind == "relu") return max(b, x, 0);
  if (kind == "identity") return x;
  if (kind == "silu") return sigmoid_gate(b, x, 1);
  if (kind == "gelu") {  // by tanh, as onnxruntime's
    Value* cubic = mul(b, mul(b, square(b, x), x), 0.044715);
    Value* t = b.unary(Prim::Tanh, mul(b, add(b, x, cubic), std::sqrt(2.0 / M_PI)));
    return mul(b, mul(b, x, 0.5), add(b, t, 1));
  }
  if (kind != "swiglu") n.fail("activation_type " + kind + " is not supported");
  if (fused < 0 || fused > 2) n.invalid(fmt::format("swiglu_fusion is {}", fused));
  if ((fused == 0) != (more != nullptr)) {
    n.invalid(fmt::format("swiglu_fusion is {}, and fc3 is {}", fused, more ? "there" : "absent"));
  }
  Value *gate = x, *linear = more;
  if (fused) {
    const int64_t twice = n.static_dim(x, 2, "rows of fc1"), count = twice / 2;
    if (twice % 2) n.invalid("fc1 has an odd number of rows");
    gate = pick(b, x, 0, count, fused == 1 ? 2 : 1);
    linear = pick(b, x, fused == 1 ? 1 : count, count, fused == 1 ? 2 : 1);
  }
  if (limited) {
    gate = min(b, gate, limit);
    linear = max(b, min(b, linear, limit), -limit);
  }
  return mul(b, sigmoid_gate(b, gate, alpha), beta == 0 ? linear : add(b, linear, beta));
}

Value* mixture(NodeContext& n, Value* x, Value* scores, Value* weights, const Experts& e) {
  B& b = n.b;
  const DType w = wide(x->type.dtype);
  n.need_rank(x, 2, 3, "input");
  n.need_rank(scores, 2, 2, "router_probs");
  const Dim inputs = x->type.shape.back();
  n.require_equal(inputs, e.fc1.weight->type.shape[2], "hidden size of input and fc1");
  n.require_equal(scores->type.shape[1], e.fc1.weight->type.shape[0], "number of experts");
  n.require_equal(product_of(x->type.shape, 0, x->type.shape.size() - 1), scores->type.shape[0],
                  "number of tokens");
  Value* tokens = b.convert(b.reshape(x, {scores->type.shape[0], inputs}), w);
  Value* more = e.fc3.weight ? apply(n, tokens, e.fc3) : nullptr;
  Value* hidden = activate(n, apply(n, tokens, e.fc1), more);
  n.require_equal(hidden->type.shape[2], e.fc2.weight->type.shape[2], "rows of fc1, and of fc2");
  Value* out = apply(n, hidden, e.fc2);
  Value* share = routing(n, b.convert(scores, w), weights ? b.convert(weights, w) : nullptr);
  out = mul(b, out, b.broadcast_in_dim(b.transpose(share, {1, 0}), out->type.shape, {0, 1}));
  out = b.reduce(Prim::Add, out, {0});
  return b.convert(b.reshape(out, x->type.shape), x->type.dtype);
}

Layer plain(NodeContext& n, int weight, int bias) {
  Layer l;
  Value* v = n.input(weight);
  n.need_rank(v, 3, 3, "experts' weights");
  l.weight = n.b.convert(v, wide(v->type.dtype));
  if (Value* c = n.opt(bias)) l.bias = n.b.convert(c, wide(c->type.dtype));
  return l;
}

Layer quantized(NodeContext& n, int first, int zero_point, DType w) {
  B& b = n.b;
  const std::string name = fmt::format("fc{}", (first + 1) / 3);
  const int64_t bits = n.attr_i(name + "_expert_weight_bits", n.attr_i("expert_weight_bits", 4));
  const int64_t block = n.attr_i("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8) n.fail(fmt::format("{} bits", bits));
  Value *packed = n.input(first), *scales = n.input(first + 1), *zeros = n.opt(zero_point);
  if (packed->type.dtype != DType::U8) n.fail("onnx-unsupported-type", packed->type.str());
  n.need_rank(packed, 3, 3, name);
  Value* q = unpack_bits(b, packed, bits);
  const Shape full = q->type.shape;
  const Dim columns = block ? Dim(n.static_dim(q, 2, name) / block) : Dim(1);
  const auto grid = [&](Value* v) {
    if (!block && v->type.rank() == 2) v = b.reshape(v, {full[0], full[1], Dim(1)});
    n.need_rank(v, 3, 3, name + "'s scales");
    return block ? spread_scale(n, v, full, 2, block, name)
                 : b.broadcast_in_dim(b.reshape(v, {full[0], full[1]}), full, {0, 1});
  };
  Value* v = b.convert(q, w);
  if (zeros) {
    // Packed along the rows without blocks, along the blocks with them.
    Value* z = b.convert(cut_last(b, unpack_bits(b, zeros, bits), block ? columns : full[1]), w);
    v = sub(b, v, grid(z));
  } else {
    v = add(b, v, -static_cast<double>(int64_t{1} << (bits - 1)));
  }
  Layer l;
  l.weight = mul(b, v, grid(b.convert(scales, w)));
  if (Value* c = n.opt(first + 2)) l.bias = b.convert(c, w);
  return l;
}

Outputs convert(NodeContext& n) {
  Value *x = n.input(0), *scores = n.input(1);
  Experts e;
  if (n.op_type() == "MoE") {
    e.fc1 = plain(n, 2, 3);
    e.fc2 = plain(n, 4, 5);
    if (n.has(6)) e.fc3 = plain(n, 6, 7);
    return {mixture(n, x, scores, nullptr, e)};
  }
  if (n.attr_s("quant_type", "int") != "int") n.fail("quant_type other than int");
  if (n.attr_i("weights_prepacked", 0) > 0) n.fail("weights_prepacked is not supported");
  n.ignore_attr("accuracy_level");  // a bound on how coarse the arithmetic may be
  const DType w = wide(x->type.dtype);
  e.fc1 = quantized(n, 2, 11, w);
  e.fc2 = quantized(n, 5, 12, w);
  if (n.has(8)) e.fc3 = quantized(n, 8, 13, w);
  return {mixture(n, x, scores, n.opt(14), e)};
}

}  // namespace

extern const OnnxOp onnx_ms_moe;
const OnnxOp onnx_ms_moe = {
    .names = {{"MoE", {1}}, {"QMoE", {1}}},
    .domain = "com.microsoft",
    .summary = "Mixtures of experts.",
    .convert = convert,
    .limits = "use_sparse_mixer, relu2 and geglu, prepacked and float-quantized weights, 3 bits"};

}  // namespace tenfold::onnx
