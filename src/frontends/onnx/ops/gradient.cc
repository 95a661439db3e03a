// Gradient of ai.onnx.preview.training: refused.
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_gradient;
const OnnxOp onnx_gradient = {
    .names = {{"Gradient", {1}}},
    .domain = "ai.onnx.preview.training",
    .summary = "Not supported: derivatives of a part of the graph.",
    .convert = [](NodeContext& n) -> Outputs {
      n.fail("derivatives are not computed; export the model with its backward graph written out");
    },
    .limits = "refused always"};

}  // namespace tenfold::onnx
