// Attention, MultiHeadAttention, GroupQueryAttention, QAttention and RotaryEmbedding of
// com.microsoft.
#include <limits>

#include <fmt/format.h>

#include "frontends/onnx/ops/attention_util.h"
#include "frontends/onnx/ops/quant_util.h"
#include "frontends/onnx/ops/scatter_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Value* part(B& b, Value* x, int64_t dim, const Dim& from, const Dim& to) {
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  start[static_cast<size_t>(dim)] = from;
  limit[static_cast<size_t>(dim)] = to;
  return b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
}

// What a padding mask says: true where a key is seen, broadcastable to [batch, heads, queries,
// keys]. `mask`: lengths [batch], ends and starts [2 * batch], [batch, keys], [batch, queries,
// keys].
Value* seen_keys(NodeContext& n, Value* mask, const Dim& batch, const Dim& keys) {
  B& b = n.b;
  const Shape s = mask->type.shape;
  if (!is_integer(mask->type.dtype)) n.invalid("the mask must be integers");
  Value* column = positions4(b, keys, 3);
  if (s.size() == 1) {
    const Dim two = Dim(2) * batch;
    const Truth one = equal(s[0], batch), pairs = equal(s[0], two);
    if (one == Truth::No && pairs == Truth::No) {
      n.fail("the mask is " + mask->type.str() +
             "; supported are lengths of [batch], ends and "
             "starts of [2 * batch], and masks of rank 2 and 3");
    }
    // Entries from `from` on, one for each batch entry.
    const auto bound = [&](const Dim& from) {
      Value* at = b.iota({DType::I64, {batch}}, 0);
      at = add(b, at, b.full(b.dim_scalar(from), at->type.shape));
      Value* v = b.convert(take(b, mask, at, 0), DType::I64);
      return b.reshape(v, {batch, Dim(1), Dim(1), Dim(1)});
    };
    Value* seen = n.compare("LT", column, bound(Dim(0)));
    if (one != Truth::Yes && pairs != Truth::No) {
      Value* starts = bound(batch);
      if (pairs != Truth::Yes) {  // which of the two is known when the model runs
        Value* has = b.compare("GE", b.dim_scalar(s[0]), b.dim_scalar(two));
        starts = b.select(b.full(has, starts->type.shape), starts, like(b, starts, 0));
      }
      seen = both(n, seen, n.compare("GE", column, starts));
    }
    return seen;
  }
  Value* seen = b.compare("GT", mask, like(b, mask, 0));
  if (s.size() == 2) {
    n.require_equal(s[1], keys, "length of the mask and number of keys");
    return b.reshape(seen, {s[0], Dim(1), Dim(1), s[1]});
  }
  if (s.size() == 3) {
    n.require_equal(s[2], keys, "length of the mask and number of keys");
    return b.reshape(seen, {s[0], Dim(1), s[1], s[2]});
  }
  n.fail("a mask of rank 4 is not supported");
}

// Adds `filter` where a key is not seen.
void add_filter(NodeContext& n, AttentionParams& p, Value* seen, double filter) {
  B& b = n.b;
  const Shape s = seen->type.shape;
  Value* bias = b.select(seen, b.splat({DType::F32, s}, 0), b.splat({DType::F32, s}, filter));
  p.bias = p.bias ? n.binary(Prim::Add, b.convert(p.bias, DType::F32), bias) : bias;
}

Value* causal(NodeContext& n, const Dim& queries, const Dim& keys, const Dim& past) {
  B& b = n.b;
  Value* row = positions4(b, queries, 2);
  row = add(b, row, b.full(b.dim_scalar(past), row->type.shape));
  return n.compare("LE", positions4(b, keys, 3), row);
}

