// Index arithmetic of reshapes: row-major position kept, with as little division as the shapes
// allow.
#pragma once

#include "ops/_check.h"

namespace tenfold::ops {

// `index` (into `from`) as an index into `to`, shapes of equal element count.
std::vector<loop::Expr> reshape_index(const Shape& from, const Shape& to,
                                      const std::vector<loop::Expr>& index,
                                      const std::function<loop::Expr(const Dim&)>& dim);

void check_reshape(const Op& op, Diag& diag, const Shape& to, std::string_view label);
loop::Expr element_reshape(ElementContext& ctx, const std::vector<loop::Expr>& index);
std::vector<loop::Expr> forward_reshape(ElementContext& ctx, const std::vector<loop::Expr>& index);
Result<std::vector<Literal>> eval_reshape(EvalContext& ctx, std::vector<int64_t> dims);

}  // namespace tenfold::ops
