// ConvTranspose: the gradient of Conv, as a convolution over an input spread by the strides.
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
  const DType t = x->type.dtype;
  if (weights->type.dtype != t || (bias && bias->type.dtype != t)) {
    n.invalid("X, W and B differ in element type");
  }
  const auto rank = static_cast<size_t>(x->type.rank());
  const size_t k = rank - 2;
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < rank; ++i) {
    kernel.push_back(n.static_dim(weights, static_cast<int64_t>(i), "the kernel's shape"));
  }
  if (n.attr_ints("kernel_shape", kernel) != kernel) {
    n.invalid("kernel_shape differs from the weights' shape");
  }
  const std::vector<int64_t> ones(k, 1), zeros(k, 0);
  const auto strides = n.attr_ints("strides", ones), dilations = n.attr_ints("dilations", ones);
  const auto extra = n.attr_ints("output_padding", zeros);
  const auto pads = n.attr_ints("pads", std::vector<int64_t>(2 * k, 0));
  auto wanted = n.attr_ints("output_shape", {});
  const std::string auto_pad = n.attr_s("auto_pad", "NOTSET");
  if (strides.size() != k || dilations.size() != k || extra.size() != k || pads.size() != 2 * k) {
    n.invalid(
        fmt::format("strides, dilations, output_padding or pads do not fit {} spatial "
                    "dimensions",
                    k));
  }
  // Some exporters write batch and channels too.
  if (wanted.size() == rank) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != k) {
    n.invalid(
        fmt::format("output_shape has {} entries for {} spatial dimensions", wanted.size(), k));
  }
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "VALID" && !auto_pad.empty()) {
    n.invalid("auto_pad '" + auto_pad + "'");
  }
  const int64_t group = n.attr_i("group", 1);
  if (group < 1) n.invalid(fmt::format("group is {}", group));
  n.require_equal(weights->type.shape[0], x->type.shape[1], "channels of W and X");
  n.require_equal(mod(x->type.shape[1], Dim(group)), Dim(0), "channels modulo group");

  Window w;
  w.kernel = kernel;
  w.strides = ones;
  w.dilations = dilations;
  for (size_t i = 0; i < k; ++i) {
    constexpr int64_t kLimit = int64_t{1} << 30;
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1 || extra[i] < 0 ||
        strides[i] > kLimit || dilations[i] > kLimit / kernel[i] || extra[i] > kLimit) {
      n.invalid(fmt::format("stride {}, dilation {}, kernel {}, output_padding {}", strides[i],
                            dilations[i], kernel[i], extra[i]));
    }
    const Dim in = x->type.shape[i + 2];
    const Dim full = Dim(strides[i]) * (in - Dim(1)) + Dim(extra[i]) + Dim(w.extent(i));
    Dim begin(0), end(0);
    if (same || !wanted.empty()) {
      const Dim out = !wanted.empty() ? Dim(wanted[i]) : in * Dim(strides[i]);
      const Dim total = full - out;
      const Dim half = floordiv(total, Dim(2));
      begin = auto_pad == "SAME_UPPER" ? half : total - half;
      end = total - begin;
    } else if (auto_pad != "VALID") {
      begin = Dim(pads[i]);
      end = Dim(pads[i + k]);
    }
    w.out.push_back(full - begin - end);
    if (w.out.back().is_const() && w.out.back().value() < 0) {
      n.invalid(
          fmt::format("spatial dimension {} of the result would be {}", i, w.out.back().str()));
    }
    w.low.push_back(Dim(w.extent(i) - 1) - begin);
    w.high.push_back(Dim(w.extent(i) - 1 + extra[i]) - end);
  }
  // [C, M/g, ...] -> [C/g, g * M/g, ...]
  Value* v = b.convert(weights, wide(t));
  if (group > 1) {
    const Dim c = floordiv(v->type.shape[0], Dim(group)), m = v->type.shape[1];
    Shape split = {Dim(group), c, m}, merged = {c, Dim(group) * m};
    for (size_t i = 2; i < rank; ++i) {
      split.push_back(v->type.shape[i]);
      merged.push_back(v->type.shape[i]);
    }
    std::vector<int64_t> perm = iota_list(static_cast<int64_t>(split.size()));
    std::swap(perm[0], perm[1]);
    v = b.reshape(b.transpose(b.reshape(v, split), perm), merged);
  }
  if (bias)
    n.require_equal(bias->type.shape[0], v->type.shape[1], "sizes of B and output channels");
  Value* r = convolution(b, b.convert(x, wide(t)), v, w, group, strides, true, true);
  if (bias) {
    r = add(b, r, b.broadcast_in_dim(b.convert(bias, wide(t)), r->type.shape, {1}));
  }
  return {b.convert(r, t)};
}

}  // namespace

extern const OnnxOp onnx_conv_transpose;
const OnnxOp onnx_conv_transpose = {.names = {{"ConvTranspose", {1, 11, 22}}},
                                    .summary = "Transposed convolution.",
                                    .convert = convert};

}  // namespace tenfold::onnx
