// stablehlo.scatter with a primitive as its combiner.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

// Index tuples stand in the last dimension of `indices`; entry k is the place in dimension
// map[k] of x. `window` are the dimensions of updates that run through a slice, `inserted` those of
// x that a slice lacks. p: how an update joins what is there; none: it replaces it. Updates out
// of range are dropped.
inline Value* scatter(GraphBuilder& b, Value* x, Value* indices, Value* updates,
                      std::optional<Prim> p, const std::vector<int64_t>& window,
                      const std::vector<int64_t>& inserted, const std::vector<int64_t>& map,
                      const std::vector<int64_t>& batch = {},
                      const std::vector<int64_t>& indices_batch = {}) {
  Op* op = b.create_open("stablehlo.scatter", {x, indices, updates},
                         {{"update_window_dims", Attr{window}},
                          {"inserted_window_dims", Attr{inserted}},
                          {"input_batching_dims", Attr{batch}},
                          {"scatter_indices_batching_dims", Attr{indices_batch}},
                          {"scatter_dims_to_operand_dims", Attr{map}},
                          {"index_vector_dim", Attr{int64_t{indices->type.rank() - 1}}},
                          {"indices_are_sorted", Attr{false}},
                          {"unique_indices", Attr{false}}});
  Block* body = op->add_region();
  Value* old = body->add_arg({x->type.dtype, {}});
  Value* now = body->add_arg({x->type.dtype, {}});
  GraphBuilder inner(b.module(), body);
  inner.return_({p ? inner.binary(*p, old, now) : now});
  return b.finish(op)->result();
}

}  // namespace tenfold::onnx
