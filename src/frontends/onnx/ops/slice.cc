// Slice: NumPy's basic slicing. Bounds may be known only at run time, steps may be negative.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

// Exporters write these and larger numbers for "to the end".
constexpr int64_t kInfinite = INT32_MAX;

// Counted from the end when negative: v < 0 ? v + size : v.
Dim wrapped(const Dim& v, const Dim& size) {
  if (v.min() >= 0) return v;
  if (v.max() < 0) return v + size;
  const Dim negative = min(max(-v, Dim(0)), Dim(1));  // 1 when v < 0
  return v + size * negative;
}

// Wrapped and cut to [low, high].
Dim bound(const Dim& v, const Dim& size, const Dim& low, const Dim& high) {
  if (const auto c = v.constant()) {
    if (*c >= kInfinite) return high;
    if (*c <= -kInfinite) return low;
  }
  return min(max(wrapped(v, size), low), high);
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const int64_t rank = x->type.rank();
  std::vector<Dim> starts, ends;
  std::vector<int64_t> axes, steps;
  if (n.opset() < 10) {
    for (int64_t v : n.attr_ints("starts")) starts.push_back(Dim(v));
    for (int64_t v : n.attr_ints("ends")) ends.push_back(Dim(v));
    axes = n.attr_ints("axes", iota_list(static_cast<int64_t>(starts.size())));
  } else {
    starts = n.dims(n.input(1), "start", INT64_MIN, INT64_MAX);
    ends = n.dims(n.input(2), "end", INT64_MIN, INT64_MAX);
    axes = n.axes_input_or_attr(3, "").value_or(iota_list(static_cast<int64_t>(starts.size())));
    if (Value* s = n.opt(4)) {
      const auto c = n.const_ints(s);
      if (!c) n.fail("steps must be known at import");
      steps = *c;
    }
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    n.invalid(fmt::format("{} starts, {} ends, {} axes, {} steps", starts.size(), ends.size(),
                          axes.size(), steps.size()));
  }
  axes = n.axes(axes, rank);
  std::vector<Dim> start(static_cast<size_t>(rank), Dim(0)), limit = x->type.shape;
  std::vector<int64_t> stride(static_cast<size_t>(rank), 1), reversed_stride = stride;
  std::vector<int64_t> reversed;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto a = static_cast<size_t>(axes[k]);
    const Dim size = x->type.shape[a];
    if (steps[k] == 0) n.invalid("a step is 0");
    if (steps[k] > 0) {
      start[a] = bound(starts[k], size, Dim(0), size);
      limit[a] = max(bound(ends[k], size, Dim(0), size), start[a]);
      // A step beyond any size takes the first element.
      stride[a] = std::min(steps[k], kInfinite);
    } else {
      // Elements end+1 ... start, then backwards.
      const Dim last = bound(starts[k], size, Dim(-1), size - Dim(1));
      const Dim before = bound(ends[k], size, Dim(-1), size - Dim(1));
      start[a] = before + Dim(1);
      limit[a] = max(last + Dim(1), start[a]);
      reversed.push_back(axes[k]);
      reversed_stride[a] = std::min(-std::max(steps[k], -kInfinite), kInfinite);
    }
  }
  Value* y = b.slice(x, start, limit, stride);
  if (!reversed.empty()) {
    y = b.create("stablehlo.reverse", {y}, {{"dimensions", Attr{reversed}}})->result();
    y = b.slice(y, std::vector<Dim>(static_cast<size_t>(rank), Dim(0)), y->type.shape,
                reversed_stride);
  }
  return {y};
}

}  // namespace

extern const OnnxOp onnx_slice;
const OnnxOp onnx_slice = {.names = {{"Slice", {1, 10, 11, 13}}},
                           .summary = "NumPy's basic slicing.",
                           .convert = convert,
                           .limits = "axes or steps known only at run time"};

}  // namespace tenfold::onnx