// Shared by Attention and QAttention: qkv [batch, length, sum of sizes].
Outputs packed_attention(NodeContext& n, Value* qkv, const std::vector<Dim>& sizes, Value* mask,
                         Value* past, Value* bias) {
  B& b = n.b;
  const int64_t heads = n.attr_i("num_heads");
  if (n.attr_flag("do_rotary")) n.fail("do_rotary=1 is not supported");
  if (n.attr_flag("past_present_share_buffer")) {
    n.fail("past_present_share_buffer=1 is not supported");
  }
  const double filter = n.attr_f("mask_filter_value", -10000);
  const DType t = qkv->type.dtype;
  Value* q = split_heads(n, part(b, qkv, 2, Dim(0), sizes[0]), heads, "Q");
  Value* k = split_heads(n, part(b, qkv, 2, sizes[0], sizes[0] + sizes[1]), heads, "K");
  Value* v = split_heads(n, part(b, qkv, 2, sizes[0] + sizes[1], sizes[0] + sizes[1] + sizes[2]),
                         heads, "V");
  Dim before(0);
  if (past) {
    n.need_rank(past, 5, 5, "past");
    const Shape s = past->type.shape;
    before = s[3];
    const Shape one = {s[1], s[2], s[3], s[4]};
    past = b.convert(past, t);
    k = b.concatenate({b.reshape(part(b, past, 0, Dim(0), Dim(1)), one), k}, 2);
    v = b.concatenate({b.reshape(part(b, past, 0, Dim(1), Dim(2)), one), v}, 2);
  }
  AttentionParams p;
  p.zero_when_masked = false;
  p.scale = n.attr_f("scale", 0);
  p.bias = bias;
  const Dim queries = q->type.shape[2], keys = k->type.shape[2];
  if (mask) add_filter(n, p, seen_keys(n, mask, q->type.shape[0], keys), filter);
  if (n.attr_flag("unidirectional")) p.allowed = causal(n, queries, keys, before);
  const AttentionResult r = attend(n, q, k, v, p);
  Outputs out = {merge_heads(b, r.y)};
  if (n.wants(1)) {
    const auto row = [&](Value* x) {
      Shape s = x->type.shape;
      s.insert(s.begin(), Dim(1));
      return b.reshape(x, s);
    };
    out.push_back(b.concatenate({row(k), row(v)}, 0));
  }
  return out;
}

Outputs attention(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *w = n.input(1), *bias = n.opt(2);
  n.need_rank(x, 3, 3, "input");
  n.need_rank(w, 2, 2, "weights");
  const DType t = x->type.dtype, c = wide(t);
  Value* qkv = b.convert(matmul(n, b.convert(x, c), b.convert(w, c)), c);
  if (bias) qkv = n.binary(Prim::Add, qkv, b.convert(bias, c));
  std::vector<Dim> sizes;
  for (int64_t s : n.attr_ints("qkv_hidden_sizes", {})) sizes.push_back(Dim(s));
  if (sizes.empty()) sizes.assign(3, floordiv(w->type.shape[1], Dim(3)));
  if (sizes.size() != 3) n.invalid("qkv_hidden_sizes must have 3 entries");
  if (n.attr_i("rotary_embedding_dim", 0) != 0) n.fail("rotary_embedding_dim is not supported");
  if (n.has(6)) n.fail("past_sequence_length (input 6) is not supported");
  Outputs out = packed_attention(n, qkv, sizes, n.opt(3), n.opt(4), n.opt(5));
  for (Val& v : out) v = b.convert(v.tensor(), t);
  return out;
}

Outputs quantized_attention(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *w = n.input(1), *bias = n.input(2);
  Value *sx = n.input(3), *sw = n.input(4), *zx = n.opt(6), *zw = n.opt(7);
  n.need_rank(x, 3, 3, "input");
  n.need_rank(w, 2, 2, "weight");
  if (zx) zx = b.full(one_number(n, zx, "input_zero_point"), x->type.shape);
  if (zw) zw = matrix_scale(n, zw, w->type.shape, false, "weight_zero_point");
  Value* p = matmul(n, centered_i32(b, x, zx), centered_i32(b, w, zw));
  Value* qkv = b.convert(p, DType::F32);
  Value* scale = matrix_scale(n, b.convert(sw, DType::F32), qkv->type.shape, false, "weight_scale");
  scale = mul(b, scale,
              b.full(b.convert(one_number(n, sx, "input_scale"), DType::F32), qkv->type.shape));
  qkv = n.binary(Prim::Add, mul(b, qkv, scale), b.convert(bias, DType::F32));
  const std::vector<Dim> sizes(3, floordiv(w->type.shape[1], Dim(3)));
  Outputs out = packed_attention(n, qkv, sizes, n.opt(5), n.opt(8), nullptr);
  for (Val& v : out) v = b.convert(v.tensor(), bias->type.dtype);
  return out;
}

