// CenterCropPad: the middle of a tensor, or the tensor in the middle of zeros.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const auto target = n.dims(n.input(1), "crop", 0);
  const int64_t rank = x->type.rank();
  const auto axes = n.axes(n.attr_ints("axes", iota_list(rank)), rank);
  if (axes.size() != target.size()) {
    n.invalid(fmt::format("{} sizes for {} axes", target.size(), axes.size()));
  }
  Shape start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
  Shape low = start, high = start;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto a = static_cast<size_t>(axes[k]);
    const Dim cut = max(x->type.shape[a] - target[k], Dim(0));
    const Dim grow = max(target[k] - x->type.shape[a], Dim(0));
    start[a] = floordiv(cut, Dim(2));
    limit[a] = x->type.shape[a] - cut + start[a];
    low[a] = floordiv(grow, Dim(2));
    high[a] = grow - low[a];
  }
  Value* v = b.slice(x, start, limit, std::vector<int64_t>(start.size(), 1));
  return {b.pad(v, b.constant(x->type.dtype, 0), low, high, std::vector<int64_t>(start.size(), 0))};
}

}  // namespace

extern const OnnxOp onnx_center_crop_pad;
const OnnxOp onnx_center_crop_pad = {.names = {{"CenterCropPad", {18}}},
                                     .summary = "Crops or pads around the centre.",
                                     .convert = convert,
                                     .limits = "string tensors"};

}  // namespace tenfold::onnx
