// Max, Min, Sum, Mean over any number of broadcast inputs.
#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Outputs convert(NodeContext& n) {
  if (n.opset() < 6) n.ignore_attr("consumed_inputs");
  const std::string& op = n.op_type();
  auto xs = n.inputs();
  if (xs.empty()) n.invalid("needs at least one input");
  const DType t = xs[0]->type.dtype;
  for (Value* x : xs) {
    if (x->type.dtype != t) n.invalid("inputs differ in element type");
  }
  xs = n.broadcast(xs);
  const Prim p = op == "Max" ? Prim::Max : op == "Min" ? Prim::Min : Prim::Add;
  if (p == Prim::Add) {
    for (Value*& x : xs) x = n.b.convert(x, wide(t));
  }
  Value* r = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) r = n.b.binary(p, r, xs[i]);
  if (op == "Mean" && xs.size() > 1) r = div(n.b, r, like(n.b, r, static_cast<double>(xs.size())));
  return {n.b.convert(r, t)};
}

}  // namespace

extern const OnnxOp onnx_variadic;
const OnnxOp onnx_variadic = {.names = {{"Max", {1, 6, 8, 12, 13}},
                                        {"Min", {1, 6, 8, 12, 13}},
                                        {"Sum", {1, 6, 8, 13}},
                                        {"Mean", {1, 6, 8, 13}}},
                              .summary = "Element by element over any number of inputs.",
                              .convert = convert};

}  // namespace tenfold::onnx
