// Attention of ai.onnx: grouped heads, masks, causal and sliding windows, caches.
#include <limits>

#include <fmt/format.h>

#include "frontends/onnx/ops/attention_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *q = n.input(0), *k = n.input(1), *v = n.input(2), *mask = n.opt(3);
  Value *past_k = n.opt(4), *past_v = n.opt(5);
  Value* lengths = n.opset() >= 24 ? n.opt(6) : nullptr;
  const DType t = q->type.dtype;
  if (!is_float(t) || k->type.dtype != t) n.invalid("Q and K must be of one float type");
  const int64_t rank = q->type.rank();
  n.need_rank(q, 3, 4, "Q");
  n.need_rank(k, rank, rank, "K");
  n.need_rank(v, rank, rank, "V");
  if (rank == 3) {
    const int64_t heads = n.attr_i("q_num_heads"), kv = n.attr_i("kv_num_heads");
    q = split_heads(n, q, heads, "Q");
    k = split_heads(n, k, kv, "K");
    v = split_heads(n, v, kv, "V");
  } else {
    for (const char* name : {"q_num_heads", "kv_num_heads"}) {
      if (n.has_attr(name)) {
        n.require_equal(Dim(n.attr_i(name)), (name[0] == 'q' ? q : k)->type.shape[1], name);
      }
    }
  }
  if (!past_k != !past_v) n.invalid("past_key and past_value go together");
  if (past_k && lengths) n.invalid("nonpad_kv_seqlen cannot be used with past_key");
  Dim past(0);
  if (past_k) {
    n.need_rank(past_k, 4, 4, "past_key");
    n.need_rank(past_v, 4, 4, "past_value");
    if (past_k->type.dtype != t || past_v->type.dtype != v->type.dtype) {
      n.invalid("the cache has another element type");
    }
    past = past_k->type.shape[2];
    k = b.concatenate({past_k, k}, 2);
    v = b.concatenate({past_v, v}, 2);
  }
  const Dim queries = q->type.shape[2], keys = k->type.shape[2];
  AttentionParams p;
  p.scale = n.attr_f("scale", 0);
  p.softcap = n.attr_f("softcap", 0);
  if (n.has_attr("softmax_precision")) {
    p.softmax = n.attr_dtype("softmax_precision");
    if (!is_float(*p.softmax)) n.invalid("softmax_precision must be a float type");
    // A softmax in a type that holds the arithmetic's numbers is the arithmetic's own.
    if (*p.softmax == t) p.softmax.reset();
  }
  const int64_t mode = n.attr_i("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) n.invalid(fmt::format("qk_matmul_output_mode is {}", mode));
  if (mask) {
    n.need_rank(mask, 1, 4, "attn_mask");
    const Dim have = mask->type.shape.back();
    const bool repeats = n.opset() < 24 && have == Dim(1);
    if (!repeats && equal(have, keys) != Truth::Yes) {
      // What the mask does not reach is not seen.
      Shape low(mask->type.shape.size(), Dim(0)), high = low;
      high.back() = keys - have;
      Value* fill = mask->type.dtype == DType::Bool
                        ? b.constant(DType::Bool, 0)
                        : b.constant(mask->type.dtype, -std::numeric_limits<double>::infinity());
      mask = b.pad(mask, fill, low, high, std::vector<int64_t>(low.size(), 0));
    }
    Shape s = mask->type.shape;
    s.insert(s.begin(), 4 - s.size(), Dim(1));
    mask = b.reshape(mask, s);
    if (mask->type.dtype == DType::Bool) {
      p.allowed = mask;
    } else if (is_float(mask->type.dtype)) {
      p.bias = mask;
    } else {
      n.fail("onnx-unsupported-type", "attn_mask must be bool or float, found " + mask->type.str());
    }
  }
  Value* row = nullptr;  // positions of the queries among the keys
  Value* column = positions4(b, keys, 3);
  if (lengths) {
    lengths = b.reshape(b.convert(lengths, DType::I64), {q->type.shape[0], Dim(1), Dim(1), Dim(1)});
    Value* offset = sub(b, lengths, b.full(b.dim_scalar(queries), lengths->type.shape));
    row = n.binary(Prim::Add, positions4(b, queries, 2), offset);
    p.allowed = both(n, p.allowed, n.compare("LT", column, lengths));
  } else {
    row = positions4(b, queries, 2);
    if (!(past == Dim(0))) row = add(b, row, b.full(b.dim_scalar(past), row->type.shape));
  }
  if (n.attr_flag("is_causal")) p.allowed = both(n, p.allowed, n.compare("LE", column, row));
  if (n.opset() >= 25) {
    const int64_t left = n.attr_i("left_window_size", -1);
    const int64_t right = n.attr_i("right_window_size", -1);
    if (left < -1 || right < -1) n.invalid("a window size is below -1");
    if (left >= 0) {
      p.allowed = both(n, p.allowed, n.compare("GE", column, add(b, row, -double(left))));
    }
    if (right >= 0) {
      p.allowed = both(n, p.allowed, n.compare("LE", column, add(b, row, double(right))));
    }
  }
  const AttentionResult r = attend(n, q, k, v, p);
  Value* shown[] = {r.scores, r.capped, r.biased, r.probs};
  Value* y = b.convert(rank == 3 ? merge_heads(b, r.y) : r.y, t);
  return {y, k, v, b.convert(shown[mode], t)};
}

}  // namespace

extern const OnnxOp onnx_attention;
const OnnxOp onnx_attention = {
    .names = {{"Attention", {23, 24, 25}}},
    .summary = "Scaled dot product attention; arithmetic in f32 for narrower types.",
    .convert = convert};

}  // namespace tenfold::onnx
