// TensorScatter: writes a piece of a sequence into a cache, at a place for each batch entry.
#include <fmt/format.h>

#include "frontends/onnx/ops/scatter_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *cache = n.input(0), *update = n.input(1), *at = n.opt(2);
  const int64_t rank = cache->type.rank();
  n.need_rank(cache, 2, 16, "past_cache");
  n.need_rank(update, rank, rank, "update");
  if (update->type.dtype != cache->type.dtype) n.invalid("cache and update differ in type");
  const int64_t axis = n.axis(n.attr_i("axis", -2), rank);
  if (axis == 0) n.invalid("axis 0 is the batch");
  const std::string mode = n.attr_s("mode", "linear");
  if (mode != "linear" && mode != "circular") n.invalid("mode '" + mode + "'");
  const auto a = static_cast<size_t>(axis);
  for (size_t i = 0; i < cache->type.shape.size(); ++i) {
    if (i != a) n.require_equal(cache->type.shape[i], update->type.shape[i], "cache and update");
  }
  const Dim batch = cache->type.shape[0], length = update->type.shape[a];
  const Dim most = cache->type.shape[a];
  const Shape grid = {batch, length};
  Value* place = b.iota({DType::I64, grid}, 1);
  if (at) {
    n.need_rank(at, 1, 1, "write_indices");
    place = add(b, place, b.broadcast_in_dim(b.convert(at, DType::I64), grid, {0}));
  }
  if (mode == "circular") {
    place = b.binary(Prim::FloorMod, place, b.full(b.dim_scalar(max(most, Dim(1))), grid));
  }
  // Updates with batch and sequence first, the slices after them.
  std::vector<int64_t> perm = {0, axis}, window, inserted = {axis};
  for (int64_t i = 1; i < rank; ++i) {
    if (i != axis) perm.push_back(i);
  }
  window = iota_list(rank - 2, 2);
  return {scatter(b, cache, b.reshape(place, {batch, length, Dim(1)}), b.transpose(update, perm),
                  {}, window, inserted, {axis}, {0}, {0})};
}

}  // namespace

extern const OnnxOp onnx_tensor_scatter;
const OnnxOp onnx_tensor_scatter = {.names = {{"TensorScatter", {24}}},
                                    .summary = "Updates a cache at an index for each entry.",
                                    .convert = convert,
                                    .limits = "string tensors"};

}  // namespace tenfold::onnx
