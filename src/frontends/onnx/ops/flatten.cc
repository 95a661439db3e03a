// Flatten: to a matrix, split at an axis.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_flatten;
const OnnxOp onnx_flatten = {
    .names = {{"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}}},
    .summary = "Dimensions before the axis become rows, the others columns.",
    .convert = [](NodeContext& n) -> Outputs {
      Value* x = n.input(0);
      const int64_t rank = x->type.rank();
      const int64_t a = n.attr_i("axis", 1);
      if (a < -rank || a > rank) n.invalid("axis is outside the tensor's rank");
      return {flatten2(n.b, x, a < 0 ? a + rank : a)};
    }};

}  // namespace tenfold::onnx
