// Windows sliding over padded, dilated dimensions: shared by convolution and reduce_window.
#pragma once

#include "graph/op_def.h"

namespace tenfold {

// One dimension of a window, with possibly symbolic sizes.
struct WindowDim {
  Dim in, window;
  int64_t stride = 1, base_dilation = 1, window_dilation = 1;
  Dim low, high;  // padding; negative crops
  bool reversed = false;
};

// The number of window positions (StableHLO's num_windows), 0 where the window does not fit.
Dim num_windows(const WindowDim& w);

// The same with numbers, for evaluators.
struct WindowExtent {
  int64_t in, window, stride, base_dilation, window_dilation, low, high, out;
  bool reversed;
  // Input index under window position `o`, tap `k`; -1 in padding and dilation holes.
  int64_t input(int64_t o, int64_t k) const {
    if (reversed) k = window - 1 - k;
    const int64_t p = o * stride + k * window_dilation - low;
    if (p < 0 || p % base_dilation != 0) return -1;
    return p / base_dilation < in ? p / base_dilation : -1;
  }
};
WindowExtent extent_of(const WindowDim& w, const EvalContext& c);

// Loop-level access: the input index for position `o` and tap `k`, and when it is inside. A null
// condition means always.
struct WindowAccess {
  loop::Expr index;
  loop::Expr inside;
};
WindowAccess window_access(const WindowDim& w, EmitContext& c, const loop::Expr& o,
                           const loop::Expr& k);
// Conjunction where null means true.
loop::Expr both(const loop::Expr& a, const loop::Expr& b);

}  // namespace tenfold
