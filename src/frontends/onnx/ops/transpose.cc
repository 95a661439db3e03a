// Transpose: permutes dimensions; by default reverses them.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_transpose;
const OnnxOp onnx_transpose = {
    .names = {{"Transpose", {1, 13, 21, 23, 24, 25}}},
    .summary = "Permutes dimensions.",
    .convert = [](NodeContext& n) -> Outputs {
      Value* x = n.input(0);
      const int64_t rank = x->type.rank();
      std::vector<int64_t> reversed;
      for (int64_t i = rank; i-- > 0;) reversed.push_back(i);
      const auto perm = n.axes(n.attr_ints("perm", reversed), rank);
      if (static_cast<int64_t>(perm.size()) != rank) {
        n.invalid(fmt::format("perm has {} entries for {}", perm.size(), x->type.str()));
      }
      return {n.b.transpose(x, perm)};
    }};

}  // namespace tenfold::onnx
