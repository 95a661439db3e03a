// Gather, GatherElements, GatherND. Negative indices count from the end.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

void need_integers(NodeContext& n, Value* v) {
  if (!is_integer(v->type.dtype)) n.invalid("indices must be integers, found " + v->type.str());
}

Outputs gather(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *indices = n.input(1);
  n.need_rank(x, 1, INT64_MAX, "data");
  need_integers(n, indices);
  const int64_t axis = n.axis(n.attr_i("axis", 0), x->type.rank());
  const Dim size = x->type.shape[static_cast<size_t>(axis)];
  const auto known = n.const_ints(indices);
  if (known && size.is_const()) {
    for (int64_t i : *known) {
      if (i < -size.value() || i >= size.value()) {
        n.invalid(fmt::format("index {} is outside a dimension of {}", i, size.value()));
      }
    }
  }
  if (known && size.is_const() && known->size() == 1) {
    // One index is a slice.
    const int64_t i = (*known)[0] < 0 ? (*known)[0] + size.value() : (*known)[0];
    std::vector<Dim> start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
    start[static_cast<size_t>(axis)] = Dim(i);
    limit[static_cast<size_t>(axis)] = Dim(i + 1);
    Value* y = b.slice(x, start, limit, std::vector<int64_t>(x->type.shape.size(), 1));
    Shape s(x->type.shape.begin(), x->type.shape.begin() + axis);
    s.insert(s.end(), indices->type.shape.begin(), indices->type.shape.end());
    s.insert(s.end(), x->type.shape.begin() + axis + 1, x->type.shape.end());
    return {b.reshape(y, s)};
  }
  if (known && x->type.rank() == 1 && size.is_const() && indices->type.rank() <= 1) {
    // Picking sizes gives sizes.
    if (auto d = n.known_dims(x)) {
      std::vector<Dim> out;
      for (int64_t i : *known)
        out.push_back((*d)[static_cast<size_t>(i < 0 ? i + size.value() : i)]);
      Value* v = b.dims_value(out, x->type.dtype);
      return {b.reshape(v, indices->type.shape)};
    }
  }
  const bool positive =
      is_unsigned(indices->type.dtype) ||
      (known && std::all_of(known->begin(), known->end(), [](int64_t i) { return i >= 0; }));
  return {take(b, x, positive ? indices : wrap_indices(b, indices, size), axis)};
}

Outputs gather_elements(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *indices = n.input(1);
  need_integers(n, indices);
  const int64_t rank = x->type.rank();
  n.need_rank(x, 1, INT64_MAX, "data");
  n.need_rank(indices, rank, rank, "indices");
  const int64_t axis = n.axis(n.attr_i("axis", 0), rank);
  const auto a = static_cast<size_t>(axis);
  // Other dimensions of the indices may be shorter.
  Shape limit = indices->type.shape;
  limit[a] = x->type.shape[a];
  for (size_t i = 0; i < limit.size(); ++i) {
    if (less(x->type.shape[i], limit[i]) == Truth::Yes) {
      n.invalid(fmt::format("dimension {} of the indices is larger than the data's", i));
    }
  }
  x = b.slice(x, Shape(limit.size(), Dim(0)), limit, std::vector<int64_t>(limit.size(), 1));
  Value* i = wrap_indices(b, indices, x->type.shape[a]);
  Shape column = i->type.shape;
  column.push_back(Dim(1));
  std::vector<int64_t> batch;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis) batch.push_back(d);
  }
  return {b.create("stablehlo.gather", {x, b.reshape(i, column)},
                   {{"offset_dims", Attr{std::vector<int64_t>{}}},
                    {"collapsed_slice_dims", Attr{std::vector<int64_t>{axis}}},
                    {"operand_batching_dims", Attr{batch}},
                    {"start_indices_batching_dims", Attr{batch}},
                    {"start_index_map", Attr{std::vector<int64_t>{axis}}},
                    {"index_vector_dim", Attr{rank}},
                    {"slice_sizes", Attr{Shape(limit.size(), Dim(1))}}})
              ->result()};
}

Outputs gather_nd(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *indices = n.input(1);
  need_integers(n, indices);
  n.need_rank(indices, 1, INT64_MAX, "indices");
  const int64_t q = indices->type.rank(), rank = x->type.rank();
  const int64_t batch = n.opset() >= 12 ? n.attr_i("batch_dims", 0) : 0;
  const int64_t k = n.static_dim(indices, q - 1, "the last dimension of the indices");
  if (batch < 0 || batch >= q || batch + k > rank) {
    n.invalid(
        fmt::format("batch_dims {} and index tuples of {} do not fit {}", batch, k, x->type.str()));
  }
  Value* i = wrap_tuples(b, indices,
                         Shape(x->type.shape.begin() + batch, x->type.shape.begin() + batch + k));
  Shape sizes = x->type.shape;
  for (int64_t d = 0; d < batch + k; ++d) sizes[static_cast<size_t>(d)] = Dim(1);
  return {b.create("stablehlo.gather", {x, i},
                   {{"offset_dims", Attr{iota_list(rank - batch - k, q - 1)}},
                    {"collapsed_slice_dims", Attr{iota_list(k, batch)}},
                    {"operand_batching_dims", Attr{iota_list(batch)}},
                    {"start_indices_batching_dims", Attr{iota_list(batch)}},
                    {"start_index_map", Attr{iota_list(k, batch)}},
                    {"index_vector_dim", Attr{q - 1}},
                    {"slice_sizes", Attr{sizes}}})
              ->result()};
}

Outputs convert(NodeContext& n) {
  if (n.op_type() == "Gather") return gather(n);
  return n.op_type() == "GatherND" ? gather_nd(n) : gather_elements(n);
}

}  // namespace

extern const OnnxOp onnx_gather;
const OnnxOp onnx_gather = {
    .names = {{"Gather", {1, 11, 13}}, {"GatherElements", {11, 13}}, {"GatherND", {11, 12, 13}}},
    .summary = "Elements or slices at indices.",
    .convert = convert,
    .limits = "string tensors"};

}  // namespace tenfold::onnx
