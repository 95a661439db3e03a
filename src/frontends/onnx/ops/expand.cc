// Expand: broadcasting with a shape given as a tensor.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_expand;
const OnnxOp onnx_expand = {.names = {{"Expand", {8, 13}}},
                            .summary = "Broadcasts x and a shape together.",
                            .convert = [](NodeContext& n) -> Outputs {
                              Value* x = n.input(0);
                              Value* shape = n.input(1);
                              n.need_rank(shape, 1, 1, "shape");
                              const Shape s =
                                  n.broadcast_shape({x->type.shape, n.dims(shape, "expand")});
                              return {n.broadcast_to(x, s)};
                            }};

}  // namespace tenfold::onnx
