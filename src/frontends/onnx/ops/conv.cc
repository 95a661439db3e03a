// Conv: any number of spatial dimensions, groups, dilations, automatic padding.
#include <fmt/format.h>

#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *weights = n.input(1), *bias = n.opt(2);
  n.need_rank(x, 3, 16, "X");
  n.need_rank(weights, x->type.rank(), x->type.rank(), "W");
  if (bias) n.need_rank(bias, 1, 1, "B");
  const int64_t rank = x->type.rank();
  const DType t = x->type.dtype;
  if (weights->type.dtype != t || (bias && bias->type.dtype != t)) {
    n.invalid("X, W and B differ in element type");
  }
  std::vector<int64_t> kernel;
  for (int64_t i = 2; i < rank; ++i)
    kernel.push_back(n.static_dim(weights, i, "the kernel's shape"));
  const Window w =
      read_window(n, Shape(x->type.shape.begin() + 2, x->type.shape.end()), kernel, true, false);
  const int64_t group = n.attr_i("group", 1);
  const Dim channels = x->type.shape[1], out = weights->type.shape[0];
  if (group < 1) n.invalid(fmt::format("group is {}", group));
  n.require_equal(weights->type.shape[1] * Dim(group), channels, "channels of W times group and X");
  n.require_equal(mod(out, Dim(group)), Dim(0), "output channels modulo group");
  if (bias) n.require_equal(bias->type.shape[0], out, "sizes of B and output channels");
  Value* r = convolution(b, b.convert(x, wide(t)), b.convert(weights, wide(t)), w, group);
  if (bias) {
    r = add(b, r, b.broadcast_in_dim(b.convert(bias, wide(t)), r->type.shape, {1}));
  }
  return {b.convert(r, t)};
}

}  // namespace

extern const OnnxOp onnx_conv;
const OnnxOp onnx_conv = {.names = {{"Conv", {1, 11, 22}}},
                          .summary = "Convolution over any number of spatial dimensions.",
                          .convert = convert};

}  // namespace tenfold::onnx
