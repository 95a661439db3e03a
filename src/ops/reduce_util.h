// Scalar regions (reducers, comparators, map bodies): recognising one primitive, and evaluating a
// region on whole arrays at once instead of element by element.
#pragma once

#include "ops/_check.h"

namespace tenfold {

// The primitive a two-argument region computes when it is just that; only commutative ones (Add,
// Mul, Max, Min, And, Or, Xor).
std::optional<Prim> reducer_prim(const Block& region);

// identity(p, t) combined with any x gives x. Max and Min: the least and the greatest value.
Literal identity(Prim p, DType t);

// The type a reduction by `p` is kept in: f32 for sums and products of narrower floats.
DType reduce_accumulator(Prim p, DType t);

// All ops elementwise, constant, or views that change nothing on scalars; nothing captured.
bool is_scalar_region(const Block& region);

// Runs a scalar region on rank-1 literals of one length in place of its 0-d arguments (0-d ones
// are used for all); all results have that length. Falls back to element by element through
// ctx.run_region where the region is not is_scalar_region().
Result<std::vector<Literal>> run_region_on_arrays(EvalContext& ctx, const Block& region,
                                                  std::vector<Literal> args, int64_t length);

// Folds the rows of arrays of shape [rows, n] (flat) with a reducer region of 2k arguments:
// k results of length n, combined with `init` (0-d each) on the left. rows may be 0.
Result<std::vector<Literal>> reduce_rows(EvalContext& ctx, const Block& reducer,
                                         std::vector<Literal> arrays,
                                         const std::vector<Literal>& init, int64_t rows, int64_t n);

}  // namespace tenfold
