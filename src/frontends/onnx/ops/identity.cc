// Identity: of tensors, sequences and optionals.
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_identity;
const OnnxOp onnx_identity = {.names = {{"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}}},
                              .summary = "Its input.",
                              .convert = [](NodeContext& n) -> Outputs { return {n.val(0)}; }};

}  // namespace tenfold::onnx