Outputs multi_head(NodeContext& n) {
  B& b = n.b;
  Value *q = n.input(0), *k = n.opt(1), *v = n.opt(2), *bias = n.opt(3), *mask = n.opt(4);
  Value *scores = n.opt(5), *past_k = n.opt(6), *past_v = n.opt(7);
  const int64_t heads = n.attr_i("num_heads");
  const double filter = n.attr_f("mask_filter_value", -10000);
  for (int i : {8, 9}) {
    if (n.has(i)) n.fail(fmt::format("input {} (a shared cache) is not supported", i));
  }
  if (n.wants(3)) n.fail("output 3 (qk) is not supported");
  const DType t = q->type.dtype;
  // [batch, length, heads, parts, size] -> parts of [batch, heads, length, size]
  const auto unpack = [&](Value* x, int64_t parts) {
    n.need_rank(x, 5, 5, "packed heads");
    n.require_equal(x->type.shape[3], Dim(parts), "packed tensors");
    std::vector<Value*> out;
    const Shape s = x->type.shape;
    for (int64_t i = 0; i < parts; ++i) {
      Value* one = b.reshape(part(b, x, 3, Dim(i), Dim(i + 1)), {s[0], s[1], s[2], s[4]});
      out.push_back(b.transpose(one, {0, 2, 1, 3}));
    }
    return out;
  };
  bool k_ready = false;
  if (q->type.rank() == 5) {
    const auto all = unpack(q, 3);
    q = all[0], k = all[1], v = all[2];
    k_ready = true;
  } else {
    if (!k) n.invalid("key is missing");
    q = split_heads(n, q, heads, "query");
    if (k->type.rank() == 5) {
      const auto all = unpack(k, 2);
      k = all[0], v = all[1];
      k_ready = true;
    } else if (!v) {
      n.invalid("value is missing");
    } else if (k->type.rank() == 4) {
      n.need_rank(v, 4, 4, "value");  // heads of a cache, as they are
    } else {
      k = split_heads(n, k, heads, "key");
      v = split_heads(n, v, heads, "value");
      k_ready = true;
    }
  }
  if (bias) {
    n.need_rank(bias, 1, 1, "bias");
    const auto add_part = [&](Value* x, const Dim& from, const Dim& size) {
      Value* c = part(b, bias, 0, from, from + size);
      const Shape s = x->type.shape;
      c = b.broadcast_in_dim(b.reshape(c, {s[1], s[3]}), s, {1, 3});
      return add(b, x, c);
    };
    const Dim dq = q->type.shape[1] * q->type.shape[3], dv = v->type.shape[1] * v->type.shape[3];
    q = add_part(q, Dim(0), dq);
    if (k_ready) {
      k = add_part(k, dq, dq);
      v = add_part(v, dq + dq, dv);
    }
  }
  Dim before(0);
  if (!past_k != !past_v) n.invalid("past_key and past_value go together");
  if (past_k) {
    n.need_rank(past_k, 4, 4, "past_key");
    n.need_rank(past_v, 4, 4, "past_value");
    before = past_k->type.shape[2];
    k = b.concatenate({past_k, k}, 2);
    v = b.concatenate({past_v, v}, 2);
  }
  AttentionParams p;
  p.zero_when_masked = false;
  p.scale = n.attr_f("scale", 0);
  p.bias = scores;
  const Dim queries = q->type.shape[2], keys = k->type.shape[2];
  if (mask) add_filter(n, p, seen_keys(n, mask, q->type.shape[0], keys), filter);
  if (n.attr_flag("unidirectional")) p.allowed = causal(n, queries, keys, before);
  const AttentionResult r = attend(n, q, k, v, p);
  return {b.convert(merge_heads(b, r.y), t), k, v};
}

