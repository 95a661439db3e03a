// pad and dynamic_pad share everything but where the amounts come from.
#pragma once

#include "ops/_view.h"

namespace tenfold::ops {

struct PadAmounts {
  std::vector<Dim> low, high;
  std::vector<int64_t> interior;
};

// Checks with labels C1 to C4; the result's type.
TensorType check_pad(Diag& diag, const TensorType& x, const TensorType& value, const PadAmounts& p);
Result<std::vector<Literal>> eval_pad(EvalContext& ctx, const std::vector<int64_t>& low,
                                      const std::vector<int64_t>& high,
                                      const std::vector<int64_t>& interior);
loop::Expr element_pad(ElementContext& ctx, const PadAmounts& p,
                       const std::vector<loop::Expr>& index);

}  // namespace tenfold::ops
