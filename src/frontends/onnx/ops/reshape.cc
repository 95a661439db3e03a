// Reshape: 0 copies a dimension (unless allowzero), -1 is inferred; both may be known only at run
// time.
#include <algorithm>

#include <fmt/format.h>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  const Shape& in = x->type.shape;
  const Dim total = product_of(in, 0, in.size());
  std::vector<std::optional<Dim>> entries;
  Value* list = nullptr;
  bool allow_zero = false;
  if (n.opset() < 5) {
    n.ignore_attr("consumed_inputs");
    for (int64_t d : n.attr_ints("shape")) entries.push_back(Dim(d));
  } else {
    list = n.input(1);
    if (list->type.rank() != 1 || !is_integer(list->type.dtype)) {
      n.invalid("shape must be a list of integers, found " + list->type.str());
    }
    entries = n.partial_dims(list, "shape");
    allow_zero = n.opset() >= 14 && n.attr_flag("allowzero");
  }
  const size_t rank = entries.size();
  int inferred = -1;
  bool unknown = false;
  for (size_t i = 0; i < rank; ++i) {
    auto& e = entries[i];
    if (!e) {
      unknown = true;
      continue;
    }
    const auto c = e->constant();
    if (!c) continue;
    if (*c == 0 && !allow_zero) {
      if (i >= in.size()) n.invalid(fmt::format("shape entry {} copies a dimension x lacks", i));
      e = in[i];
    } else if (*c == -1) {
      if (inferred >= 0) n.invalid("shape has more than one -1");
      inferred = static_cast<int>(i);
    } else if (*c < 0) {
      n.invalid(fmt::format("shape entry {} is {}", i, *c));
    }
  }
  if (unknown) {
    // Entries computed at run time: any 0 or, where none is -1 yet, any -1 may be among them.
    std::vector<Value*> scalars(rank);
    for (size_t i = 0; i < rank; ++i) {
      if (entries[i]) {
        scalars[i] = b.dim_scalar(*entries[i]);
        continue;
      }
      const auto k = static_cast<int64_t>(i);
      Value* v = b.convert(b.reshape(b.slice(list, {Dim(k)}, {Dim(k + 1)}, {1}), {}), DType::I64);
      if (!allow_zero && i < in.size()) {
        v = b.select(b.compare("EQ", v, like(b, v, 0)), b.dim_scalar(in[i]), v);
      }
      scalars[i] = v;
    }
    if (inferred < 0) {
      Value* others = b.constant_i(DType::I64, 1);
      for (Value* v : scalars) {
        others = mul(b, others, b.select(b.compare("LT", v, like(b, v, 0)), like(b, v, 1), v));
      }
      Value* rest = div(b, b.dim_scalar(total), max(b, others, 1));
      for (size_t i = 0; i < rank; ++i) {
        if (entries[i]) continue;
        Value* v = scalars[i];
        scalars[i] = b.select(b.compare("LT", v, like(b, v, 0)), rest, v);
      }
    }
    for (size_t i = 0; i < rank; ++i) {
      if (!entries[i]) entries[i] = n.runtime_dim(scalars[i], fmt::format("dim{}", i));
    }
  }
  Shape out;
  Dim rest(1);
  for (size_t i = 0; i < rank; ++i) {
    out.push_back(*entries[i]);
    if (static_cast<int>(i) != inferred) rest = rest * *entries[i];
  }
  if (inferred >= 0) {
    if (equal(rest, Dim(0)) == Truth::Yes) {
      n.invalid("-1 cannot be inferred beside a dimension of 0");
    }
    if (total.is_const() && rest.is_const() && total.value() % rest.value() != 0) {
      n.invalid(fmt::format("{} elements cannot be divided into {}", total.str(), rest.str()));
    }
    out[static_cast<size_t>(inferred)] = floordiv(total, rest);
  }
  const Dim count = product_of(out, 0, out.size());
  if (equal(count, total) == Truth::No) {
    n.invalid(fmt::format("{} has {} elements, the new shape {}", x->type.str(), total.str(),
                          count.str()));
  }
  return {b.reshape(x, out)};
}

}  // namespace

extern const OnnxOp onnx_reshape;
const OnnxOp onnx_reshape = {.names = {{"Reshape", {1, 5, 13, 14, 19, 21, 23, 24, 25}}},
                             .summary = "The same elements in another shape.",
                             .convert = convert};

}  // namespace tenfold::onnx
