// Constant: a number, list or tensor written in the node.
#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  if (n.has_attr("value_int")) return {b.constant_i(DType::I64, n.attr_i("value_int"))};
  if (n.has_attr("value_ints")) return {b.constant(Literal::i64s(n.attr_ints("value_ints")))};
  if (n.has_attr("value_float")) return {b.constant(DType::F32, n.attr_f("value_float"))};
  if (n.has_attr("value_floats")) {
    const auto v = n.attr_floats("value_floats", {});
    Literal l(DType::F32, {static_cast<int64_t>(v.size())});
    for (size_t i = 0; i < v.size(); ++i) l.set_f64(static_cast<int64_t>(i), v[i]);
    return {b.constant(std::move(l))};
  }
  for (const char* text : {"value_string", "value_strings"}) {
    if (n.has_attr(text)) {
      n.ignore_attr(text);
      return {Val::unsupported("a string tensor")};
    }
  }
  if (n.has_attr("sparse_value")) return {b.constant(n.attr_tensor("sparse_value"))};
  if (n.attr_is_string_tensor("value")) return {Val::unsupported("a string tensor")};
  return {b.constant(n.attr_tensor("value"))};
}

}  // namespace

extern const OnnxOp onnx_constant;
const OnnxOp onnx_constant = {.names = {{"Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}}},
                              .summary = "A tensor written in the node.",
                              .convert = convert,
                              .limits = "string tensors"};

}  // namespace tenfold::onnx
