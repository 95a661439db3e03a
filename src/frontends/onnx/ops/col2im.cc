// Col2Im and MaxUnpool: elements put back where a window took them from.
#include <fmt/format.h>

#include "frontends/onnx/ops/scatter_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

Outputs col2im(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 3, 3, "input");
  const auto image = n.dims(n.input(1), "image", 0);
  const auto block = n.dims(n.input(2), "block", 0);
  const size_t r = image.size();
  if (block.size() != r || r == 0) n.invalid("image_shape and block_shape differ in length");
  const std::vector<int64_t> ones(r, 1);
  const auto strides = n.attr_ints("strides", ones), dilations = n.attr_ints("dilations", ones);
  const auto pads = n.attr_ints("pads", std::vector<int64_t>(2 * r, 0));
  if (strides.size() != r || dilations.size() != r || pads.size() != 2 * r) {
    n.invalid("strides, dilations or pads have another number of entries than image_shape");
  }
  Shape grid, out = image, taps = block;
  for (size_t i = 0; i < r; ++i) {
    if (strides[i] < 1 || dilations[i] < 1) n.invalid("a stride or dilation is below 1");
    const Dim extent = (block[i] - Dim(1)) * Dim(dilations[i]) + Dim(1);
    grid.push_back(floordiv(image[i] + Dim(pads[i]) + Dim(pads[i + r]) - extent, Dim(strides[i])) +
                   Dim(1));
  }
  const Dim tap_count = product_of(taps, 0, r), places = product_of(grid, 0, r);
  n.require_equal(places, x->type.shape[2], "blocks of the image and of the input");
  n.require_equal(mod(x->type.shape[1], tap_count), Dim(0), "channels modulo the block's size");
  const Dim batch = x->type.shape[0], channels = floordiv(x->type.shape[1], tap_count);
  // Where tap k of block l goes: [taps, places, r].
  const Shape where = {tap_count, x->type.shape[2]};
  std::vector<Value*> parts;
  for (size_t i = 0; i < r; ++i) {
    const auto d = static_cast<int64_t>(i);
    Value* tap = b.reshape(b.iota({DType::I64, taps}, d), {tap_count});
    Value* place = b.reshape(b.iota({DType::I64, grid}, d), {x->type.shape[2]});
    tap = mul(b, tap, static_cast<double>(dilations[i]));
    place = add(b, mul(b, place, static_cast<double>(strides[i])), -static_cast<double>(pads[i]));
    Value* at = add(b, b.broadcast_in_dim(tap, where, {0}), b.broadcast_in_dim(place, where, {1}));
    parts.push_back(b.reshape(at, {where[0], where[1], Dim(1)}));
  }
  Value* index = r == 1 ? parts[0] : b.concatenate(parts, 2);
  Shape result = {batch, channels};
  result.insert(result.end(), out.begin(), out.end());
  Value* updates = b.reshape(x, {batch, channels, tap_count, x->type.shape[2]});
  const Prim p = x->type.dtype == DType::Bool ? Prim::Or : Prim::Add;
  const DType t = x->type.dtype, w = wide(t);
  // What lands in the padding is dropped.
  Value* y = scatter(b, b.splat({w, result}, 0), index, b.convert(updates, w), p, {0, 1},
                     iota_list(static_cast<int64_t>(r), 2), iota_list(static_cast<int64_t>(r), 2));
  return {b.convert(y, t)};
}

Outputs max_unpool(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *at = n.input(1), *size = n.opt(2);
  n.need_rank(x, 3, 16, "X");
  n.need_rank(at, x->type.rank(), x->type.rank(), "I");
  const auto kernel = n.attr_ints("kernel_shape");
  const size_t r = kernel.size();
  if (r + 2 != x->type.shape.size()) n.invalid("kernel_shape does not fit X");
  const auto strides = n.attr_ints("strides", std::vector<int64_t>(r, 1));
  const auto pads = n.attr_ints("pads", std::vector<int64_t>(2 * r, 0));
  if (strides.size() != r || pads.size() != 2 * r) n.invalid("strides or pads do not fit X");
  Shape inferred = {x->type.shape[0], x->type.shape[1]};
  for (size_t i = 0; i < r; ++i) {
    inferred.push_back((x->type.shape[i + 2] - Dim(1)) * Dim(strides[i]) - Dim(pads[i]) -
                       Dim(pads[i + r]) + Dim(kernel[i]));
  }
  const Dim count = product_of(x->type.shape, 0, x->type.shape.size());
  const Dim total = product_of(inferred, 0, inferred.size());
  Value* flat = scatter(b, b.splat({x->type.dtype, {total}}, 0),
                        b.reshape(b.convert(at, DType::I64), {count, Dim(1)}),
                        b.reshape(x, {count}), {}, {}, {0}, {0});
  Value* y = b.reshape(flat, inferred);
  if (!size) return {y};
  const auto stated = n.dims(size, "unpooled", 0);
  if (stated.size() != inferred.size()) n.invalid("output_shape has another rank than X");
  Shape low(stated.size(), Dim(0)), high;
  for (size_t i = 0; i < stated.size(); ++i) high.push_back(stated[i] - inferred[i]);
  return {
      b.pad(y, b.constant(x->type.dtype, 0), low, high, std::vector<int64_t>(stated.size(), 0))};
}

Outputs convert(NodeContext& n) { return n.op_type() == "Col2Im" ? col2im(n) : max_unpool(n); }

}  // namespace

extern const OnnxOp onnx_col2im;
const OnnxOp onnx_col2im = {.names = {{"Col2Im", {18}}, {"MaxUnpool", {9, 11, 22}}},
                            .summary = "Puts columns or pooled elements back into an image.",
                            .convert = convert,
                            .limits = "string tensors"};

}  // namespace tenfold::onnx
