#include "ops/gather_util.h"

#include <cstring>

namespace tenfold {

GatherDims read_gather(const Op& op) {
  GatherDims g;
  g.offset = op.i64s("offset_dims");
  g.collapsed = op.i64s("collapsed_slice_dims");
  g.operand_batching = i64s_or(op, "operand_batching_dims", 0, 0);
  g.indices_batching = i64s_or(op, "start_indices_batching_dims", 0, 0);
  g.index_map = op.i64s("start_index_map");
  g.index_vector = op.i64("index_vector_dim");
  const int64_t indices_rank = op.operand(1)->type.rank();
  const int64_t batch_rank = indices_rank - (g.index_vector < indices_rank ? 1 : 0);
  const int64_t rank = batch_rank + static_cast<int64_t>(g.offset.size());
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(g.offset, d)) g.batch.push_back(d);
  for (int64_t d = 0; d < op.operand(0)->type.rank(); ++d)
    if (!contains(g.collapsed, d) && !contains(g.operand_batching, d)) g.sliced.push_back(d);
  return g;
}

TensorType infer_gather(const Op& op, const std::vector<Dim>& slice_sizes, Diag& diag) {
  const TensorType& x = op.operand(0)->type;
  const TensorType& indices = op.operand(1)->type;
  const int64_t rank = x.rank(), indices_rank = indices.rank();
  const GatherDims g = read_gather(op);
  if (!is_integer(indices.dtype))
    diag.fail("I2", "start_indices must be integers, found " + indices.str());
  if (rank !=
      static_cast<int64_t>(g.offset.size() + g.collapsed.size() + g.operand_batching.size()))
    diag.fail("C1",
              "offset_dims, collapsed_slice_dims and operand_batching_dims together must be as "
              "many as the operand's " +
                  std::to_string(rank) + " dimensions");
  if (g.index_vector < 0 || g.index_vector > indices_rank) {
    diag.fail("C2", "index_vector_dim is " + std::to_string(g.index_vector) + ", wanted 0 to " +
                        std::to_string(indices_rank));
    return x;
  }
  const Dim depth = g.index_vector < indices_rank ? indices.shape[g.index_vector] : Dim(1);
  if (!diag.equal(depth, static_cast<int64_t>(g.index_map.size())))
    diag.fail("C3", "start_index_map has " + std::to_string(g.index_map.size()) +
                        " entries, the index vectors " + depth.str());
  if (!is_unique(g.offset) || !std::is_sorted(g.offset.begin(), g.offset.end()))
    diag.fail("C4", "offset_dims must be sorted and unique, found " + list_str(g.offset));
  const int64_t out_rank = static_cast<int64_t>(g.offset.size()) + indices_rank -
                           (g.index_vector < indices_rank ? 1 : 0);
  if (!all_in_range(g.offset, 0, out_rank))
    diag.fail("C5", "offset_dims must be in [0, " + std::to_string(out_rank) + "), found " +
                        list_str(g.offset));
  if (!is_unique(concat(g.collapsed, g.operand_batching)))
    diag.fail("C6", "collapsed_slice_dims and operand_batching_dims must not overlap");
  if (!std::is_sorted(g.collapsed.begin(), g.collapsed.end()))
    diag.fail("C7", "collapsed_slice_dims must be sorted, found " + list_str(g.collapsed));
  if (!all_in_range(g.collapsed, 0, rank))
    diag.fail("C8", "collapsed_slice_dims must be in [0, " + std::to_string(rank) + "), found " +
                        list_str(g.collapsed));
  if (!std::is_sorted(g.operand_batching.begin(), g.operand_batching.end()))
    diag.fail("C10", "operand_batching_dims must be sorted, found " + list_str(g.operand_batching));
  if (!all_in_range(g.operand_batching, 0, rank))
    diag.fail("C11", "operand_batching_dims must be in [0, " + std::to_string(rank) + "), found " +
                         list_str(g.operand_batching));
  if (!is_unique(g.indices_batching))
    diag.fail("C13",
              "start_indices_batching_dims must be unique, found " + list_str(g.indices_batching));
  if (!all_in_range(g.indices_batching, 0, indices_rank))
    diag.fail("C14", "start_indices_batching_dims must be in [0, " + std::to_string(indices_rank) +
                         "), found " + list_str(g.indices_batching));
  if (contains(g.indices_batching, g.index_vector))
    diag.fail("C15", "index_vector_dim must not be a batching dimension");
  if (g.operand_batching.size() != g.indices_batching.size())
    diag.fail("C16", "operand_batching_dims and start_indices_batching_dims differ in size");
  if (!is_unique(concat(g.index_map, g.operand_batching)))
    diag.fail("C18", "start_index_map and operand_batching_dims must not overlap");
  if (!all_in_range(g.index_map, 0, rank))
    diag.fail("C19", "start_index_map must be in [0, " + std::to_string(rank) + "), found " +
                         list_str(g.index_map));
  if (static_cast<int64_t>(slice_sizes.size()) != rank)
    diag.fail("C20", "slice_sizes has " + std::to_string(slice_sizes.size()) + " entries, wanted " +
                         std::to_string(rank));
  if (!diag.ok()) return x;
  for (size_t i = 0; i < g.operand_batching.size(); ++i)
    if (!diag.equal(x.shape[g.operand_batching[i]], indices.shape[g.indices_batching[i]]))
      diag.fail("C17", "batching dimensions differ: " + x.shape[g.operand_batching[i]].str() +
                           " in the operand, " + indices.shape[g.indices_batching[i]].str() +
                           " in start_indices");
  for (int64_t d : g.collapsed)
    if (!diag.at_most(slice_sizes[d], 1))
      diag.fail("C9", "the slice size of collapsed dimension " + std::to_string(d) + " is " +
                          slice_sizes[d].str() + ", wanted at most 1");
  for (int64_t d : g.operand_batching)
    if (!diag.at_most(slice_sizes[d], 1))
      diag.fail("C12", "the slice size of batching dimension " + std::to_string(d) + " is " +
                           slice_sizes[d].str() + ", wanted at most 1");
  // An operand that turns out empty when the model runs is no fault where nothing is taken.
  Dim slices = 1;
  for (int64_t d = 0; d < indices_rank; ++d)
    if (d != g.index_vector) slices = slices * indices.shape[d];
  const auto taken = [&](int64_t d) {
    return x.shape[d].is_const() ? slice_sizes[d] : min(slice_sizes[d], slice_sizes[d] * slices);
  };
  for (int64_t d = 0; d < rank; ++d)
    if (!diag.at_most(0, slice_sizes[d]) || !diag.at_most(taken(d), x.shape[d]))
      diag.fail("C21", "the slice size of dimension " + std::to_string(d) + " is " +
                           slice_sizes[d].str() + ", wanted 0 to " + x.shape[d].str());
  TensorType out{x.dtype, Shape(static_cast<size_t>(out_rank))};
  for (size_t i = 0; i < g.offset.size(); ++i) out.shape[g.offset[i]] = slice_sizes[g.sliced[i]];
  size_t k = 0;
  for (int64_t d = 0; d < indices_rank; ++d)
    if (d != g.index_vector) out.shape[g.batch[k++]] = indices.shape[d];
  return out;
}

