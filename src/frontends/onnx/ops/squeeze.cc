// Squeeze and Unsqueeze: axes as attribute (before opset 13) or input.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs squeeze(NodeContext& n) {
  Value* x = n.input(0);
  const Shape& in = x->type.shape;
  std::vector<int64_t> drop;
  auto given = n.opset() >= 13 ? n.axes_input_or_attr(1, "") : n.axes_input_or_attr(-1, "axes");
  if (given) {
    drop = n.axes(*given, x->type.rank());
    for (int64_t a : drop) {
      n.require_equal(in[static_cast<size_t>(a)], Dim(1), fmt::format("squeezed dimension {}", a));
    }
  } else {
    for (size_t i = 0; i < in.size(); ++i) {
      const Truth one = equal(in[i], Dim(1));
      if (one == Truth::Unknown) {
        n.need_dims(
            {in[i]},
            fmt::format("squeezing every dimension of 1: whether dimension {} of {} is one is "
                        "not known at import; give axes or fix the shape",
                        i, x->type.str()));
      }
      if (one == Truth::Yes) drop.push_back(static_cast<int64_t>(i));
    }
  }
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (std::find(drop.begin(), drop.end(), static_cast<int64_t>(i)) == drop.end()) {
      out.push_back(in[i]);
    }
  }
  return {n.b.reshape(x, out)};
}

Outputs unsqueeze(NodeContext& n) {
  Value* x = n.input(0);
  auto given = n.opset() >= 13 ? n.axes_input_or_attr(1, "") : n.axes_input_or_attr(-1, "axes");
  if (!given) n.invalid("axes are missing");
  const int64_t rank = x->type.rank() + static_cast<int64_t>(given->size());
  auto at = n.axes(*given, rank);
  Shape out;
  size_t from = 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (std::find(at.begin(), at.end(), i) != at.end()) {
      out.push_back(Dim(1));
    } else {
      out.push_back(x->type.shape[from++]);
    }
  }
  return {n.b.reshape(x, out)};
}

}  // namespace

extern const OnnxOp onnx_squeeze;
const OnnxOp onnx_squeeze = {
    .names = {{"Squeeze", {1, 11, 13, 21, 23, 24, 25}}, {"Unsqueeze", {1, 11, 13, 21, 23, 24, 25}}},
    .summary = "Drops or adds dimensions of one.",
    .convert = [](NodeContext& n) { return n.op_type() == "Squeeze" ? squeeze(n) : unsqueeze(n); },
    .limits = "axes known only at run time"};

}  // namespace tenfold::onnx
