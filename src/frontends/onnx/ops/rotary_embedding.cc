// RotaryEmbedding of ai.onnx.
#include "frontends/onnx/ops/attention_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *cosines = n.input(1), *sines = n.input(2), *ids = n.opt(3);
  n.need_rank(x, 3, 4, "X");
  const bool flat = x->type.rank() == 3;
  if (flat) {
    x = split_heads(n, x, n.attr_i("num_heads"), "X");
  } else {
    n.ignore_attr("num_heads");
  }
  if (ids) {
    n.need_rank(ids, 2, 2, "position_ids");
    n.need_rank(cosines, 2, 2, "cos_cache");
    n.need_rank(sines, 2, 2, "sin_cache");
    Value* at = wrap_indices(b, ids, cosines->type.shape[0]);
    cosines = take(b, cosines, at, 0);
    sines = take(b, sines, at, 0);
  }
  Value* y =
      rotate(n, x, cosines, sines, n.attr_flag("interleaved"), n.attr_i("rotary_embedding_dim", 0));
  return {flat ? merge_heads(b, y) : y};
}

}  // namespace

extern const OnnxOp onnx_rotary_embedding;
const OnnxOp onnx_rotary_embedding = {.names = {{"RotaryEmbedding", {23}}},
                                      .summary = "Rotates pairs by their position.",
                                      .convert = convert};

}  // namespace tenfold::onnx
