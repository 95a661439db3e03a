// Shrink: moves values outside [-lambd, lambd] towards zero by bias, drops the rest.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_shrink;
const OnnxOp onnx_shrink = {
    .names = {{"Shrink", {9}}},
    .summary = "x < -lambd ? x + bias : x > lambd ? x - bias : 0.",
    .convert = [](NodeContext& n) -> Outputs {
      const double bias = n.attr_f("bias", 0), lambd = n.attr_f("lambd", 0.5);
      GraphBuilder& b = n.b;
      Value* in = n.input(0);
      // The bounds are floats also where the input is integer.
      const DType t = in->type.dtype;
      Value* x = b.convert(in, is_float(t) ? wide(t) : DType::F64);
      Value* r = b.select(
          b.compare("LT", x, like(b, x, -lambd)), add(b, x, bias),
          b.select(b.compare("GT", x, like(b, x, lambd)), add(b, x, -bias), like(b, x, 0)));
      return {b.convert(r, t)};
    }};

}  // namespace tenfold::onnx
