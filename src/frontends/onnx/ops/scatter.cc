// ScatterElements (Scatter before opset 11) and ScatterND, with reductions.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

std::optional<Prim> reduction(NodeContext& n) {
  if (n.opset() < 16) return {};
  const std::string r = n.attr_s("reduction", "none");
  if (r == "none") return {};
  if (r == "add") return Prim::Add;
  if (r == "mul") return Prim::Mul;
  if (n.opset() >= 18 && r == "max") return Prim::Max;
  if (n.opset() >= 18 && r == "min") return Prim::Min;
  n.invalid("reduction '" + r + "' is not known at this opset");
}

Value* scatter(GraphBuilder& b, Value* x, Value* indices, Value* updates, std::optional<Prim> p,
               const std::vector<int64_t>& window, const std::vector<int64_t>& inserted,
               const std::vector<int64_t>& batch, const std::vector<int64_t>& map) {
  Op* op = b.create_open("stablehlo.scatter", {x, indices, updates},
                         {{"update_window_dims", Attr{window}},
                          {"inserted_window_dims", Attr{inserted}},
                          {"input_batching_dims", Attr{batch}},
                          {"scatter_indices_batching_dims", Attr{batch}},
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

Outputs scatter_elements(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *indices = n.input(1), *updates = n.input(2);
  const int64_t rank = x->type.rank();
  n.need_rank(x, 1, INT64_MAX, "data");
  n.need_rank(indices, rank, rank, "indices");
  n.need_rank(updates, rank, rank, "updates");
  if (!is_integer(indices->type.dtype)) n.invalid("indices must be integers");
  if (updates->type.dtype != x->type.dtype) n.invalid("updates have another element type");
  const int64_t axis = n.axis(n.attr_i("axis", 0), rank);
  const auto p = n.op_type() == "Scatter" ? std::nullopt : reduction(n);
  for (size_t i = 0; i < indices->type.shape.size(); ++i) {
    n.require_equal(indices->type.shape[i], updates->type.shape[i],
                    fmt::format("dimension {} of indices and updates", i));
  }
  Value* at = wrap_indices(b, indices, x->type.shape[static_cast<size_t>(axis)]);
  Shape column = at->type.shape;
  column.push_back(Dim(1));
  bool same = true;
  std::vector<int64_t> batch;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    batch.push_back(d);
    same &= equal(x->type.shape[static_cast<size_t>(d)], at->type.shape[static_cast<size_t>(d)]) ==
            Truth::Yes;
  }
  if (same) {
    return {scatter(b, x, b.reshape(at, column), updates, p, {}, {axis}, batch, {axis})};
  }
  // Shorter indices: full coordinates.
  std::vector<Value*> coordinates;
  for (int64_t d = 0; d < rank; ++d) {
    Value* c = d == axis ? at : b.iota({DType::I64, at->type.shape}, d);
    coordinates.push_back(b.reshape(c, column));
  }
  Value* tuples = b.concatenate(coordinates, rank);
  return {scatter(b, x, tuples, updates, p, {}, iota_list(rank), {}, iota_list(rank))};
}

Outputs scatter_nd(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *indices = n.input(1), *updates = n.input(2);
  n.need_rank(indices, 1, INT64_MAX, "indices");
  const int64_t q = indices->type.rank(), rank = x->type.rank();
  const int64_t k = n.static_dim(indices, q - 1, "the last dimension of the indices");
  if (k > rank) n.invalid(fmt::format("index tuples of {} for {}", k, x->type.str()));
  n.need_rank(updates, q - 1 + rank - k, q - 1 + rank - k, "updates");
  if (!is_integer(indices->type.dtype)) n.invalid("indices must be integers");
  if (updates->type.dtype != x->type.dtype) n.invalid("updates have another element type");
  const auto p = reduction(n);
  Value* at = wrap_tuples(b, indices, Shape(x->type.shape.begin(), x->type.shape.begin() + k));
  return {
      scatter(b, x, at, updates, p, iota_list(rank - k, q - 1), iota_list(k), {}, iota_list(k))};
}

}  // namespace

extern const OnnxOp onnx_scatter;
const OnnxOp onnx_scatter = {.names = {{"Scatter", {9, 11}},
                                       {"ScatterElements", {11, 13, 16, 18}},
                                       {"ScatterND", {11, 13, 16, 18}}},
                             .summary = "Writes or combines elements or slices at indices.",
                             .convert =
                                 [](NodeContext& n) {
                                   return n.op_type() == "ScatterND" ? scatter_nd(n)
                                                                     : scatter_elements(n);
                                 },
                             .limits = "string tensors"};

}  // namespace tenfold::onnx
