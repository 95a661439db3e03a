// Concat.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_concat;
const OnnxOp onnx_concat = {
    .names = {{"Concat", {1, 4, 11, 13}}},
    .summary = "Joins tensors along a dimension.",
    .convert = [](NodeContext& n) -> Outputs {
      auto xs = n.inputs();
      if (xs.empty()) n.invalid("needs at least one input");
      n.need_rank(xs[0], 1, INT64_MAX, "input 0");
      for (Value* x : xs) {
        if (x->type.dtype != xs[0]->type.dtype || x->type.rank() != xs[0]->type.rank()) {
          n.invalid(
              fmt::format("inputs {} and {} do not go together", xs[0]->type.str(), x->type.str()));
        }
      }
      const int64_t a = n.opset() < 4 ? n.attr_i("axis", 1) : n.attr_i("axis");
      const int64_t axis = n.axis(a, xs[0]->type.rank());
      for (Value* x : xs) {
        for (size_t i = 0; i < x->type.shape.size(); ++i) {
          if (static_cast<int64_t>(i) != axis) {
            n.require_equal(x->type.shape[i], xs[0]->type.shape[i],
                            fmt::format("dimension {} of the inputs", i));
          }
        }
      }
      return {n.b.concatenate(xs, axis)};
    }};

}  // namespace tenfold::onnx
