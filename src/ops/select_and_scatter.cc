// stablehlo.select_and_scatter: the gradient of pooling.
#include <cstring>

#include "ops/attr_util.h"
#include "ops/region_util.h"
#include "ops/window_util.h"

namespace tenfold {

namespace {

std::vector<WindowDim> read_windows(const Op& op) {
  const Shape& in = op.operand(0)->type.shape;
  const size_t rank = in.size();
  const auto window = dims_or(op, "window_dimensions", rank, 1);
  const auto strides = i64s_or(op, "window_strides", rank, 1);
  const auto padding = dims_or(op, "padding", 2 * rank, 0);
  std::vector<WindowDim> w;
  for (size_t i = 0; i < rank; ++i)
    w.push_back({in[i], window[i], strides[i], 1, 1, padding[2 * i], padding[2 * i + 1], false});
  return w;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = op.operand(0)->type;
  const TensorType& source = op.operand(1)->type;
  const TensorType& init = op.operand(2)->type;
  const size_t rank = x.shape.size();
  if (x.dtype != source.dtype)
    diag.fail("C1", "operand is " + x.str() + ", source " + source.str());
  if (init.rank() != 0 || init.dtype != x.dtype)
    diag.fail("C3", "init_value is " + init.str() + ", wanted tensor<" +
                        std::string(name(x.dtype)) + ">");
  const auto window = dims_or(op, "window_dimensions", rank, 1);
  const auto strides = i64s_or(op, "window_strides", rank, 1);
  if (window.size() != rank)
    diag.fail("C4", "window_dimensions has " + std::to_string(window.size()) + " entries, wanted " +
                        std::to_string(rank));
  for (const Dim& d : window)
    if (!diag.at_most(1, d))
      diag.fail("C5", "window_dimensions must be positive, found " + d.str());
  if (strides.size() != rank)
    diag.fail("C6", "window_strides has " + std::to_string(strides.size()) + " entries, wanted " +
                        std::to_string(rank));
  for (int64_t s : strides)
    if (s <= 0) diag.fail("C7", "window_strides must be positive, found " + std::to_string(s));
  if (dims_or(op, "padding", 2 * rank, 0).size() != 2 * rank)
    diag.fail("C8",
              "padding must have two numbers for each of " + std::to_string(rank) + " dimensions");
  if (op.num_regions() != 2) {
    diag.fail("C9", "wanted the regions select and scatter");
    return {x};
  }
  check_scalar_region(*op.region(0), {x.dtype, x.dtype}, {DType::Bool}, "C9", "select", diag);
  check_scalar_region(*op.region(1), {x.dtype, x.dtype}, {x.dtype}, "C10", "scatter", diag);
  if (!diag.ok()) return {x};
  Shape want;
  for (const WindowDim& w : read_windows(op)) want.push_back(num_windows(w));
  if (shapes_differ(diag, want, source.shape))
    diag.fail("C2", "source is " + source.str() + ", the windows are " + shape_str(want));
  return {x};
}

// Window by window, as the specification says it.
Result<std::vector<Literal>> eval(EvalContext& c) {
  const Op& op = *c.op;
  const Literal& x = c.args[0];
  const Literal& source = c.args[1];
  const size_t size = static_cast<size_t>(byte_size(x.dtype()));
  Literal out(x.dtype(), x.dims());
  std::byte* o = out.mutable_bytes();
  for (int64_t i = 0; i < out.size(); ++i) std::memcpy(o + i * size, c.args[2].bytes(), size);
  if (source.size() == 0) return std::vector<Literal>{out};
  std::vector<WindowExtent> windows;
  std::vector<int64_t> window_dims;
  for (const WindowDim& w : read_windows(op)) {
    windows.push_back(extent_of(w, c));
    window_dims.push_back(windows.back().window);
  }
  const auto strides = row_major_strides(x.dims());
  ScalarRegion select(c, *op.region(0)), scatter(c, *op.region(1));
  std::vector<int64_t> at(windows.size(), 0);
  int64_t flat = 0;
  do {
    int64_t best = -1;
    std::vector<int64_t> tap(windows.size(), 0);
    do {
      int64_t offset = 0;
      for (size_t d = 0; d < windows.size() && offset >= 0; ++d) {
        const int64_t i = windows[d].input(at[d], tap[d]);
        offset = i < 0 ? -1 : offset + i * strides[d];
      }
      if (offset < 0) continue;
      if (best >= 0) {
        std::byte keep{};
        TF_TRY(select.call({x.bytes() + best * size, x.bytes() + offset * size}, {&keep}));
        if (keep != std::byte{}) continue;
      }
      best = offset;
    } while (next_index(tap, window_dims));
    if (best >= 0)
      TF_TRY(scatter.call({o + best * size, source.bytes() + flat * size}, {o + best * size}));
    ++flat;
  } while (next_index(at, source.dims()));
  return std::vector<Literal>{out};
}

// Element by element: which of the windows over this element chose it? Costs a window for each of
// the few windows over an element, but every element is independent and the order is fixed.
Status emit(EmitContext& c) {
  using namespace loop;
  const Op& op = *c.op;
  Builder& b = *c.b;
  const auto windows = read_windows(op);
  const Shape& source = op.operand(1)->type.shape;
  const int rank = static_cast<int>(windows.size());
  const DType t = op.operand(0)->type.dtype;
  std::vector<Expr> shape;
  for (const Dim& d : op.result()->type.shape) shape.push_back(c.dim(d));
  b.nest("i", shape, [&](const std::vector<Expr>& at) {
    const Buffer sum = b.cell("sum", c.operand(2, {}));
    std::vector<Expr> window(rank);
    const std::function<void(int)> over_windows = [&](int d) {
      if (d < rank) {
        const WindowDim& w = windows[d];
        if (w.window == Dim(1) && w.stride == 1 && w.low == Dim(0) && w.high == Dim(0)) {
          window[d] = at[d];
          return over_windows(d + 1);
        }
        // Windows o with o * stride - low <= at < o * stride - low + window.
        const Expr p = at[d] + c.dim(w.low);
        const Expr stride = int_const(w.stride);
        const Expr first = imax(int_const(0), idiv(p - c.dim(w.window) + w.stride, stride));
        const Expr limit = imin(c.dim(source[d]), idiv(p, stride) + 1);
        b.for_range("o", first, imax(int_const(0), limit - first), [&](Expr o) {
          window[d] = o;
          over_windows(d + 1);
        });
        return;
      }
      // The window's choice, as an element and its coordinates.
      const Buffer found = b.cell("found", bool_const(false));
      const Buffer best = b.cell("best", zero(t));
      std::vector<Buffer> place;
      for (int i = 0; i < rank; ++i) place.push_back(b.cell("place", int_const(0)));
      std::vector<Expr> index(rank);
      Expr inside;
      const std::function<void(int)> taps = [&](int e) {
        if (e < rank) {
          const auto visit = [&](Expr k) {
            const Expr before = inside;
            const WindowAccess a = window_access(windows[e], c, window[e], k);
            index[e] = a.index;
            inside = both(inside, a.inside);
            taps(e + 1);
            inside = before;
          };
          if (windows[e].window == Dim(1))
            visit(int_const(0));
          else
            b.for_("k", c.dim(windows[e].window), visit);
          return;
        }
        const auto consider = [&] {
          const Expr x = b.let("x", c.operand(0, index));
          const Buffer keep = b.cell("keep", bool_const(false));
          b.if_(b.get(found),
                [&] { b.set(keep, c.inline_region(*op.region(0), {b.get(best), x})[0]); });
          b.if_(logical_not(b.get(keep)), [&] {
            b.set(found, bool_const(true));
            b.set(best, x);
            for (int i = 0; i < rank; ++i) b.set(place[i], index[i]);
          });
        };
        if (inside)
          b.if_(inside, consider);
        else
          consider();
      };
      taps(0);
      Expr chosen = b.get(found);
      for (int i = 0; i < rank; ++i) chosen = logical_and(chosen, eq(b.get(place[i]), at[i]));
      b.if_(chosen, [&] {
        b.set(sum, c.inline_region(*op.region(1), {b.get(sum), c.operand(1, window)})[0]);
      });
    };
    over_windows(0);
    c.store(0, at, b.get(sum));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_select_and_scatter;
const OpDef op_select_and_scatter = {
    .name = "stablehlo.select_and_scatter",
    .summary = "Scatters source values to the element each window selects",
    .doc =
        "Operands are the windowed tensor, one source value for each window, and a scalar initial "
        "value. `select` says whether to keep the first element; padding is never selected. Source "
        "values meet in row-major order of the windows.",
    .kind = OpKind::Window,
    .min_operands = 3,
    .max_operands = 3,
    .num_regions = 2,
    .attrs = {{"window_dimensions", AttrKind::Dims, false, "default 1"},
              {"window_strides", AttrKind::I64s, false, "default 1"},
              {"padding", AttrKind::Dims, false, "low and high of each dimension; default 0"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10"},
};

}  // namespace tenfold
