// slice and real_dynamic_slice share everything but where the bounds come from.
#pragma once

#include "ops/_view.h"

namespace tenfold::ops {

struct SliceBounds {
  std::vector<Dim> start, limit;
  std::vector<int64_t> stride;
};

// Checks with labels C2 to C4; the result's type.
TensorType check_slice(Diag& diag, const TensorType& x, const SliceBounds& s);
Result<std::vector<Literal>> eval_slice(EvalContext& ctx, const std::vector<int64_t>& start,
                                        const std::vector<int64_t>& limit,
                                        const std::vector<int64_t>& stride);
loop::Expr element_slice(ElementContext& ctx, const SliceBounds& s,
                         const std::vector<loop::Expr>& index);

}  // namespace tenfold::ops
