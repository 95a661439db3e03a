// Where: NumPy's, with three-way broadcasting.
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_where;
const OnnxOp onnx_where = {.names = {{"Where", {9, 16}}},
                           .summary = "condition ? x : y.",
                           .convert = [](NodeContext& n) -> Outputs {
                             Value* c = n.input(0);
                             if (c->type.dtype != DType::Bool) n.invalid("condition must be bool");
                             return {n.select(c, n.input(1), n.input(2))};
                           },
                           .limits = "string tensors"};

}  // namespace tenfold::onnx
