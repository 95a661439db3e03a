// Layer normalisation as com.microsoft's ops and SimplifiedLayerNormalization have it.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

struct Normalized {
  Value *y, *mean, *inv_std;  // f32 statistics; mean is null without centring
};
// Over dimensions from `axis` on, in wide(type); gamma and beta (may be null) of those dimensions.
Normalized layer_normalize(NodeContext& n, Value* x, Value* gamma, Value* beta, double epsilon,
                           int64_t axis, bool centre);

}  // namespace tenfold::onnx
