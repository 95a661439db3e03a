// See op_util.h.
#include "frontends/onnx/op_util.h"

#include <numeric>

namespace tenfold::onnx {

Value* take(GraphBuilder& b, Value* x, Value* indices, int64_t axis) {
  const int64_t r = x->type.rank(), k = indices->type.rank();
  std::vector<int64_t> offset;
  for (int64_t i = 0; i < r + k - 1; ++i) {
    if (i < axis || i >= axis + k) offset.push_back(i);
  }
  std::vector<Dim> sizes(x->type.shape);
  sizes[static_cast<size_t>(axis)] = Dim(1);
  return b
      .create("stablehlo.gather", {x, indices},
              {{"offset_dims", Attr{offset}},
               {"collapsed_slice_dims", Attr{std::vector<int64_t>{axis}}},
               {"operand_batching_dims", Attr{std::vector<int64_t>{}}},
               {"start_indices_batching_dims", Attr{std::vector<int64_t>{}}},
               {"start_index_map", Attr{std::vector<int64_t>{axis}}},
               {"index_vector_dim", Attr{k}},
               {"slice_sizes", Attr{sizes}},
               {"indices_are_sorted", Attr{false}}})
      ->result();
}

Value* wrap_indices(GraphBuilder& b, Value* indices, const Dim& size) {
  Value* i = b.convert(indices, DType::I64);
  Value* zero = like(b, i, 0);
  Value* n = b.full(b.dim_scalar(size), i->type.shape);
  return b.select(b.compare("LT", i, zero), b.binary(Prim::Add, i, n), i);
}

Value* like(GraphBuilder& b, Value* x, double v) { return b.splat(x->type, v); }

DType wide(DType t) { return is_float(t) && t != DType::F64 ? DType::F32 : t; }

Value* add(GraphBuilder& b, Value* x, double v) { return add(b, x, like(b, x, v)); }
Value* mul(GraphBuilder& b, Value* x, double v) { return mul(b, x, like(b, x, v)); }
Value* sub_from(GraphBuilder& b, double v, Value* x) { return sub(b, like(b, x, v), x); }
Value* div_from(GraphBuilder& b, double v, Value* x) { return div(b, like(b, x, v), x); }
Value* max(GraphBuilder& b, Value* x, double v) { return b.binary(Prim::Max, x, like(b, x, v)); }
Value* min(GraphBuilder& b, Value* x, double v) { return b.binary(Prim::Min, x, like(b, x, v)); }

Value* mean(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, bool keep_dims) {
  Value* sum = b.reduce(Prim::Add, x, dims, keep_dims);
  Dim count(1);
  for (int64_t d : dims) count = count * x->type.shape[static_cast<size_t>(d)];
  Value* n = b.convert(b.dim_scalar(count), x->type.dtype);
  return div(b, sum, b.full(n, sum->type.shape));
}

Value* legacy_operand(NodeContext& n, Value* x, Value* y) {
  if (n.opset() >= 7) return y;
  n.ignore_attr("consumed_inputs");
  const bool broadcast = n.attr_flag("broadcast");
  const int64_t rx = x->type.rank(), ry = y->type.rank();
  if (!n.has_attr("axis")) return y;
  const int64_t axis = n.axis(n.attr_i("axis"), rx);
  if (!broadcast) return y;
  if (axis + ry > rx) n.invalid("axis and the second operand's rank exceed the first one's rank");
  Shape s = y->type.shape;
  for (int64_t i = axis + ry; i < rx; ++i) s.push_back(Dim(1));
  return n.b.reshape(y, s);
}

std::vector<int64_t> iota_list(int64_t n, int64_t from) {
  std::vector<int64_t> out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), from);
  return out;
}

std::vector<int64_t> axis_last(int64_t rank, int64_t axis) {
  std::vector<int64_t> p;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != axis) p.push_back(i);
  }
  p.push_back(axis);
  return p;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return out;
}

Dim product_of(const Shape& s, size_t from, size_t to) {
  Dim p(1);
  for (size_t i = from; i < to; ++i) p = p * s[i];
  return p;
}

Value* flatten2(GraphBuilder& b, Value* x, int64_t axis) {
  const auto a = static_cast<size_t>(axis);
  return b.reshape(
      x, {product_of(x->type.shape, 0, a), product_of(x->type.shape, a, x->type.shape.size())});
}

}  // namespace tenfold::onnx
