// tenfold.top_k: the k largest or smallest elements of every row, with their positions.
#include <cstring>
#include <numeric>

#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

constexpr int64_t kInsertionLimit = 64;

int64_t axis_of(const Op& op) {
  const int64_t a = i64_or(op, "axis", -1);
  return a < 0 ? a + op.operand()->type.rank() : a;
}
bool largest(const Op& op) {
  const Attr* a = op.attr("largest");
  return !a || !a->present() || a->as<bool>();
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand()->type;
  const DType index_type = type_or(op, "index_type", DType::I64);
  TensorType values = x;
  const int64_t axis = axis_of(op);
  const std::vector<Dim> k = dims_or(op, "k", 0, 0);
  if (is_complex(x.dtype)) diag.fail("C1", "complex numbers have no order: " + x.str());
  if (axis < 0 || axis >= x.rank())
    diag.fail("C2", "axis is " + std::to_string(i64_or(op, "axis", -1)) + " for " + x.str());
  if (k.size() != 1) diag.fail("C3", "k must be one number, found " + shape_str(k));
  if (index_type != DType::I64 && index_type != DType::I32)
    diag.fail("C4", "index_type must be i64 or i32, found " + std::string(name(index_type)));
  if (diag.ok()) {
    if (!diag.at_most(0, k[0]) || !diag.at_most(k[0], x.shape[axis]))
      diag.fail("C3", "k is " + k[0].str() + ", wanted 0 to " + x.shape[axis].str());
    values.shape[axis] = k[0];
  }
  return {values, {index_type, values.shape}};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  const Literal& x = c.args[0];
  const int64_t axis = axis_of(op);
  const bool descending = largest(op);
  Literal values(x.dtype(), c.shape(op.result(0)->type));
  Literal indices(op.result(1)->type.dtype, values.dims());
  const int64_t n = x.dims()[axis], k = values.dims()[axis];
  if (k > n)
    return c.error("top-k-range", "k is " + std::to_string(k) + ", the dimension has only " +
                                      std::to_string(n) + " elements");
  if (values.size() == 0) return std::vector<Literal>{values, indices};
  const int64_t stride = row_major_strides(x.dims())[axis];
  const size_t size = static_cast<size_t>(byte_size(x.dtype()));
  std::byte* to = values.mutable_bytes();
  std::vector<int64_t> order(static_cast<size_t>(n));
  const bool integer = !is_float(x.dtype());
  const bool huge = x.dtype() == DType::U64;
  for (int64_t row = 0; row < x.size() / n; ++row) {
    const int64_t base = row / stride * stride * n + row % stride;
    const int64_t out = row / stride * stride * k + row % stride;
    const auto less = [&](int64_t a, int64_t b) {  // in the order where NaN is the largest
      a = base + a * stride, b = base + b * stride;
      if (huge) return static_cast<uint64_t>(x.as_i64(a)) < static_cast<uint64_t>(x.as_i64(b));
      if (integer) return x.as_i64(a) < x.as_i64(b);
      const double u = x.as_f64(a), v = x.as_f64(b);
      return std::isnan(v) ? !std::isnan(u) : u < v;
    };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return descending ? less(b, a) : less(a, b); });
    for (int64_t i = 0; i < k; ++i) {
      std::memcpy(to + (out + i * stride) * size, x.bytes() + (base + order[i] * stride) * size,
                  size);
      indices.set_i64(out + i * stride, order[i]);
    }
  }
  return std::vector<Literal>{values, indices};
}

// A few elements are kept sorted while the row goes by; many are the head of a full sort.
Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  Builder& b = *c.b;
  const int64_t axis = axis_of(op);
  const bool descending = largest(op);
  const Shape& shape = op.operand()->type.shape;
  const DType t = op.operand()->type.dtype;
  const DType index_type = op.result(1)->type.dtype;
  const Dim k = dims_or(op, "k", 0, 0)[0];
  std::vector<Expr> outer;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (i != axis) outer.push_back(c.dim(shape[i]));
  const Expr n = c.dim(shape[axis]);
  for_rows(b, outer, [&](const std::vector<Expr>& row) {
    const auto at = [&](const Expr& i) {
      std::vector<Expr> index = row;
      index.insert(index.begin() + axis, i);
      return index;
    };
    if (k.is_const() && k.value() == 0) return;
    if (k.is_const() && k.value() <= kInsertionLimit) {
      const Expr count = c.dim(k);
      const Buffer values = b.alloc("values", t, {count});
      const Buffer places = b.alloc("places", DType::I64, {count});
      b.for_("i", n, [&](Expr i) {
        const Expr x = b.let("x", c.operand(0, at(i)));
        const Expr beats = guard(lt(i, count), bool_const(true),
                                 ordered_before(x, load(values, {count - 1}), descending));
        b.if_(beats, [&] {
          const Buffer p = b.cell("p", imin(i, count - 1));
          const Expr before = b.get(p) - 1;
          b.while_(guard(lt(int_const(0), b.get(p)),
                         ordered_before(x, load(values, {before}), descending), bool_const(false)),
                   [&] {
                     b.store(values, {b.get(p)}, load(values, {before}));
                     b.store(places, {b.get(p)}, load(places, {before}));
                     b.set(p, before);
                   });
          b.store(values, {b.get(p)}, x);
          b.store(places, {b.get(p)}, i);
        });
      });
      b.for_("i", count, [&](Expr i) {
        c.store(0, at(i), load(values, {i}));
        c.store(1, at(i), cast(load(places, {i}), index_type));
      });
      return;
    }
    const Buffer values = b.alloc("values", t, {int_const(2), n}, Scope::Workspace);
    const Buffer places = b.alloc("places", DType::I64, {int_const(2), n}, Scope::Workspace);
    b.for_("i", n, [&](Expr i) {
      b.store(values, {int_const(0), i}, c.operand(0, at(i)));
      b.store(places, {int_const(0), i}, i);
    });
    const Expr side =
        emit_merge_sort(b, n, {values, places}, [&](const Expr& s, const Expr& i, const Expr& j) {
          return ordered_before(load(values, {s, i}), load(values, {s, j}), descending);
        });
    b.for_("i", c.dim(k), [&](Expr i) {
      c.store(0, at(i), load(values, {side, i}));
      c.store(1, at(i), cast(load(places, {side, i}), index_type));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_top_k;
const OpDef op_top_k = {
    .name = "tenfold.top_k",
    .summary = "The k largest or smallest elements of every row, with their positions",
    .doc =
        "Results are the values and their indices along the axis, best first. Of equal elements "
        "the "
        "one with the lower index comes first; NaN counts as the largest number.",
    .kind = OpKind::Sort,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = 2,
    .attrs = {{"k", AttrKind::Dims, true, "one dimension: how many"},
              {"largest", AttrKind::Bool, false, "default true"},
              {"sorted", AttrKind::Bool, false,
               "false allows any order; results are always sorted"},
              {"axis", AttrKind::I64, false, "default -1"},
              {"index_type", AttrKind::Type, false, "i64 (default) or i32"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "C4"},
};

}  // namespace tenfold
