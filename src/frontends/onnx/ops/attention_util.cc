// See attention_util.h.
#include "frontends/onnx/ops/attention_util.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace tenfold::onnx {

Value* split_heads(NodeContext& n, Value* x, int64_t heads, std::string_view what) {
  n.need_rank(x, 3, 3, what);
  if (heads < 1) n.invalid(fmt::format("{} heads of {}", heads, what));
  const Shape& s = x->type.shape;
  n.require_equal(mod(s[2], Dim(heads)), Dim(0), fmt::format("{} modulo heads", what));
  Value* v = n.b.reshape(x, {s[0], s[1], Dim(heads), floordiv(s[2], Dim(heads))});
  return n.b.transpose(v, {0, 2, 1, 3});
}

Value* merge_heads(GraphBuilder& b, Value* x) {
  const Shape s = x->type.shape;
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Value* both(NodeContext& n, Value* x, Value* y) {
  if (!x || !y) return x ? x : y;
  return n.binary(Prim::And, x, y);
}

Value* positions4(GraphBuilder& b, const Dim& length, int64_t dim) {
  Shape s(4, Dim(1));
  s[static_cast<size_t>(dim)] = length;
  return b.iota({DType::I64, s}, dim);
}

AttentionResult attend(NodeContext& n, Value* q, Value* k, Value* v, const AttentionParams& p) {
  GraphBuilder& b = n.b;
  n.need_rank(q, 4, 4, "queries");
  n.need_rank(k, 4, 4, "keys");
  n.need_rank(v, 4, 4, "values");
  const DType t = v->type.dtype, w = wide(q->type.dtype);
  const Shape sq = q->type.shape, sk = k->type.shape, sv = v->type.shape;
  const Dim heads = sq[1], kv = sk[1], group = floordiv(heads, kv);
  n.require_equal(sq[3], sk[3], "head sizes of queries and keys");
  n.require_equal(sk[2], sv[2], "lengths of keys and values");
  n.require_equal(kv, sv[1], "heads of keys and values");
  n.require_equal(mod(heads, kv), Dim(0), "query heads modulo key heads");
  const Shape full = {sq[0], heads, sq[2], sk[2]};
  // The queries of a group follow each other: one product serves them all.
  const Shape grouped = {sq[0], kv, group * sq[2], sk[2]};
  Value* q2 = b.reshape(b.convert(q, w), {sq[0], kv, group * sq[2], sq[3]});
  Value* s = b.dot_general(q2, b.convert(k, w), {0, 1}, {0, 1}, {3}, {3});
  s = b.reshape(s, full);
  double scale = p.scale;
  if (scale == 0) {
    if (auto size = sq[3].constant()) {
      scale = *size > 0 ? 1 / std::sqrt(static_cast<double>(*size)) : 1;
    } else {
      Value* root = b.unary(Prim::Rsqrt, b.convert(b.dim_scalar(sq[3]), w));
      s = mul(b, s, b.full(root, full));
      scale = 1;
    }
  }
  if (scale != 1) s = mul(b, s, scale);
  AttentionResult r{};
  r.scores = s;
  if (p.softcap != 0) {
    s = mul(b, b.unary(Prim::Tanh, div(b, s, like(b, s, p.softcap))), p.softcap);
  }
  r.capped = s;
  if (p.bias) s = add(b, s, n.broadcast_to(b.convert(p.bias, w), full));
  Value* allowed = p.allowed ? n.broadcast_to(p.allowed, full) : nullptr;
  const double lowest = -std::numeric_limits<double>::infinity();
  if (allowed) s = b.select(allowed, s, like(b, s, lowest));
  r.biased = s;
  const DType soft = p.softmax.value_or(w);
  s = b.convert(s, soft);
  if (p.score_mod) s = p.score_mod(s);
  Value* probs;
  if (p.smooth || p.sink) {
    Shape one = full;
    one[3] = Dim(1);
    Value* extra =
        p.sink ? b.broadcast_in_dim(b.convert(p.sink, soft), one, {1}) : b.splat({soft, one}, 0);
    Value* wider = b.concatenate({s, extra}, 3);
    wider = b.create("tenfold.softmax", {wider}, {{"axis", Attr{int64_t{3}}}, {"log", Attr{false}}})
                ->result();
    probs = b.slice(wider, Shape(4, Dim(0)), full, {1, 1, 1, 1});
  } else {
    probs = b.create("tenfold.softmax", {s}, {{"axis", Attr{int64_t{3}}}, {"log", Attr{false}}})
                ->result();
  }
  if (p.prob_mod) probs = p.prob_mod(probs);
  probs = b.convert(probs, w);
  if (p.zero_when_masked && (allowed || p.bias)) {
    Value* open = allowed;
    if (p.bias) {
      Value* bias = n.broadcast_to(b.convert(p.bias, w), full);
      open = both(n, open, b.compare("NE", bias, like(b, bias, lowest)));
    }
    Value* any = b.reduce(Prim::Or, open, {3});
    probs = b.select(b.broadcast_in_dim(any, full, {0, 1, 2}), probs, like(b, probs, 0));
  }
  r.probs = probs;
  Value* y = b.dot_general(b.reshape(probs, grouped), b.convert(v, w), {0, 1}, {0, 1}, {3}, {2});
  r.y = b.convert(b.reshape(y, {sq[0], heads, sq[2], sv[3]}), t);
  return r;
}

Value* rotate(NodeContext& n, Value* x, Value* cosines, Value* sines, bool interleaved,
              int64_t rotary) {
  GraphBuilder& b = n.b;
  const DType t = x->type.dtype, w = wide(t);
  n.need_rank(x, 4, 4, "the rotated tensor");
  n.need_rank(cosines, 3, 3, "cosines");
  n.need_rank(sines, 3, 3, "sines");
  const Shape s = x->type.shape;
  const int64_t size = n.static_dim(x, 3, "the head size");
  if (rotary == 0) rotary = size;
  if (rotary < 0 || rotary > size || rotary % 2 != 0) {
    n.invalid(fmt::format("{} of {} elements are to be rotated in pairs", rotary, size));
  }
  const int64_t half = rotary / 2;
  n.require_equal(cosines->type.shape[2], Dim(half), "cosines and half the rotated elements");
  n.require_equal(sines->type.shape[2], Dim(half), "sines and half the rotated elements");
  const Shape halves = {s[0], s[1], s[2], Dim(half)};
  const auto spread = [&](Value* v) {
    const Shape c = v->type.shape;
    return n.broadcast_to(b.reshape(b.convert(v, w), {c[0], Dim(1), c[1], c[2]}), halves);
  };
  Value *c = spread(cosines), *d = spread(sines);
  const auto cut = [&](int64_t from, int64_t to, int64_t step) {
    Shape start(4, Dim(0)), limit = s;
    start[3] = Dim(from);
    limit[3] = Dim(to);
    return b.convert(b.slice(x, start, limit, {1, 1, 1, step}), w);
  };
  Value* x1 = interleaved ? cut(0, rotary, 2) : cut(0, half, 1);
  Value* x2 = interleaved ? cut(1, rotary, 2) : cut(half, rotary, 1);
  Value* re = sub(b, mul(b, c, x1), mul(b, d, x2));
  Value* im = add(b, mul(b, d, x1), mul(b, c, x2));
  Value* y;
  if (interleaved) {
    Shape column = halves;
    column.push_back(Dim(1));
    y = b.concatenate({b.reshape(re, column), b.reshape(im, column)}, 4);
    y = b.reshape(y, {s[0], s[1], s[2], Dim(rotary)});
  } else {
    y = b.concatenate({re, im}, 3);
  }
  y = b.convert(y, t);
  if (rotary == size) return y;
  Shape start(4, Dim(0));
  start[3] = Dim(rotary);
  return b.concatenate({y, b.slice(x, start, s, {1, 1, 1, 1})}, 3);
}

}  // namespace tenfold::onnx
