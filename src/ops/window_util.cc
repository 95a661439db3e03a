#include "ops/window_util.h"

namespace tenfold {

Dim num_windows(const WindowDim& w) {
  // (in - 1) * dilation + 1, and 0 for an empty input.
  Dim dilated = w.in;
  if (w.base_dilation != 1) {
    dilated = (w.in - 1) * w.base_dilation + 1;
    if (w.in.min() < 1) dilated = max(dilated, 0);
  }
  const Dim padded = w.low + dilated + w.high;
  Dim span = w.window;
  if (w.window_dilation != 1) {
    span = (w.window - 1) * w.window_dilation + 1;
    if (w.window.min() < 1) span = max(span, 0);
  }
  if (equal(padded, 0) == Truth::Yes) return 0;
  // Where the span does not fit the quotient is negative and the count at most 0.
  const Dim count = floordiv(padded - span, w.stride) + 1;
  if (less_equal(span, padded) == Truth::Yes) return count;
  return max(count, 0);
}

WindowExtent extent_of(const WindowDim& w, const EvalContext& c) {
  return {c.dim(w.in),     c.dim(w.window),       w.stride,
          w.base_dilation, w.window_dilation,     c.dim(w.low),
          c.dim(w.high),   c.dim(num_windows(w)), w.reversed};
}

loop::Expr both(const loop::Expr& a, const loop::Expr& b) {
  if (!a) return b;
  if (!b) return a;
  return loop::logical_and(a, b);
}

WindowAccess window_access(const WindowDim& w, EmitContext& c, const loop::Expr& o,
                           const loop::Expr& k) {
  using namespace loop;
  const Expr tap = w.reversed ? c.dim(w.window - 1) - k : k;
  const Expr p = o * w.stride + tap * w.window_dilation - c.dim(w.low);
  WindowAccess a;
  a.index = p;
  if (less_equal(w.low, 0) != Truth::Yes) a.inside = ge(p, int_const(0));
  if (w.base_dilation != 1) {
    const Expr step = int_const(w.base_dilation);
    a.inside = both(a.inside, eq(imod(p, step), int_const(0)));
    a.index = idiv(p, step);
  }
  // The last tap of the last window ends within `high` of the end, so without high padding no tap
  // passes it.
  if (less_equal(w.high, 0) != Truth::Yes) a.inside = both(a.inside, lt(a.index, c.dim(w.in)));
  return a;
}

}  // namespace tenfold