Outputs group_query(NodeContext& n) {
  B& b = n.b;
  Value *q = n.input(0), *k = n.opt(1), *v = n.opt(2), *past_k = n.opt(3), *past_v = n.opt(4);
  Value *last = n.input(5), *total = n.input(6), *cosines = n.opt(7), *sines = n.opt(8);
  Value *ids = n.opt(9), *scores = n.opt(10), *sink = n.opt(11);
  const int64_t heads = n.attr_i("num_heads"), kv = n.attr_i("kv_num_heads");
  const int64_t window = n.attr_i("local_window_size", -1);
  const bool rotary = n.attr_flag("do_rotary"), interleaved = n.attr_flag("rotary_interleaved");
  const bool is_causal = n.attr_flag("causal", true);
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (n.attr_s(name, "NONE") != "NONE") n.fail(fmt::format("{} is not supported", name));
  }
  n.ignore_attr("kv_cache_bit_width");  // of a quantized cache, refused above
  if (n.attr_flag("sliding_window_cache")) n.fail("sliding_window_cache=1 is not supported");
  if (n.attr_i("qk_output", 0) != 0 || n.wants(3)) n.fail("qk_output is not supported");
  for (int i : {12, 13, 16}) {
    if (n.has(i)) n.fail(fmt::format("input {} is not supported", i));
  }
  if (heads < 1 || kv < 1 || heads % kv != 0) {
    n.invalid(fmt::format("{} heads, {} of keys", heads, kv));
  }
  n.need_rank(q, 3, 3, "query");
  const DType t = q->type.dtype;
  if (!k) {
    const Dim size = floordiv(q->type.shape[2], Dim(heads + 2 * kv));
    const Dim a = size * Dim(heads), c = size * Dim(kv);
    k = part(b, q, 2, a, a + c);
    v = part(b, q, 2, a + c, a + c + c);
    q = part(b, q, 2, Dim(0), a);
  } else if (!v) {
    n.invalid("value is missing");
  }
  q = split_heads(n, q, heads, "query");
  k = split_heads(n, k, kv, "key");
  v = split_heads(n, v, kv, "value");
  if (Value* weight = n.opt(14)) {
    const double both_eps = n.attr_f("qk_norm_epsilon", static_cast<double>(1e-6f));
    const auto norm = [&](Value* x, Value* w, double eps) {
      return in_wide(b, x, [&](Value* f) {
        Value* m = mean(b, square(b, f), {3}, true);
        f = mul(b, f, n.broadcast_to(b.unary(Prim::Rsqrt, add(b, m, eps)), f->type.shape));
        return mul(b, f, b.broadcast_in_dim(b.convert(w, f->type.dtype), f->type.shape, {3}));
      });
    };
    q = norm(q, weight, n.attr_f("q_norm_epsilon", both_eps));
    k = norm(k, n.input(15), n.attr_f("k_norm_epsilon", both_eps));
  } else {
    for (const char* name : {"qk_norm_epsilon", "q_norm_epsilon", "k_norm_epsilon"}) {
      n.ignore_attr(name);
    }
  }
  const Dim batch = q->type.shape[0], length = q->type.shape[2];
  const Dim all = n.dim(total, "total_sequence_length", 0);
  // Tokens in the cache of each entry: none in the first prompt (all tokens are new).
  Value* have = b.reshape(b.convert(last, DType::I64), {batch});
  have = add(b, have, 1);
  Value* len = b.full(b.dim_scalar(length), {batch});
  Value* prompt = b.compare("EQ", len, b.full(b.dim_scalar(all), {batch}));
  Value* past = b.select(prompt, like(b, have, 0), sub(b, have, len));
  Value* row = n.binary(Prim::Add, b.reshape(past, {batch, Dim(1)}),
                        b.iota({DType::I64, {Dim(1), length}}, 1));  // [batch, length]
  if (rotary) {
    if (!cosines || !sines) n.invalid("do_rotary needs cos_cache and sin_cache");
    n.need_rank(cosines, 2, 2, "cos_cache");
    n.need_rank(sines, 2, 2, "sin_cache");
    Value* at = ids ? b.convert(ids, DType::I64) : row;
    Value *c = take(b, cosines, at, 0), *s = take(b, sines, at, 0);
    const int64_t turned = 2 * n.static_dim(cosines, 1, "the width of cos_cache");
    q = rotate(n, q, c, s, interleaved, turned);
    k = rotate(n, k, c, s, interleaved, turned);
  } else {
    n.skip_input(7);
    n.skip_input(8);
    n.skip_input(9);
  }
  // The cache with the new tokens after each entry's old ones.
  const Dim room = past_k ? max(past_k->type.shape[2], all) : all;
  const auto store = [&](Value* old, Value* fresh) {
    const Shape s = fresh->type.shape;
    Value* cache;
    if (old) {
      n.need_rank(old, 4, 4, "the cache");
      cache = b.pad(old, b.constant(t, 0), Shape(4, Dim(0)),
                    {Dim(0), Dim(0), room - old->type.shape[2], Dim(0)}, {0, 0, 0, 0});
    } else {
      cache = b.splat({t, {s[0], s[1], room, s[3]}}, 0);
    }
    return scatter(b, cache, b.reshape(row, {batch, length, Dim(1)}),
                   b.transpose(fresh, {0, 2, 1, 3}), {}, {2, 3}, {2}, {2}, {0}, {0});
  };
  k = store(past_k, k);
  v = store(past_v, v);
  AttentionParams p;
  p.zero_when_masked = false;
  p.scale = n.attr_f("scale", 0);
  p.softcap = n.attr_f("softcap", 0);
  p.smooth = n.attr_flag("smooth_softmax");
  p.sink = sink;
  Value* keys_k = part(b, k, 2, Dim(0), all);
  Value* keys_v = part(b, v, 2, Dim(0), all);
  p.bias = scores;
  Value* column = positions4(b, all, 3);
  Value* row4 = b.reshape(row, {batch, Dim(1), length, Dim(1)});
  if (is_causal) {
    p.allowed = n.compare("LE", column, row4);
    if (window > 0) {
      p.allowed =
          both(n, p.allowed, n.compare("GT", column, add(b, row4, -static_cast<double>(window))));
    }
  } else {
    if (window != -1) n.invalid("local_window_size without causal");
    p.allowed = n.compare("LT", column, b.reshape(have, {batch, Dim(1), Dim(1), Dim(1)}));
  }
  const AttentionResult r = attend(n, q, keys_k, keys_v, p);
  return {b.convert(merge_heads(b, r.y), t), k, v};
}

