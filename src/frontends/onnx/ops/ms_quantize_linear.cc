// com.microsoft's QuantizeLinear and DequantizeLinear: the standard's, with 16-bit integers.
#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_quantize_linear;
extern const OnnxOp onnx_ms_quantize_linear;
const OnnxOp onnx_ms_quantize_linear = {
    .names = {{"QuantizeLinear", {1}}, {"DequantizeLinear", {1}}},
    .domain = "com.microsoft",
    .summary = "As ai.onnx, with 16-bit integers.",
    .convert = [](NodeContext& n) { return onnx_quantize_linear.convert(n); }};

}  // namespace tenfold::onnx
