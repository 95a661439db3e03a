// SwiGLU: Swish(a) * b.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_swiglu;
const OnnxOp onnx_swiglu = {
    .names = {{"SwiGLU", {28}}},
    .summary = "a * sigmoid(alpha * a) * b.",
    .convert = [](NodeContext& n) -> Outputs {
      GraphBuilder& b = n.b;
      Value *x = n.input(0), *y = n.input(1);
      const DType t = x->type.dtype;
      if (y->type.dtype != t) n.invalid("A and B differ in element type");
      n.need_rank(y, x->type.rank(), x->type.rank(), "B");
      for (size_t i = 0; i < x->type.shape.size(); ++i) {
        n.require_equal(x->type.shape[i], y->type.shape[i], "shapes of A and B");
      }
      Value* a = b.convert(x, wide(t));
      Value* gate = mul(b, a, b.unary(Prim::Logistic, mul(b, a, n.attr_f("alpha", 1))));
      return {b.convert(mul(b, gate, b.convert(y, wide(t))), t)};
    }};

}  // namespace tenfold::onnx
