// The attributes that convolutions and pools share: kernel, strides, dilations, padding.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

struct Window {
  std::vector<int64_t> kernel, strides, dilations;  // per spatial dimension
  std::vector<Dim> low, high;                       // padding
  std::vector<Dim> out;                             // number of positions
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

// Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad and, where `may_ceil`,
// ceil_mode for spatial dimensions `in`. With ceil_mode, `high` covers the last window, and windows
// that would start in the padding at the end are left out.
Window read_window(NodeContext& n, const std::vector<Dim>& in, std::vector<int64_t> kernel,
                   bool has_dilations, bool may_ceil);

// reduce_window by `p` over the spatial dimensions (after the first two) of x, padded by p's
// identity `init`.
Value* reduce_window(GraphBuilder& b, Prim p, Value* x, Value* init, const Window& w);

// stablehlo.convolution of NCHW... by OIHW... weights, with w.out stated as the spatial sizes.
// `lhs_dilation` and `reversed` serve transposed convolutions.
Value* convolution(GraphBuilder& b, Value* x, Value* weights, const Window& w, int64_t groups,
                   std::vector<int64_t> lhs_dilation = {}, bool reversed = false,
                   bool weights_io = false);

}  // namespace tenfold::onnx
