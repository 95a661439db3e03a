// SimplifiedLayerNormalization as exporters write it into ai.onnx.
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_ms_layer_norm;
extern const OnnxOp onnx_simplified_layer_norm;
const OnnxOp onnx_simplified_layer_norm = {
    .names = {{"SimplifiedLayerNormalization", {1}}},
    .summary = "x / sqrt(mean(x^2) + epsilon) * scale, an op of onnxruntime in this domain.",
    .convert = [](NodeContext& n) { return onnx_ms_layer_norm.convert(n); }};

}  // namespace tenfold::onnx
