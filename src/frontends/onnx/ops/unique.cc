// Unique: a stable sort brings equals together; runs of equals are then counted.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// Stable ascending sort of dimension 0 of keys [n] with a passenger; NaN last.
std::vector<Value*> sort(B& b, Value* keys, Value* other) {
  Op* op = b.create_open("stablehlo.sort", {keys, other},
                         {{"dimension", Attr{int64_t{0}}}, {"is_stable", Attr{true}}});
  Block* body = op->add_region();
  Value* x = body->add_arg({keys->type.dtype, {}});
  Value* y = body->add_arg({keys->type.dtype, {}});
  body->add_arg({other->type.dtype, {}});
  body->add_arg({other->type.dtype, {}});
  B inner(b.module(), body);
  Value* less = inner.compare("LT", x, y);
  if (is_float(keys->type.dtype)) {
    Value* number = inner.compare("EQ", x, x);
    Value* nan = inner.compare("NE", y, y);
    less = inner.binary(Prim::Or, less, inner.binary(Prim::And, number, nan));
  }
  inner.return_({less});
  b.finish(op);
  return {op->result(0), op->result(1)};
}

// Whether elements differ, NaN being equal to NaN.
Value* differ(B& b, Value* x, Value* y) {
  Value* d = b.compare("NE", x, y);
  if (!is_float(x->type.dtype)) return d;
  Value* nans = b.binary(Prim::And, b.compare("NE", x, x), b.compare("NE", y, y));
  return b.binary(Prim::And, d, b.unary(Prim::Not, nans));
}

Value* drop(B& b, Value* x, const Dim& front, const Dim& back) {
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  start[0] = front;
  limit[0] = limit[0] - back;
  return b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
}

Outputs convert(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const DType t = x->type.dtype;
  if (is_complex(t)) n.fail("onnx-unsupported-type", "complex numbers have no order");
  const bool ms = !n.domain().empty();  // com.microsoft: a vector, in order of occurrence
  if (ms) n.need_rank(x, 1, 1, "x");
  const bool sorted = !ms && n.attr_flag("sorted", true);
  const bool has_axis = !ms && n.has_attr("axis");
  const int64_t axis = has_axis ? n.axis(n.attr_i("axis"), x->type.rank()) : 0;
  // Rows [count, width], what is compared.
  Value* moved = x;
  std::vector<int64_t> perm;
  if (has_axis) {
    perm = {axis};
    for (int64_t i = 0; i < x->type.rank(); ++i) {
      if (i != axis) perm.push_back(i);
    }
    moved = b.transpose(x, perm);
  } else {
    moved = b.reshape(x, {product_of(x->type.shape, 0, x->type.shape.size())});
  }
  const Dim count = moved->type.shape[0];
  const Dim width = product_of(moved->type.shape, 1, moved->type.shape.size());
  Value* rows = b.reshape(moved, {count, width});
  if (t == DType::Bool) rows = b.convert(rows, DType::U8);
  const DType kt = rows->type.dtype;
  // The order: sorts by the last column first, each sort keeping the order of equals.
  Value* order = b.iota({DType::I64, {count}}, 0);
  if (width == Dim(1)) {
    order = sort(b, b.reshape(rows, {count}), order)[1];
  } else {
    const auto step = [&](B& c, const std::vector<Value*>& a) -> std::vector<Value*> {
      Value* k = add(c, a[0], -1);
      Value* column = c.create("stablehlo.dynamic_slice", {rows, c.constant_i(DType::I64, 0), k},
                               {{"slice_sizes", Attr{std::vector<Dim>{count, Dim(1)}}}})
                          ->result();
      Value* keys = take(c, c.reshape(column, {count}), a[1], 0);
      return {k, sort(c, keys, a[1])[1]};
    };
    order = b.while_(
        {b.dim_scalar(width), order},
        [&](B& c, const std::vector<Value*>& a) -> std::vector<Value*> {
          return {c.compare("GT", a[0], like(c, a[0], 0))};
        },
        step)[1];
  }
  // A row starts a group when it differs from the one before it.
  Value* ranked = take(b, rows, order, 0);
  Value* previous = b.pad(drop(b, ranked, Dim(0), min(count, Dim(1))), b.constant(kt, 0),
                          {min(count, Dim(1)), Dim(0)}, {Dim(0), Dim(0)}, {0, 0});
  Value* starts = b.reduce(Prim::Or, differ(b, ranked, previous), {1});
  Value* first =
      b.compare("EQ", b.iota({DType::I64, {count}}, 0), b.splat({DType::I64, {count}}, 0));
  starts = b.binary(Prim::Or, starts, first);
  Value* heads = positions_of(n, starts, "unique");  // in sorted order
  const Dim groups = heads->type.shape[0];
  Value* group = add(b,
                     b.create("tenfold.cumulative", {b.convert(starts, DType::I64)},
                              {{"prim", Attr{std::string("add")}},
                               {"axis", Attr{int64_t{0}}},
                               {"reverse", Attr{false}},
                               {"exclusive", Attr{false}}})
                         ->result(),
                     -1);
  Value* indices = take(b, order, heads, 0);
  Value* ends = b.concatenate({drop(b, heads, min(groups, Dim(1)), Dim(0)),
                               b.full(b.dim_scalar(count), {min(groups, Dim(1))})},
                              0);
  Value* counts = sub(b, ends, heads);
  const auto scatter = [&](Value* into, Value* at, Value* values) {
    Op* op = b.create_open("stablehlo.scatter",
                           {into, b.reshape(at, {at->type.shape[0], Dim(1)}), values},
                           {{"update_window_dims", Attr{std::vector<int64_t>{}}},
                            {"inserted_window_dims", Attr{std::vector<int64_t>{0}}},
                            {"input_batching_dims", Attr{std::vector<int64_t>{}}},
                            {"scatter_indices_batching_dims", Attr{std::vector<int64_t>{}}},
                            {"scatter_dims_to_operand_dims", Attr{std::vector<int64_t>{0}}},
                            {"index_vector_dim", Attr{int64_t{1}}},
                            {"indices_are_sorted", Attr{false}},
                            {"unique_indices", Attr{true}}});
    Block* body = op->add_region();
    body->add_arg({DType::I64, {}});
    Value* now = body->add_arg({DType::I64, {}});
    B inner(b.module(), body);
    inner.return_({now});
    return b.finish(op)->result();
  };
  if (!sorted) {
    // Groups in order of their first occurrence, and each group's place in that order.
    Value* numbers = b.iota({DType::I64, {groups}}, 0);
    const auto by_first = sort(b, indices, numbers);
    indices = by_first[0];
    counts = take(b, counts, by_first[1], 0);
    Value* place = scatter(b.splat({DType::I64, {groups}}, 0), by_first[1], numbers);
    group = take(b, place, group, 0);
  }
  Value* inverse = scatter(b.splat({DType::I64, {count}}, 0), order, group);
  Value* y = take(b, moved, indices, 0);
  if (has_axis) y = b.transpose(y, tenfold::onnx::inverse(perm));
  if (ms) return {y, inverse, counts};
  return {y, indices, inverse, counts};
}

}  // namespace

extern const OnnxOp onnx_unique;
const OnnxOp onnx_unique = {.names = {{"Unique", {11, 28}}},
                            .summary = "Distinct elements or slices, with indices and counts.",
                            .convert = convert,
                            .limits = "string and complex tensors"};

}  // namespace tenfold::onnx
