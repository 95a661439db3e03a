// CausalConvWithState: a depthwise convolution over the past, whose end is carried on.
#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *w = n.input(1), *bias = n.opt(2), *past = n.opt(3);
  const DType t = x->type.dtype;
  n.need_rank(x, 3, 3, "input");
  n.need_rank(w, 3, 3, "weight");
  const std::string activation = n.attr_s("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    n.invalid("activation '" + activation + "', wanted none, silu or swish");
  }
  const int64_t k = n.static_dim(w, 2, "the kernel's length");
  const int64_t channels = n.static_dim(w, 0, "the number of channels");
  if (k < 1) n.invalid("the kernel is empty");
  n.require_equal(x->type.shape[1], Dim(channels), "channels of input and weight");
  n.require_equal(w->type.shape[1], Dim(1), "the weight's second dimension");
  const Shape state = {x->type.shape[0], Dim(channels), Dim(k - 1)};
  if (past) {
    n.need_rank(past, 3, 3, "past_state");
    n.require_equal(past->type.shape[2], Dim(k - 1), "the length of past_state");
    x = b.concatenate({past, x}, 2);
  } else {
    x = b.concatenate({b.splat({t, state}, 0), x}, 2);
  }
  const Shape s = x->type.shape;
  Window win;
  win.kernel = {k};
  win.strides = win.dilations = {1};
  win.low = win.high = {Dim(0)};
  win.out = {s[2] - Dim(k - 1)};
  Value* y = convolution(b, b.convert(x, wide(t)), b.convert(w, wide(t)), win, channels);
  if (bias) {
    n.need_rank(bias, 1, 1, "bias");
    n.require_equal(bias->type.shape[0], Dim(channels), "sizes of bias and channels");
    y = add(b, y, b.broadcast_in_dim(b.convert(bias, wide(t)), y->type.shape, {1}));
  }
  if (activation != "none") y = mul(b, y, b.unary(Prim::Logistic, y));
  Value* present = b.slice(x, {Dim(0), Dim(0), s[2] - Dim(k - 1)}, s, {1, 1, 1});
  return {b.convert(y, t), present};
}

}  // namespace

extern const OnnxOp onnx_causal_conv_with_state;
const OnnxOp onnx_causal_conv_with_state = {
    .names = {{"CausalConvWithState", {27}}},
    .summary = "Depthwise convolution over the past, with the state to go on from.",
    .convert = convert};

}  // namespace tenfold::onnx
