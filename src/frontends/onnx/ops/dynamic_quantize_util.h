// Quantization by a tensor's own range.
#pragma once

#include "frontends/onnx/ops/quant_util.h"

namespace tenfold::onnx {

struct DynamicQuantized {
  Value *y, *scale, *zero;  // u8 of x's shape, f32 scalar, u8 scalar
};
DynamicQuantized dynamic_quantize(GraphBuilder& b, Value* x);

}  // namespace tenfold::onnx
