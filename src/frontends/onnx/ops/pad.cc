// Pad: by a constant, or by the tensor's own elements (edge, reflect, wrap). Negative pads crop.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

// Position -> source index along a dimension of `size` elements.
Value* source_index(GraphBuilder& b, const std::string& mode, Value* position, const Dim& size) {
  const auto number = [&](const Dim& d) { return b.full(b.dim_scalar(d), position->type.shape); };
  if (mode == "wrap") return b.binary(Prim::FloorMod, position, number(max(size, Dim(1))));
  if (mode == "reflect") {
    const Dim period = max((size - Dim(1)) * Dim(2), Dim(1));
    Value* m = b.binary(Prim::FloorMod, position, number(period));
    return b.select(b.compare("LT", m, number(size)), m, sub(b, number(period), m));
  }
  return position;  // edge: take() cuts to the range
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const int64_t rank = x->type.rank();
  const std::string mode = n.attr_s("mode", "constant");
  std::vector<std::optional<Dim>> pads;
  Value* list = nullptr;
  std::vector<int64_t> axes = iota_list(rank);
  Value* fill = nullptr;
  if (n.opset() < 11) {
    for (int64_t p : n.attr_ints(n.opset() < 2 ? "paddings" : "pads")) pads.push_back(Dim(p));
    fill = b.constant(x->type.dtype, n.attr_f("value", 0));
  } else {
    list = n.input(1);
    pads = n.partial_dims(list, "pads");
    fill = n.opt(2);
    if (fill && fill->type.dtype != x->type.dtype) {
      n.invalid("constant_value has another element type than the input");
    }
    if (fill) {
      if (!fill->type.is_static() || fill->type.num_elements().value() != 1) {
        n.invalid("constant_value must be one number, found " + fill->type.str());
      }
      fill = b.reshape(fill, {});
    } else {
      fill = b.constant(x->type.dtype, 0);
    }
    if (n.opset() >= 18) {
      if (auto a = n.axes_input_or_attr(3, "")) axes = n.axes(*a, rank);
    }
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      !(mode == "wrap" && n.opset() >= 19)) {
    n.invalid(fmt::format("mode '{}' is not known at this opset", mode));
  }
  if (pads.size() != 2 * axes.size()) {
    n.invalid(fmt::format("{} pads for {} dimensions", pads.size(), axes.size()));
  }
  std::vector<Dim> low(static_cast<size_t>(rank), Dim(0)), high = low;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<size_t>(axes[i]);
    const auto entry = [&](size_t k) {
      if (pads[k]) return *pads[k];
      // Known at run time only; a pad is at least -size, so pad + size is a size.
      const auto at = static_cast<int64_t>(k);
      Value* v = b.reshape(b.slice(b.reshape(list, {Dim(static_cast<int64_t>(pads.size()))}),
                                   {Dim(at)}, {Dim(at + 1)}, {1}),
                           {});
      const Dim size = x->type.shape[a];
      return n.runtime_dim(add(b, b.convert(v, DType::I64), b.dim_scalar(size)), "pad") - size;
    };
    low[a] = entry(i);
    high[a] = entry(i + axes.size());
  }
  if (mode == "constant") {
    return {b.pad(x, fill, low, high, std::vector<int64_t>(static_cast<size_t>(rank), 0))};
  }
  for (int64_t a = 0; a < rank; ++a) {
    const auto k = static_cast<size_t>(a);
    if (low[k] == Dim(0) && high[k] == Dim(0)) continue;
    const Dim size = x->type.shape[k];
    Value* at = b.iota({DType::I64, {size + low[k] + high[k]}}, 0);
    at = sub(b, at, b.full(b.dim_scalar(low[k]), at->type.shape));
    x = take(b, x, source_index(b, mode, at, size), a);
  }
  return {x};
}

}  // namespace

extern const OnnxOp onnx_pad;
const OnnxOp onnx_pad = {.names = {{"Pad", {1, 2, 11, 13, 18, 19, 21, 23, 24, 25}}},
                         .summary = "Adds elements at the ends of dimensions, or crops them.",
                         .convert = convert,
                         .limits = "axes known only at run time"};

}  // namespace tenfold::onnx
