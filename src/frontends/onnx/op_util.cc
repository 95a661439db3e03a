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

Value* wrap_tuples(GraphBuilder& b, Value* indices, const Shape& sizes) {
  Value* i = b.convert(indices, DType::I64);
  Value* n = b.broadcast_in_dim(b.dims_value(sizes), i->type.shape, {i->type.rank() - 1});
  return b.select(b.compare("LT", i, like(b, i, 0)), add(b, i, n), i);
}

Value* positions_of(NodeContext& n, Value* mask, std::string_view stem) {
  GraphBuilder& b = n.b;
  const Dim size = mask->type.shape[0];
  Value* ones = b.convert(mask, DType::I64);
  // Each true element goes to the slot of its rank among them; the others out of range, which
  // drops them.
  Value* rank = b.create("tenfold.cumulative", {ones},
                         {{"prim", Attr{std::string("add")}},
                          {"axis", Attr{int64_t{0}}},
                          {"exclusive", Attr{true}}})
                    ->result();
  Value* slot = b.select(mask, rank, like(b, rank, -1));
  Value* slots = b.reshape(slot, {size, Dim(1)});
  Value* empty = b.splat({DType::I64, {size}}, 0);
  Op* op = b.create_open("stablehlo.scatter", {empty, slots, b.iota({DType::I64, {size}}, 0)},
                         {{"update_window_dims", Attr{std::vector<int64_t>{}}},
                          {"inserted_window_dims", Attr{std::vector<int64_t>{0}}},
                          {"scatter_dims_to_operand_dims", Attr{std::vector<int64_t>{0}}},
                          {"index_vector_dim", Attr{int64_t{1}}}});
  Block* body = op->add_region();
  body->add_arg({DType::I64, {}});
  Value* now = body->add_arg({DType::I64, {}});
  GraphBuilder inner(b.module(), body);
  inner.return_({now});
  Value* packed = b.finish(op)->result();
  const Dim count = n.runtime_dim(b.reduce(Prim::Add, ones, {0}), stem, 0, size.max());
  return b.slice(packed, {Dim(0)}, {count}, {1});
}

Value* reverse_sequence(GraphBuilder& b, Value* x, Value* lens, int64_t batch, int64_t time) {
  const Shape& s = x->type.shape;
  const Shape grid = {s[0], s[1]};
  Value* t = b.iota({DType::I64, grid}, time);
  Value* len = b.broadcast_in_dim(b.convert(lens, DType::I64), grid, {batch});
  Value* back = sub(b, add(b, len, -1), t);
  Value* from = b.select(b.compare("LT", t, len), back, t);
  Shape sizes = s, column = grid;
  sizes[0] = sizes[1] = Dim(1);
  column.push_back(Dim(1));
  return b
      .create("stablehlo.gather", {x, b.reshape(from, column)},
              {{"offset_dims", Attr{iota_list(x->type.rank() - 2, 2)}},
               {"collapsed_slice_dims", Attr{std::vector<int64_t>{time}}},
               {"operand_batching_dims", Attr{std::vector<int64_t>{batch}}},
               {"start_indices_batching_dims", Attr{std::vector<int64_t>{batch}}},
               {"start_index_map", Attr{std::vector<int64_t>{time}}},
               {"index_vector_dim", Attr{int64_t{2}}},
               {"slice_sizes", Attr{sizes}}})
      ->result();
}

Value* like(GraphBuilder& b, Value* x, double v) { return b.splat(x->type, v); }

DType wide(DType t) { return is_float(t) && t != DType::F64 ? DType::F32 : t; }

Value* add(GraphBuilder& b, Value* x, double v) { return add(b, x, like(b, x, v)); }
Value* mul(GraphBuilder& b, Value* x, double v) { return mul(b, x, like(b, x, v)); }
Value* sub_from(GraphBuilder& b, double v, Value* x) { return sub(b, like(b, x, v), x); }
Value* div_from(GraphBuilder& b, double v, Value* x) { return div(b, like(b, x, v), x); }
Value* max(GraphBuilder& b, Value* x, double v) { return b.binary(Prim::Max, x, like(b, x, v)); }
Value* min(GraphBuilder& b, Value* x, double v) { return b.binary(Prim::Min, x, like(b, x, v)); }

Value* count_of(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, DType t) {
  Dim count(1);
  for (int64_t d : dims) count = count * x->type.shape[static_cast<size_t>(d)];
  if (count.is_const() && is_float(t)) return b.constant(t, static_cast<double>(count.value()));
  return b.convert(b.dim_scalar(count), t);
}

Value* mean(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, bool keep_dims) {
  Value* sum = b.reduce(Prim::Add, x, dims, keep_dims);
  return div(b, sum, b.full(count_of(b, x, dims, x->type.dtype), sum->type.shape));
}

Value* matmul(NodeContext& n, Value* x, Value* y) {
  GraphBuilder& b = n.b;
  const DType t = x->type.dtype;
  if (y->type.dtype != t) n.invalid("operands differ in element type");
  n.need_rank(x, 1, INT64_MAX, "A");
  n.need_rank(y, 1, INT64_MAX, "B");
  x = b.convert(x, wide(t));
  y = b.convert(y, wide(t));
  const auto rx = static_cast<size_t>(x->type.rank());
  auto ry = static_cast<size_t>(y->type.rank());
  n.require_equal(x->type.shape[rx - 1], y->type.shape[ry == 1 ? 0 : ry - 2],
                  "contracted dimensions");
  // Leading ones of B carry nothing.
  if (ry > 2 && ry <= rx) {
    bool ones = true;
    for (size_t i = 0; i + 2 < ry; ++i) ones &= y->type.shape[i] == Dim(1);
    if (ones) {
      y = b.reshape(y, Shape(y->type.shape.end() - 2, y->type.shape.end()));
      ry = 2;
    }
  }
  if (rx > 2 && ry > 2) {
    const Shape bx(x->type.shape.begin(), x->type.shape.end() - 2);
    const Shape by(y->type.shape.begin(), y->type.shape.end() - 2);
    const Shape batch = n.broadcast_shape({bx, by});
    const auto spread = [&](Value* v) {
      Shape s = batch;
      s.insert(s.end(), v->type.shape.end() - 2, v->type.shape.end());
      return n.broadcast_to(v, s);
    };
    x = spread(x);
    y = spread(y);
  } else if (rx == 2 && ry > 2) {
    // [m, k] x [..., k, n] -> [..., n, m] -> [..., m, n]
    const auto r = static_cast<int64_t>(ry);
    Value* p = b.dot_general(y, x, {}, {}, {r - 2}, {1});
    std::vector<int64_t> perm = iota_list(r);
    std::swap(perm[ry - 1], perm[ry - 2]);
    return b.convert(b.transpose(p, perm), t);
  }
  return b.convert(b.matmul(x, y), t);
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
