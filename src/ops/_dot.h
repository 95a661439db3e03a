// Contraction of two tensors, shared by dot_general and dot.
#pragma once

#include "ops/_check.h"

namespace tenfold::ops {

struct DotDims {
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  // The dimensions that are neither, in order.
  std::vector<int64_t> lhs_free(int rank) const;
  std::vector<int64_t> rhs_free(int rank) const;
};

// The type sums are kept in: f32 for narrower floats, else the wider of operands and result;
// integers wrap in the result's type.
DType accumulator(DType operand, DType result);

// Checks dimension numbers, element types and the result with dot_general's labels.
std::vector<TensorType> infer_dot(const Op& op, Diag& diag, const DotDims& d);
Result<std::vector<Literal>> eval_dot(EvalContext& ctx, const DotDims& d);
// The plain nest: one accumulator cell, contracting loops innermost. Schedules start from it.
Status emit_dot(EmitContext& ctx, const DotDims& d);

}  // namespace tenfold::ops
