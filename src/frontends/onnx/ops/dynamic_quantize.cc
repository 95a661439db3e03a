// DynamicQuantizeLinear: u8 with scale and zero point from the tensor's own range.
#include "frontends/onnx/ops/dynamic_quantize_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_dynamic_quantize;
const OnnxOp onnx_dynamic_quantize = {.names = {{"DynamicQuantizeLinear", {11}}},
                                      .summary = "Quantizes to u8 by the tensor's own range.",
                                      .convert = [](NodeContext& n) -> Outputs {
                                        Value* x = n.input(0);
                                        if (x->type.dtype != DType::F32)
                                          n.invalid("x must be f32, found " + x->type.str());
                                        const DynamicQuantized q = dynamic_quantize(n.b, x);
                                        return {q.y, q.scale, q.zero};
                                      }};

}  // namespace tenfold::onnx
