// ConstantOfShape: one number in every element.
#include <fmt/format.h>

#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_constant_of_shape;
const OnnxOp onnx_constant_of_shape = {
    .names = {{"ConstantOfShape", {9, 20, 21, 23, 24, 25}}},
    .summary = "A tensor of one number, of the shape its input says.",
    .convert = [](NodeContext& n) -> Outputs {
      Value* list = n.input(0);
      n.need_rank(list, 1, 1, "shape");
      const auto shape = n.dims(list, "dim");
      for (const Dim& d : shape) {
        if (d.is_const() && d.value() < 0) n.invalid(fmt::format("shape entry {}", d.str()));
      }
      Literal value = Literal::scalar(DType::F32, 0);
      if (n.has_attr("value")) {
        value = n.attr_tensor("value");
        if (value.size() != 1) n.invalid("value must have one element");
      }
      return {n.b.full(n.b.constant(value.reshaped({})), shape)};
    }};

}  // namespace tenfold::onnx
