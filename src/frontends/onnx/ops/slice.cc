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

// A list of bounds, some of whose entries are known only at run time.
struct Bounds {
  Value* list = nullptr;
  std::vector<std::optional<Dim>> entries;
};

// Entry k, wrapped and cut to [low, high]; `high` where that is below `low`. Never below `least`.
Dim bound(NodeContext& n, const Bounds& bounds, size_t k, const Dim& size, const Dim& low,
          const Dim& high, const Dim& least) {
  if (const auto& v = bounds.entries[k]) {
    if (const auto c = v->constant()) {
      if (*c >= kInfinite) return high;
      if (*c <= -kInfinite) return min(low, high);
    }
    const Dim at = wrapped(*v, size);
    return equal(at, high) == Truth::Yes ? high : min(max(at, low), high);
  }
  GraphBuilder& b = n.b;
  const auto i = static_cast<int64_t>(k);
  Value* v = b.reshape(b.slice(bounds.list, {Dim(i)}, {Dim(i + 1)}, {1}), {});
  v = wrap_indices(b, v, size);
  v = b.binary(Prim::Min, b.binary(Prim::Max, v, b.dim_scalar(low)), b.dim_scalar(high));
  // Bound as a distance from `least`, which is never negative.
  return n.runtime_dim(sub(b, v, b.dim_scalar(least)), "bound", 0, (high - least).max()) + least;
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const int64_t rank = x->type.rank();
  Bounds starts, ends;
  std::vector<int64_t> axes, steps;
  if (n.opset() < 10) {
    for (int64_t v : n.attr_ints("starts")) starts.entries.push_back(Dim(v));
    for (int64_t v : n.attr_ints("ends")) ends.entries.push_back(Dim(v));
    axes = n.attr_ints("axes", iota_list(static_cast<int64_t>(starts.entries.size())));
  } else {
    starts.list = n.input(1);
    ends.list = n.input(2);
    n.need_rank(starts.list, 1, 1, "starts");
    n.need_rank(ends.list, 1, 1, "ends");
    starts.entries = n.partial_dims(starts.list, "starts");
    ends.entries = n.partial_dims(ends.list, "ends");
    const auto all = iota_list(static_cast<int64_t>(starts.entries.size()));
    axes = n.axes_input_or_attr(3, "").value_or(all);
    if (Value* s = n.opt(4)) {
      steps = n.need_ints(s, "steps");
    }
  }
  const size_t count = starts.entries.size();
  if (steps.empty()) steps.assign(count, 1);
  if (ends.entries.size() != count || axes.size() != count || steps.size() != count) {
    n.invalid(fmt::format("{} starts, {} ends, {} axes, {} steps", count, ends.entries.size(),
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
      start[a] = bound(n, starts, k, size, Dim(0), size, Dim(0));
      limit[a] = max(bound(n, ends, k, size, Dim(0), size, Dim(0)), start[a]);
      // A step beyond any size takes the first element.
      stride[a] = std::min(steps[k], kInfinite);
    } else {
      // Elements end+1 ... start, then backwards. A start before the first element is the first (in
      // NumPy it is none): the text cuts starts to [0, size - 1], and ends to [-1, size - 1].
      const Dim last = bound(n, starts, k, size, Dim(0), size - Dim(1), Dim(-1));
      const Dim before = bound(n, ends, k, size, Dim(-1), size - Dim(1), Dim(-1));
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
