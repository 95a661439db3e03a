// Scaled dot product attention and rotary embeddings, as the attention ops of several domains
// share them.
#pragma once

#include <functional>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

// [batch, length, heads * size] -> [batch, heads, length, size] and back.
Value* split_heads(NodeContext& n, Value* x, int64_t heads, std::string_view what);
Value* merge_heads(GraphBuilder& b, Value* x);

struct AttentionParams {
  double scale = 0;    // 0: 1 / sqrt(head size)
  double softcap = 0;  // 0: none
  // Bool, true where a key may be seen; broadcastable to [batch, heads, queries, keys]. Or null.
  Value* allowed = nullptr;
  // Added to the scores, a float of the same shape rules. Or null.
  Value* bias = nullptr;
  // Type of the softmax; nothing: that of the arithmetic.
  std::optional<DType> softmax;
  // What a query that may see no key yields: zeros, or what softmax gives.
  bool zero_when_masked = true;
  // One more key of score 0 (or of these scores by head, [heads]) that has no value.
  bool smooth = false;
  Value* sink = nullptr;
  // Change scores before, and probabilities after softmax (FlexAttention).
  std::function<Value*(Value*)> score_mod, prob_mod;
};
struct AttentionResult {
  Value* y;                                 // [batch, heads, queries, value size], v's type
  Value *scores, *capped, *biased, *probs;  // [batch, heads, queries, keys], wide
};
// q [batch, heads, queries, size], k and v [batch, kv heads, keys, size]; heads are a multiple of
// the kv heads, each of which serves a run of query heads. Arithmetic is wide(type).
AttentionResult attend(NodeContext& n, Value* q, Value* k, Value* v, const AttentionParams& p);

// `a` and `b2` by logical and, either may be null.
Value* both(NodeContext& n, Value* x, Value* y);
// Positions 0.. of `length`, as an i64 tensor of rank 4 along dimension `dim`.
Value* positions4(GraphBuilder& b, const Dim& length, int64_t dim);

// Rotates pairs of the first `rotary` elements (0: all) of the last dimension of
// x [batch, heads, length, size] by angles given as cosines and sines [batch or 1, length, half].
Value* rotate(NodeContext& n, Value* x, Value* cosines, Value* sines, bool interleaved,
              int64_t rotary);

}  // namespace tenfold::onnx
