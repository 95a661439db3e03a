// tenfold.max_pool_with_indices: max pooling that also says where each maximum stands.
#include "ops/attr_util.h"
#include "ops/row_util.h"
#include "ops/window_util.h"

namespace tenfold {

namespace {

std::vector<WindowDim> read_windows(const Op& op) {
  const Shape& in = op.operand()->type.shape;
  const size_t rank = in.size();
  const auto window = dims_or(op, "window_dimensions", rank, 1);
  const auto strides = i64s_or(op, "window_strides", rank, 1);
  const auto dilations = i64s_or(op, "window_dilations", rank, 1);
  const auto padding = dims_or(op, "padding", 2 * rank, 0);
  std::vector<WindowDim> w;
  for (size_t i = 0; i < rank; ++i)
    w.push_back(
        {in[i], window[i], strides[i], 1, dilations[i], padding[2 * i], padding[2 * i + 1], false});
  return w;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand()->type;
  const size_t rank = x.shape.size();
  if (!is_float(x.dtype) && !is_integer(x.dtype))
    diag.fail("C1", "wanted integers or floats, found " + x.str());
  const auto window = dims_or(op, "window_dimensions", rank, 1);
  const auto strides = i64s_or(op, "window_strides", rank, 1);
  const auto dilations = i64s_or(op, "window_dilations", rank, 1);
  if (window.size() != rank || strides.size() != rank || dilations.size() != rank ||
      dims_or(op, "padding", 2 * rank, 0).size() != 2 * rank)
    diag.fail("C2", "window attributes must have an entry (padding: two) for each dimension of " +
                        x.str());
  const auto positive = [](const std::vector<int64_t>& v) {
    return std::all_of(v.begin(), v.end(), [](int64_t n) { return n > 0; });
  };
  if (!positive(strides) || !positive(dilations) ||
      std::any_of(window.begin(), window.end(), [&](const Dim& d) { return !diag.at_most(1, d); }))
    diag.fail("C3", "window sizes, strides and dilations must be positive");
  TensorType out = x;
  if (diag.ok()) {
    const auto windows = read_windows(op);
    for (size_t d = 0; d < rank; ++d) out.shape[d] = num_windows(windows[d]);
  }
  return {out, {DType::I64, out.shape}};
}

// Strides of the flat index: row-major, with the dimensions from the third on reversed when
// column_major.
template <class T>
std::vector<T> index_strides(const std::vector<T>& dims, bool column_major, T one) {
  std::vector<T> strides(dims.size(), one);
  T at = one;
  std::vector<size_t> order;  // innermost first
  for (size_t d = dims.size(); d-- > 0;) order.push_back(d);
  if (column_major && dims.size() > 2) std::reverse(order.begin(), order.end() - 2);
  for (size_t d : order) {
    strides[d] = at;
    at = at * dims[d];
  }
  return strides;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  const Literal& x = c.args[0];
  Literal values(x.dtype(), c.shape(op.result(0)->type)), indices(DType::I64, values.dims());
  if (values.size() == 0) return std::vector<Literal>{values, indices};
  std::vector<WindowExtent> windows;
  std::vector<int64_t> window_dims;
  for (const WindowDim& w : read_windows(op)) {
    windows.push_back(extent_of(w, c));
    window_dims.push_back(windows.back().window);
  }
  const auto strides = row_major_strides(x.dims());
  const auto flat = index_strides<int64_t>(x.dims(), op.flag("column_major"), 1);
  const bool real = is_float(x.dtype());
  const auto beats = [&](int64_t a, int64_t b) {
    if (real) return std::isnan(x.as_f64(a)) ? !std::isnan(x.as_f64(b)) : x.as_f64(a) > x.as_f64(b);
    if (x.dtype() == DType::U64)
      return static_cast<uint64_t>(x.as_i64(a)) > static_cast<uint64_t>(x.as_i64(b));
    return x.as_i64(a) > x.as_i64(b);
  };
  std::vector<int64_t> at(windows.size(), 0);
  int64_t e = 0;
  do {
    int64_t best = -1, place = -1;
    std::vector<int64_t> tap(windows.size(), 0);
    do {
      int64_t offset = 0, where = 0;
      for (size_t d = 0; d < windows.size() && offset >= 0; ++d) {
        const int64_t i = windows[d].input(at[d], tap[d]);
        offset = i < 0 ? -1 : offset + i * strides[d];
        where += i * flat[d];
      }
      if (offset < 0 || (best >= 0 && !beats(offset, best))) continue;
      best = offset;
      place = where;
    } while (next_index(tap, window_dims));
    if (best >= 0 && real)
      values.set_f64(e, x.as_f64(best));
    else if (best >= 0)
      values.set_i64(e, x.as_i64(best));
    indices.set_i64(e++, place);
  } while (next_index(at, values.dims()));
  return std::vector<Literal>{values, indices};
}

Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  Builder& b = *c.b;
  const auto windows = read_windows(op);
  const size_t rank = windows.size();
  const DType t = op.result(0)->type.dtype;
  std::vector<Expr> shape, in;
  for (const Dim& d : op.result(0)->type.shape) shape.push_back(c.dim(d));
  for (const Dim& d : op.operand()->type.shape) in.push_back(c.dim(d));
  const auto strides = index_strides<Expr>(in, op.flag("column_major"), int_const(1));
  b.nest("o", shape, [&](const std::vector<Expr>& at) {
    const Buffer best = b.cell("best", zero(t));
    const Buffer place = b.cell("place", int_const(-1));
    std::vector<Expr> index(rank);
    Expr inside;
    const std::function<void(size_t)> taps = [&](size_t d) {
      if (d < rank) {
        const auto visit = [&](Expr k) {
          const Expr before = inside;
          const WindowAccess a = window_access(windows[d], c, at[d], k);
          index[d] = a.index;
          inside = both(inside, a.inside);
          taps(d + 1);
          inside = before;
        };
        if (windows[d].window == Dim(1))
          visit(int_const(0));
        else
          b.for_("k", c.dim(windows[d].window), visit);
        return;
      }
      const auto consider = [&] {
        const Expr x = b.let("x", c.operand(0, index));
        const Expr first = lt(b.get(place), int_const(0));
        b.if_(logical_or(first, ordered_before(x, b.get(best), true)), [&] {
          b.set(best, x);
          Expr flat = int_const(0);
          for (size_t i = 0; i < rank; ++i) flat = flat + index[i] * strides[i];
          b.set(place, flat);
        });
      };
      if (inside)
        b.if_(inside, consider);
      else
        consider();
    };
    taps(0);
    c.store(0, at, b.get(best));
    c.store(1, at, b.get(place));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_max_pool_with_indices;
const OpDef op_max_pool_with_indices = {
    .name = "tenfold.max_pool_with_indices",
    .summary = "Max pooling that also says where each maximum stands",
    .doc =
        "Results: the maxima and their flat i64 indices in the operand, as ONNX MaxPool counts "
        "them: row-major, or with the dimensions from the third on in column-major order. Padding "
        "is never chosen; of equal elements the first is, and NaN is the largest. A window "
        "outside the operand gives 0 and index -1.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = 2,
    .attrs = {{"window_dimensions", AttrKind::Dims},
              {"window_strides", AttrKind::I64s, false, "default 1"},
              {"window_dilations", AttrKind::I64s, false, "default 1"},
              {"padding", AttrKind::Dims, false, "low and high of each dimension; default 0"},
              {"column_major", AttrKind::Bool, false, "default false"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3"},
};

}  // namespace tenfold
