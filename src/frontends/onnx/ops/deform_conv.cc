// DeformConv: a convolution whose taps are moved by offsets and interpolated linearly.
#include <fmt/format.h>

#include "frontends/onnx/ops/sample_util.h"
#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *weights = n.input(1), *offset = n.input(2);
  Value *bias = n.opt(3), *mask = n.opt(4);
  n.need_rank(x, 3, 8, "X");
  const int64_t rank = x->type.rank(), r = rank - 2;
  n.need_rank(weights, rank, rank, "W");
  n.need_rank(offset, rank, rank, "offset");
  const DType t = x->type.dtype, w = wide(t);
  std::vector<int64_t> kernel;
  for (int64_t i = 2; i < rank; ++i) {
    kernel.push_back(n.static_dim(weights, i, "the kernel's shape"));
  }
  const Window win =
      read_window(n, Shape(x->type.shape.begin() + 2, x->type.shape.end()), kernel, true, false);
  const int64_t group = n.attr_i("group", 1), groups = n.attr_i("offset_group", 1);
  const int64_t channels = n.static_dim(x, 1, "the number of channels");
  const int64_t outputs = n.static_dim(weights, 0, "the number of output channels");
  if (group < 1 || groups < 1 || channels % groups || channels % group || outputs % group) {
    n.invalid(fmt::format("{} channels and {} outputs in {} groups, {} offset groups", channels,
                          outputs, group, groups));
  }
  int64_t taps = 1;
  for (int64_t k : kernel) taps *= k;
  const Dim batch = x->type.shape[0];
  n.require_equal(offset->type.shape[1], Dim(groups * taps * r), "channels of offset");
  n.require_equal(weights->type.shape[1], Dim(channels / group), "input channels of W");
  Shape out(win.out.begin(), win.out.end());
  for (int64_t i = 0; i < r; ++i) {
    n.require_equal(offset->type.shape[static_cast<size_t>(i) + 2], out[static_cast<size_t>(i)],
                    "spatial dimensions of offset and result");
  }
  const Dim places = product_of(out, 0, out.size());
  // Offsets [batch * groups, taps, r, places]; images [batch * groups, channels / groups, ...].
  const Dim images = batch * Dim(groups);
  Value* off = b.reshape(b.convert(offset, w), {images, Dim(taps), Dim(r), places});
  const Shape place = {images, Dim(taps), places};
  std::vector<Value*> at;
  for (int64_t i = 0; i < r; ++i) {
    const auto k = static_cast<size_t>(i);
    Value* moved = b.slice(off, {Dim(0), Dim(0), Dim(i), Dim(0)},
                           {images, Dim(taps), Dim(i + 1), places}, {1, 1, 1, 1});
    moved = b.reshape(moved, place);
    // Tap index and place index along this dimension.
    Shape tap_shape, full_out = out;
    for (int64_t d : kernel) tap_shape.push_back(Dim(d));
    Value* tap = b.reshape(b.iota({w, tap_shape}, i), {Dim(taps)});
    Value* pos = b.reshape(b.iota({w, full_out}, i), {places});
    tap = mul(b, tap, static_cast<double>(win.dilations[k]));
    pos = mul(b, pos, static_cast<double>(win.strides[k]));
    pos = sub(b, pos, number_like(b, pos, win.low[k]));
    Value* base = add(b, b.broadcast_in_dim(tap, place, {1}), b.broadcast_in_dim(pos, place, {2}));
    at.push_back(add(b, base, moved));
  }
  Shape image = x->type.shape;
  image[0] = images;
  image[1] = Dim(channels / groups);
  Value* v = sample(b, b.reshape(b.convert(x, w), image), at, Sampling::Linear, Outside::Zeros,
                    true);  // [images, channels / groups, taps, places]
  if (mask) {
    n.need_rank(mask, rank, rank, "mask");
    n.require_equal(mask->type.shape[1], Dim(groups * taps), "channels of mask");
    Value* m = b.reshape(b.convert(mask, w), place);
    v = mul(b, v, over_channels(b, m, v->type.shape));
  }
  // [batch, group, channels / group * taps, places] by [group, outputs / group, the same].
  const Dim inner(channels / group * taps);
  v = b.reshape(v, {batch, Dim(group), inner, places});
  Value* f = b.reshape(b.convert(weights, w), {Dim(group), Dim(outputs / group), inner});
  Value* y = b.dot_general(f, v, {0}, {1}, {2}, {2});  // [group, outputs / group, batch, places]
  y = b.transpose(y, {2, 0, 1, 3});
  Shape result = {batch, Dim(outputs)};
  result.insert(result.end(), out.begin(), out.end());
  y = b.reshape(y, result);
  if (bias) {
    n.need_rank(bias, 1, 1, "B");
    n.require_equal(bias->type.shape[0], Dim(outputs), "sizes of B and output channels");
    y = add(b, y, b.broadcast_in_dim(b.convert(bias, w), result, {1}));
  }
  return {b.convert(y, t)};
}

}  // namespace

extern const OnnxOp onnx_deform_conv;
const OnnxOp onnx_deform_conv = {.names = {{"DeformConv", {19, 22}}},
                                 .summary = "Convolution with moved, interpolated taps.",
                                 .convert = convert};

}  // namespace tenfold::onnx
