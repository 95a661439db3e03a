// FlexAttention of ai.onnx.preview: attention with graphs that change scores and probabilities.
#include "frontends/onnx/ops/attention_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *q = n.input(0), *k = n.input(1), *v = n.input(2);
  const DType t = q->type.dtype;
  if (!is_float(t) || k->type.dtype != t || v->type.dtype != t) {
    n.invalid("Q, K and V must be of one float type");
  }
  AttentionParams p;
  p.scale = n.attr_f("scale", 0);
  p.softmax = n.attr_dtype("softmax_precision", t == DType::F64 ? DType::F64 : DType::F32);
  if (!is_float(*p.softmax)) n.invalid("softmax_precision must be a float type");
  p.zero_when_masked = false;
  const auto modifier = [&](const char* name) -> std::function<Value*(Value*)> {
    if (!n.has_attr(name)) return {};
    const auto& g = n.attr_graph(name);
    if (NodeContext::subgraph_inputs(g) != 1 || NodeContext::subgraph_outputs(g) != 1) {
      n.invalid(std::string(name) + " must have one input and one output");
    }
    return [&n, &g, &b, name](Value* x) {
      const Outputs r = n.subgraph(g, b, {x});
      if (!r[0].is_tensor() || r[0].tensor()->type.dtype != x->type.dtype ||
          r[0].tensor()->type.rank() != 4) {
        n.invalid(std::string(name) + " must keep shape and element type");
      }
      return r[0].tensor();
    };
  };
  p.score_mod = modifier("score_mod");
  p.prob_mod = modifier("prob_mod");
  return {attend(n, q, k, v, p).y};
}

}  // namespace

extern const OnnxOp onnx_flex_attention;
const OnnxOp onnx_flex_attention = {.names = {{"FlexAttention", {1}}},
                                    .domain = "ai.onnx.preview",
                                    .summary = "Attention with modifier graphs.",
                                    .convert = convert};

}  // namespace tenfold::onnx
