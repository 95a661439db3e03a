// PRelu: a learnt slope for negative values, broadcast one way.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_prelu;
const OnnxOp onnx_prelu = {.names = {{"PRelu", {1, 6, 7, 9, 16}}},
                           .summary = "x < 0 ? slope * x : x.",
                           .convert = [](NodeContext& n) -> Outputs {
                             if (n.opset() < 6) n.ignore_attr("consumed_inputs");
                             Value *x = n.input(0), *slope = n.input(1);
                             // Before opset 7 a vector of slopes belongs to the channels.
                             if (n.opset() < 7 && slope->type.rank() == 1 && x->type.rank() > 2) {
                               Shape s = slope->type.shape;
                               for (int i = 2; i < x->type.rank(); ++i) s.push_back(Dim(1));
                               slope = n.b.reshape(slope, s);
                             }
                             slope = n.broadcast_to(slope, x->type.shape);
                             if (slope->type.dtype != x->type.dtype)
                               n.invalid("slope and input differ in element type");
                             Value* negative = n.b.compare("LT", x, like(n.b, x, 0));
                             return {n.b.select(negative, mul(n.b, x, slope), x)};
                           }};

}  // namespace tenfold::onnx