Outputs rotary(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *ids = n.input(1), *cosines = n.input(2), *sines = n.input(3);
  n.need_rank(x, 3, 4, "input");
  n.need_rank(cosines, 2, 2, "cos_cache");
  n.need_rank(sines, 2, 2, "sin_cache");
  if (n.attr_flag("is_packed_batching")) n.fail("is_packed_batching=1 is not supported");
  if (n.attr_f("scale", 1) != 1) n.fail("a scale other than 1 is not supported");
  int64_t turned = n.attr_i("rotary_embedding_dim", 0), heads = n.attr_i("num_heads", 0);
  const bool flat = x->type.rank() == 3;
  const int64_t half = n.static_dim(cosines, 1, "the width of cos_cache");
  if (flat) {
    const int64_t hidden = n.static_dim(x, 2, "the hidden size");
    if (heads == 0) heads = turned > 0 || half == 0 ? 0 : hidden / (2 * half);
    if (heads < 1) n.invalid("num_heads must be given with rotary_embedding_dim");
    x = split_heads(n, x, heads, "input");
  }
  if (turned == 0) turned = 2 * half;
  const Dim batch = x->type.shape[0], length = x->type.shape[2];
  ids = b.convert(ids, DType::I64);
  if (ids->type.rank() <= 1) {
    // One offset for all.
    Value* start = b.full(one_number(n, ids, "position_ids"), {Dim(1), length});
    ids = add(b, start, b.iota({DType::I64, {Dim(1), length}}, 1));
  } else {
    n.need_rank(ids, 2, 2, "position_ids");
    n.require_equal(ids->type.shape[0], batch, "batches of input and position_ids");
  }
  Value* y = rotate(n, x, take(b, cosines, ids, 0), take(b, sines, ids, 0),
                    n.attr_flag("interleaved"), turned);
  return {flat ? merge_heads(b, y) : y};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "Attention") return attention(n);
  if (op == "QAttention") return quantized_attention(n);
  if (op == "MultiHeadAttention") return multi_head(n);
  if (op == "RotaryEmbedding") return rotary(n);
  return group_query(n);
}

}  // namespace

extern const OnnxOp onnx_ms_attention;
const OnnxOp onnx_ms_attention = {
    .names = {{"Attention", {1}},
              {"QAttention", {1}},
              {"MultiHeadAttention", {1}},
              {"GroupQueryAttention", {1}},
              {"RotaryEmbedding", {1}}},
    .domain = "com.microsoft",
    .summary = "Attention with packed projections, padding masks and caches.",
    .convert = convert,
    .limits = "shared cache buffers, quantized caches, masks of rank 4, packed batches"};

}  // namespace tenfold::onnx
