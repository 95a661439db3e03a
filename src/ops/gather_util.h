// What gather and dynamic_gather share.
#pragma once

#include "ops/attr_util.h"

namespace tenfold {

struct GatherDims {
  std::vector<int64_t> offset, collapsed, operand_batching, indices_batching, index_map;
  int64_t index_vector;
  std::vector<int64_t> batch;   // result dims not in offset
  std::vector<int64_t> sliced;  // operand dims that appear as offset dims, in order
};
GatherDims read_gather(const Op& op);

// Constraints on the dimension numbers and the result shape for the given slice sizes.
TensorType infer_gather(const Op& op, const std::vector<Dim>& slice_sizes, Diag& diag);
Literal eval_gather(const Op& op, const EvalContext& c, const std::vector<int64_t>& slice_sizes);
loop::Expr gather_element(ElementContext& c, const std::vector<Dim>& slice_sizes,
                          const std::vector<loop::Expr>& index);

}  // namespace tenfold