Literal eval_gather(const Op& op, const EvalContext& c, const std::vector<int64_t>& slice_sizes) {
  const GatherDims g = read_gather(op);
  const Literal& x = c.args[0];
  const Literal& indices = c.args[1];
  Literal out(x.dtype(), c.shape(op.result()->type));
  if (out.size() == 0) return out;
  const auto x_strides = row_major_strides(x.dims());
  const auto index_strides = row_major_strides(indices.dims());
  const auto out_strides = row_major_strides(out.dims());
  const size_t size = static_cast<size_t>(byte_size(x.dtype()));
  std::byte* o = out.mutable_bytes();
  std::vector<int64_t> batch_dims, slice_dims;
  for (int64_t d : g.batch) batch_dims.push_back(out.dims()[d]);
  for (int64_t d : g.offset) slice_dims.push_back(out.dims()[d]);
  const int64_t index_rank = indices.rank();
  std::vector<int64_t> batch(batch_dims.size(), 0);
  do {
    // Where this index vector lies, then the operand offset it means.
    int64_t vector = 0, from = 0, to = 0;
    size_t k = 0;
    for (int64_t d = 0; d < index_rank; ++d) {
      if (d == g.index_vector) continue;
      vector += batch[k] * index_strides[d];
      for (size_t i = 0; i < g.indices_batching.size(); ++i)
        if (g.indices_batching[i] == d) from += batch[k] * x_strides[g.operand_batching[i]];
      to += batch[k] * out_strides[g.batch[k]];
      ++k;
    }
    for (size_t i = 0; i < g.index_map.size(); ++i) {
      const int64_t step = g.index_vector < index_rank ? index_strides[g.index_vector] : 0;
      const int64_t d = g.index_map[i];
      const int64_t start = indices.as_i64(vector + static_cast<int64_t>(i) * step);
      from += std::max<int64_t>(0, std::min(start, x.dims()[d] - slice_sizes[d])) * x_strides[d];
    }
    std::vector<int64_t> at(slice_dims.size(), 0);
    do {
      int64_t f = from, t = to;
      for (size_t i = 0; i < at.size(); ++i) {
        f += at[i] * x_strides[g.sliced[i]];
        t += at[i] * out_strides[g.offset[i]];
      }
      std::memcpy(o + t * size, x.bytes() + f * size, size);
    } while (next_index(at, slice_dims));
  } while (next_index(batch, batch_dims));
  return out;
}

loop::Expr gather_element(ElementContext& c, const std::vector<Dim>& slice_sizes,
                          const std::vector<loop::Expr>& index) {
  using namespace loop;
  const Op& op = *c.op;
  const GatherDims g = read_gather(op);
  const Shape& x = op.operand(0)->type.shape;
  const int64_t index_rank = op.operand(1)->type.rank();
  std::vector<Expr> from(x.size());
  for (size_t i = 0; i < g.offset.size(); ++i) from[g.sliced[i]] = index[g.offset[i]];
  std::vector<Expr> vector(index_rank);
  size_t k = 0;
  for (int64_t d = 0; d < index_rank; ++d) {
    if (d == g.index_vector) continue;
    const Expr& at = index[g.batch[k++]];
    vector[d] = at;
    for (size_t i = 0; i < g.indices_batching.size(); ++i)
      if (g.indices_batching[i] == d) from[g.operand_batching[i]] = at;
  }
  for (size_t i = 0; i < g.index_map.size(); ++i) {
    const int64_t d = g.index_map[i];
    const Dim last = x[d] - slice_sizes[d];
    if (equal(last, 0) == Truth::Yes) continue;  // only one place to start
    if (g.index_vector < index_rank) vector[g.index_vector] = int_const(static_cast<int64_t>(i));
    const Expr start = cast(c.operand(1, vector), DType::I64);
    const Expr clamped = imax(int_const(0), imin(start, c.dim(last)));
    from[d] = from[d] ? clamped + from[d] : clamped;
  }
  for (Expr& e : from)
    if (!e) e = int_const(0);
  return c.operand(0, from);
}

}  // namespace tenfold
