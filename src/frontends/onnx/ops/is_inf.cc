// IsInf: infinities of either or one sign.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_is_inf;
const OnnxOp onnx_is_inf = {.names = {{"IsInf", {10, 20}}},
                            .summary = "Whether an element is an infinity.",
                            .convert = [](NodeContext& n) -> Outputs {
                              const bool negative = n.attr_flag("detect_negative", true);
                              const bool positive = n.attr_flag("detect_positive", true);
                              GraphBuilder& b = n.b;
                              Value* x = n.input(0);
                              Value* inf = b.unary(Prim::IsInf, x);
                              if (negative && positive) return {inf};
                              if (!negative && !positive) return {like(b, inf, 0)};
                              Value* side = b.compare(positive ? "GT" : "LT", x, like(b, x, 0));
                              return {b.binary(Prim::And, inf, side)};
                            }};

}  // namespace tenfold::onnx
