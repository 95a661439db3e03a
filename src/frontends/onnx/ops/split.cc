// Split: sizes as attribute, as input (also at run time), or equal parts.
#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  n.need_rank(x, 1, INT64_MAX, "input");
  const auto axis = static_cast<size_t>(n.axis(n.attr_i("axis", 0), x->type.rank()));
  const Dim size = x->type.shape[axis];
  const int64_t outputs = n.num_outputs();
  std::vector<Dim> parts;
  if (n.opset() < 13 && n.has_attr("split")) {
    for (int64_t p : n.attr_ints("split")) parts.push_back(Dim(p));
  } else if (n.opset() >= 13 || n.opset() == 1) {
    if (Value* list = n.opt(1)) parts = n.dims(list, "split");
  }
  int64_t count = outputs;
  if (n.opset() >= 18 && n.has_attr("num_outputs")) {
    if (!parts.empty()) n.invalid("both split and num_outputs are given");
    count = n.attr_i("num_outputs");
    if (count != outputs) {
      n.invalid(fmt::format("num_outputs is {}, the node has {}", count, outputs));
    }
    // Equal parts, the last one smaller.
    const Dim chunk = ceildiv(size, Dim(count));
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back(min(chunk * Dim(i + 1), size) - min(chunk * Dim(i), size));
    }
    if (equal(mod(size, Dim(count)), Dim(0)) == Truth::Yes) {
      parts.assign(static_cast<size_t>(count), floordiv(size, Dim(count)));
    }
  } else if (parts.empty()) {
    if (size.is_const() && size.value() % count != 0) {
      n.invalid(fmt::format("{} elements do not split into {} equal parts", size.str(), count));
    }
    parts.assign(static_cast<size_t>(count), floordiv(size, Dim(count)));
  }
  if (static_cast<int64_t>(parts.size()) != outputs) {
    n.invalid(fmt::format("{} sizes for {} outputs", parts.size(), outputs));
  }
  Dim at(0);
  Outputs out;
  const std::vector<int64_t> stride(x->type.shape.size(), 1);
  for (const Dim& p : parts) {
    if (p.is_const() && p.value() < 0) n.invalid("a size is negative");
    std::vector<Dim> start(x->type.shape.size(), Dim(0)), limit = x->type.shape;
    start[axis] = at;
    at = at + p;
    limit[axis] = at;
    out.push_back(n.b.slice(x, start, limit, stride));
  }
  if (equal(at, size) == Truth::No) {
    n.invalid(fmt::format("the sizes add up to {}, the dimension is {}", at.str(), size.str()));
  }
  return out;
}

}  // namespace

extern const OnnxOp onnx_split;
const OnnxOp onnx_split = {.names = {{"Split", {1, 2, 11, 13, 18}}},
                           .summary = "Cuts a tensor along a dimension.",
                           .convert = convert};

}  // namespace tenfold::onnx
