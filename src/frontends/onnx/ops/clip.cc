// Clip: bounds as attributes (before opset 11) or as optional scalar inputs.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_clip;
const OnnxOp onnx_clip = {.names = {{"Clip", {1, 6, 11, 12, 13}}},
                          .summary = "min(max(x, low), high); NaN stays NaN.",
                          .convert = [](NodeContext& n) -> Outputs {
                            Value* x = n.input(0);
                            GraphBuilder& b = n.b;
                            if (n.opset() < 11) {
                              n.ignore_attr("consumed_inputs");
                              if (n.has_attr("min")) x = max(b, x, n.attr_f("min"));
                              if (n.has_attr("max")) x = min(b, x, n.attr_f("max"));
                              return {x};
                            }
                            const auto bound = [&](int i, Prim p) {
                              Value* v = n.opt(i);
                              if (!v) return;
                              if (v->type.dtype != x->type.dtype)
                                n.invalid("a bound has another element type");
                              if (v->type.rank() != 0) {
                                if (!v->type.is_static() || v->type.num_elements().value() != 1) {
                                  n.invalid("a bound must be a scalar, found " + v->type.str());
                                }
                                v = b.reshape(v, {});
                              }
                              x = b.binary(p, x, b.full(v, x->type.shape));
                            };
                            bound(1, Prim::Max);
                            bound(2, Prim::Min);
                            return {x};
                          }};

}  // namespace tenfold::onnx
