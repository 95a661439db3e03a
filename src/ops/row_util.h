// Emission helpers for ops that work row by row (sorts, decompositions, transforms).
#pragma once

#include <functional>

#include "graph/op_def.h"

namespace tenfold {

// Calls `f` for every index of `dims`, in one loop over all of them, which is parallel at a
// kernel's top level (also when there are no dimensions: then one iteration, a place for Workspace
// buffers).
void for_rows(loop::Builder& b, const std::vector<loop::Expr>& dims,
              const std::function<void(const std::vector<loop::Expr>&)>& f);

// Calls `f` for every index of `dims` in row-major order; its iterations may depend on each other.
void for_in_order(loop::Builder& b, std::string_view stem, const std::vector<loop::Expr>& dims,
                  const std::function<void(const std::vector<loop::Expr>&)>& f);

// Stable bottom-up merge sort of `n` records. Each field is a buffer of shape [2, n] whose side 0
// holds the records; `before(side, i, j)` emits whether record `i` must precede record `j`. Returns
// the side that holds the sorted records.
loop::Expr emit_merge_sort(
    loop::Builder& b, const loop::Expr& n, const std::vector<loop::Buffer>& fields,
    const std::function<loop::Expr(const loop::Expr& side, const loop::Expr& i,
                                   const loop::Expr& j)>& before);

// a before b in a descending (`largest`) or ascending order in which NaN is the largest number.
loop::Expr ordered_before(const loop::Expr& a, const loop::Expr& b, bool largest);

}  // namespace tenfold
