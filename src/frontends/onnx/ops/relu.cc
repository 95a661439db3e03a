// Relu.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_relu;
const OnnxOp onnx_relu = {.names = {{"Relu", {1, 6, 13, 14}}},
                          .summary = "max(x, 0); NaN stays NaN.",
                          .convert = [](NodeContext& n) -> Outputs {
                            n.ignore_attr("consumed_inputs");
                            Value* x = n.input(0);
                            return {n.b.binary(Prim::Max, x, like(n.b, x, 0))};
                          }};

}  // namespace tenfold::onnx
