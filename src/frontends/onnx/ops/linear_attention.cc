// LinearAttention: a recurrence over tokens whose state is a matrix per head.
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/ops/attention_util.h"

namespace tenfold::onnx {

namespace {

// Element `i` of dimension 0, without that dimension.
Value* element(GraphBuilder& b, Value* x, Value* i) {
  std::vector<Value*> operands = {x, i};
  for (int64_t k = 1; k < x->type.rank(); ++k) operands.push_back(b.constant_i(DType::I64, 0));
  Shape one = x->type.shape;
  one[0] = Dim(1);
  Value* v = b.create("stablehlo.dynamic_slice", operands, {{"slice_sizes", Attr{one}}})->result();
  return b.reshape(v, Shape(one.begin() + 1, one.end()));
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *q = n.input(0), *k = n.input(1), *v = n.input(2);
  Value *past = n.opt(3), *decay = n.opt(4), *beta = n.opt(5);
  const DType t = q->type.dtype, w = DType::F32;
  const int64_t heads = n.attr_i("q_num_heads"), kv = n.attr_i("kv_num_heads");
  n.ignore_attr("chunk_size");  // a hint for the schedule
  const std::string rule = n.attr_s("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") n.invalid("update_rule '" + rule + "'");
  if (heads < 1 || kv < 1 || heads % kv != 0) {
    n.invalid(fmt::format("{} query heads for {} key heads", heads, kv));
  }
  if (gated != (decay != nullptr)) n.invalid("decay goes with the gated rules, and only those");
  if (delta != (beta != nullptr)) n.invalid("beta goes with the delta rules, and only those");
  const int64_t group = heads / kv;
  // [batch, length, heads * size] -> [length, batch, heads, size]
  const auto by_token = [&](Value* x, int64_t parts, std::string_view what) {
    return b.transpose(b.convert(split_heads(n, x, parts, what), w), {2, 0, 1, 3});
  };
  Value* qs = by_token(q, heads, "query");
  Value* ks = by_token(k, kv, "key");
  Value* vs = by_token(v, kv, "value");
  const Dim length = qs->type.shape[0], batch = qs->type.shape[1];
  const Dim dk = ks->type.shape[3], dv = vs->type.shape[3];
  n.require_equal(qs->type.shape[3], dk, "head sizes of query and key");
  const Shape per_key = {length, batch, Dim(kv), dk};
  const Shape per_head = {length, batch, Dim(kv), Dim(1)};
  if (decay) {
    Value* d = by_token(decay, kv, "decay");
    decay = b.unary(Prim::Exp, n.broadcast_to(d, per_key));
  }
  if (beta) {
    n.need_rank(beta, 3, 3, "beta");
    const bool shared = beta->type.shape[2] == Dim(1);
    beta = n.broadcast_to(by_token(beta, shared ? 1 : kv, "beta"), per_head);
  }
  const Shape state = {batch, Dim(kv), dk, dv};
  const DType state_type = past ? past->type.dtype : t;
  if (past) {
    n.need_rank(past, 4, 4, "past_state");
    for (size_t i = 0; i < 4; ++i) {
      n.require_equal(past->type.shape[i], state[i], "shape of past_state");
    }
  }
  Value* start = past ? b.convert(past, w) : b.splat({w, state}, 0);
  const double stated = n.attr_f("scale", 0);
  Value* scale;
  if (stated != 0) {
    scale = b.constant(w, stated);
  } else {
    scale = b.unary(Prim::Rsqrt, b.convert(b.dim_scalar(dk), w));
  }
  Value* count = b.dim_scalar(length);
  const Shape out = {length, batch, Dim(heads), dv};
  const auto step = [&](GraphBuilder& c, const std::vector<Value*>& a) -> std::vector<Value*> {
    Value *i = a[0], *s = a[1], *y = a[2];
    const auto over_dv = [&](Value* x) { return c.broadcast_in_dim(x, state, {0, 1, 2}); };
    const Shape value = {batch, Dim(kv), dv};
    Value *kt = element(c, ks, i), *vt = element(c, vs, i), *qt = element(c, qs, i);
    if (gated) s = mul(c, s, over_dv(element(c, decay, i)));
    if (delta) {
      Value* seen = c.dot_general(kt, s, {0, 1}, {0, 1}, {2}, {2});
      Value* rate = c.reshape(element(c, beta, i), {batch, Dim(kv)});
      vt = mul(c, sub(c, vt, seen), c.broadcast_in_dim(rate, value, {0, 1}));
    }
    s = add(c, s, mul(c, over_dv(kt), c.broadcast_in_dim(vt, state, {0, 1, 3})));
    Value* grouped = c.reshape(qt, {batch, Dim(kv), Dim(group), dk});
    Value* o = c.dot_general(grouped, s, {0, 1}, {0, 1}, {3}, {2});
    o = mul(c, o, c.full(scale, o->type.shape));
    o = c.reshape(o, {Dim(1), batch, Dim(heads), dv});
    Value* zero = c.constant_i(DType::I64, 0);
    y = c.create("stablehlo.dynamic_update_slice", {y, o, i, zero, zero, zero})->result();
    return {add(c, i, 1), s, y};
  };
  const auto r = b.while_(
      {b.constant_i(DType::I64, 0), start, b.splat({w, out}, 0)},
      [&](GraphBuilder& c, const std::vector<Value*>& a) -> std::vector<Value*> {
        return {c.compare("LT", a[0], count)};
      },
      step);
  Value* y = b.reshape(b.transpose(r[2], {1, 0, 2, 3}), {batch, length, Dim(heads) * dv});
  return {b.convert(y, t), b.convert(r[1], state_type)};
}

}  // namespace

extern const OnnxOp onnx_linear_attention;
const OnnxOp onnx_linear_attention = {
    .names = {{"LinearAttention", {27}}},
    .summary = "Linear, gated and delta-rule attention, token by token in f32.",
    .convert = convert};

}  // namespace tenfold::onnx
