// SkipLayerNormalization and its kin, EmbedLayerNormalization, GroupNorm of com.microsoft.
#include <fmt/format.h>

#include "frontends/onnx/ops/ms_norm_util.h"
#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Outputs simplified(NodeContext& n) {
  Value* x = n.input(0);
  const int64_t axis = n.axis(n.attr_i("axis", -1), x->type.rank());
  const int64_t stash = n.attr_i("stash_type", 1);
  if (stash != 1 && !(stash == 11 && x->type.dtype == DType::F64)) {
    n.fail(fmt::format("stash_type {}; 1 (float) is supported", stash));
  }
  const auto r = layer_normalize(n, x, n.input(1), nullptr,
                                 n.attr_f("epsilon", static_cast<double>(1e-5f)), axis, false);
  return {r.y, r.inv_std};
}

Outputs skip(NodeContext& n, bool centre) {
  B& b = n.b;
  Value *x = n.input(0), *skip = n.input(1), *gamma = n.input(2);
  Value* beta = centre ? n.opt(3) : nullptr;
  Value* bias = n.opt(centre ? 4 : 3);
  n.need_rank(x, 2, 3, "input");
  const DType t = x->type.dtype, w = wide(t);
  Value* sum = add(b, b.convert(x, w), n.broadcast_to(b.convert(skip, w), x->type.shape));
  if (bias) {
    n.need_rank(bias, 1, 1, "bias");
    sum = add(b, sum, n.broadcast_to(b.convert(bias, w), x->type.shape));
  }
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-12f));
  const auto r = layer_normalize(n, sum, gamma, beta, epsilon, x->type.rank() - 1, centre);
  return {b.convert(r.y, t), r.mean ? Val(r.mean) : Val(), r.inv_std, b.convert(sum, t)};
}

// QEmbedLayerNormalization's tables and factors are 8-bit integers, with scales from input 8 on and
// zero points from input 13 on, each for one of inputs 2 to 6.
Outputs embed(NodeContext& n, bool quantized) {
  B& b = n.b;
  Value *ids = n.input(0), *segments = n.opt(1), *words = n.input(2), *places = n.input(3);
  Value *segment_table = n.opt(4), *gamma = n.input(5), *beta = n.input(6), *mask = n.opt(7);
  Value* position = quantized ? nullptr : n.opt(8);
  n.need_rank(ids, 2, 2, "input_ids");
  n.need_rank(words, 2, 2, "word_embedding");
  n.need_rank(places, 2, 2, "position_embedding");
  n.ignore_attr("mask_index_type");  // only for the type of the second output
  const DType t = quantized ? n.input(8)->type.dtype : words->type.dtype, w = wide(t);
  const Shape ids_shape = ids->type.shape;
  const auto number = [&](Value* v, int slot) {
    if (!quantized) return b.convert(v, w);
    const auto spread = [&](int from) {
      Value* one = one_number(n, n.input(from + slot - 2), "a scale or zero point");
      return b.full(b.convert(one, w), v->type.shape);
    };
    return mul(b, sub(b, b.convert(v, w), spread(13)), spread(8));
  };
  const auto look = [&](Value* table, Value* at, int slot) {
    return number(take(b, table, wrap_indices(b, at, table->type.shape[0]), 0), slot);
  };
  if (quantized) {
    gamma = b.convert(number(gamma, 5), t);
    beta = b.convert(number(beta, 6), t);
  }
  Value* sum = look(words, ids, 2);
  if (position) {
    n.need_rank(position, 2, 2, "position_ids");
    position = n.broadcast_to(position, ids_shape);
  } else {
    position = b.iota({DType::I64, ids_shape}, 1);
  }
  sum = add(b, sum, look(places, position, 3));
  if (!segment_table != !segments) n.invalid("segment_ids and segment_embedding go together");
  if (segments) sum = add(b, sum, look(segment_table, segments, 4));
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-12f));
  const auto r = layer_normalize(n, sum, gamma, beta, epsilon, 2, true);
  Value* count = b.splat({DType::I32, {ids_shape[0]}}, 0);
  if (mask) count = b.convert(b.reduce(Prim::Add, b.convert(mask, DType::I32), {1}), DType::I32);
  return {b.convert(r.y, t), count, b.convert(sum, t)};
}

Outputs group_norm(NodeContext& n) {
  B& b = n.b;
  const bool skip = n.op_type() == "SkipGroupNorm";
  Value *x = n.input(0), *gamma = n.input(1), *beta = n.input(2);
  n.need_rank(x, 4, 4, "X");
  const bool last = n.attr_flag("channels_last", true);
  const int64_t groups = n.attr_i("groups"), activation = n.attr_i("activation");
  if (activation != 0 && activation != 1) n.invalid(fmt::format("activation {}", activation));
  const double epsilon = n.attr_f("epsilon", static_cast<double>(1e-5f));
  const DType t = x->type.dtype, w = wide(t);
  Value* v = b.convert(x, w);
  if (skip) {
    Value* s = n.input(3);
    if (s->type.rank() == 2) {
      s = b.reshape(s, {s->type.shape[0], Dim(1), Dim(1), s->type.shape[1]});
    }
    v = add(b, v, n.broadcast_to(b.convert(s, w), x->type.shape));
    if (Value* bias = n.opt(4)) v = add(b, v, n.broadcast_to(b.convert(bias, w), x->type.shape));
  }
  Value* sum = v;
  if (last) v = b.transpose(v, {0, 3, 1, 2});
  const Shape s = v->type.shape;
  if (groups < 1) n.invalid(fmt::format("groups is {}", groups));
  n.require_equal(mod(s[1], Dim(groups)), Dim(0), "channels modulo groups");
  const Shape split = {s[0], Dim(groups), floordiv(s[1], Dim(groups)), s[2], s[3]};
  v = b.reshape(v, split);
  v = sub(b, v, n.broadcast_to(mean(b, v, {2, 3, 4}, true), split));
  Value* var = mean(b, square(b, v), {2, 3, 4}, true);
  v = mul(b, v, n.broadcast_to(b.unary(Prim::Rsqrt, add(b, var, epsilon)), split));
  v = b.reshape(v, s);
  v = mul(b, v, b.broadcast_in_dim(b.convert(gamma, w), s, {1}));
  v = add(b, v, b.broadcast_in_dim(b.convert(beta, w), s, {1}));
  if (activation == 1) v = mul(b, v, b.unary(Prim::Logistic, v));
  if (last) v = b.transpose(v, {0, 2, 3, 1});
  Outputs out = {b.convert(v, t)};
  if (skip) out.push_back(b.convert(sum, t));
  return out;
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "SimplifiedLayerNormalization") return simplified(n);
  if (op == "SkipLayerNormalization") return skip(n, true);
  if (op == "SkipSimplifiedLayerNormalization") return skip(n, false);
  if (op == "EmbedLayerNormalization") return embed(n, false);
  if (op == "QEmbedLayerNormalization") return embed(n, true);
  return group_norm(n);
}

}  // namespace

extern const OnnxOp onnx_ms_layer_norm;
const OnnxOp onnx_ms_layer_norm = {.names = {{"SimplifiedLayerNormalization", {1}},
                                             {"SkipLayerNormalization", {1}},
                                             {"SkipSimplifiedLayerNormalization", {1}},
                                             {"EmbedLayerNormalization", {1}},
                                             {"QEmbedLayerNormalization", {1}},
                                             {"GroupNorm", {1}},
                                             {"SkipGroupNorm", {1}}},
                                   .domain = "com.microsoft",
                                   .summary = "Normalisations after a sum.",
                                   .convert = convert};

}  // namespace tenfold::onnx
