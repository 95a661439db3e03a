// The QLinear* ops of com.microsoft: read as numbers, computed in f32, rounded once at the end.
#include <fmt/format.h>

#include "frontends/onnx/ops/quant_util.h"
#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// (x - zero) * scale in f32; inputs i, i + 1 (scale) and i + 2 (zero point, may be absent).
Value* read(NodeContext& n, int i) {
  B& b = n.b;
  Value* x = n.input(i);
  const Shape& s = x->type.shape;
  Value* zero = n.opt(i + 2);
  if (zero) zero = b.full(one_number(n, zero, "a zero point"), s);
  return mul(b, centered(b, x, zero), b.full(one_number(n, n.input(i + 1), "a scale"), s));
}

// v by the scale of input i and the zero point of input i + 1 (may be absent), as type t.
Value* write(NodeContext& n, Value* v, int i, DType t) {
  B& b = n.b;
  const Shape& s = v->type.shape;
  Value* zero = n.opt(i + 1);
  if (zero) {
    if (zero->type.dtype != t) n.invalid("the zero point has another type than the result");
    zero = b.full(one_number(n, zero, "a zero point"), s);
  }
  return round_to(b, div(b, v, b.full(one_number(n, n.input(i), "a scale"), s)), zero, t);
}

// [n, spatial..., c] -> [n, c, spatial...] and back.
Value* channels_first(B& b, Value* x) {
  std::vector<int64_t> p = {0, x->type.rank() - 1};
  for (int64_t i = 1; i + 1 < x->type.rank(); ++i) p.push_back(i);
  return b.transpose(x, p);
}
Value* channels_last(B& b, Value* x) {
  std::vector<int64_t> p = {0};
  for (int64_t i = 2; i < x->type.rank(); ++i) p.push_back(i);
  p.push_back(1);
  return b.transpose(x, p);
}

Value* average_pool(NodeContext& n, Value* x) {
  B& b = n.b;
  const Shape in(x->type.shape.begin() + 2, x->type.shape.end());
  const bool include_pad = n.attr_flag("count_include_pad");
  const Window w = read_window(n, in, {}, false, true);
  Value* zero = b.constant(DType::F32, 0);
  Value* sum = reduce_window(b, Prim::Add, x, zero, w);
  if (include_pad) {
    double k = 1;
    for (int64_t v : w.kernel) k *= static_cast<double>(v);
    return div(b, sum, like(b, sum, k));
  }
  Shape shape = {Dim(1), Dim(1)};
  shape.insert(shape.end(), in.begin(), in.end());
  Value* count = reduce_window(b, Prim::Add, b.splat({DType::F32, shape}, 1), zero, w);
  return div(b, sum, n.broadcast_to(count, sum->type.shape));
}

Outputs concat(NodeContext& n) {
  B& b = n.b;
  const DType t = n.input(1)->type.dtype;
  if (n.num_inputs() < 5 || (n.num_inputs() - 2) % 3 != 0) {
    n.invalid(fmt::format("{} inputs: wanted triples after the first two", n.num_inputs()));
  }
  std::vector<Value*> parts;
  for (int i = 2; i < n.num_inputs(); i += 3) parts.push_back(read(n, i));
  const int64_t axis = n.axis(n.attr_i("axis"), parts[0]->type.rank());
  for (Value* p : parts) {
    if (p->type.rank() != parts[0]->type.rank()) n.invalid("inputs differ in rank");
  }
  return {write(n, b.concatenate(parts, axis), 0, t)};
}

// MaxPool of integers with the channels last.
Outputs nhwc_max_pool(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, 3, 16, "x");
  const DType t = x->type.dtype;
  if (t != DType::I8 && t != DType::U8) n.fail("onnx-unsupported-type", x->type.str());
  x = channels_first(b, x);
  const Window w =
      read_window(n, Shape(x->type.shape.begin() + 2, x->type.shape.end()), {}, true, true);
  Value* least = b.constant_i(t, t == DType::I8 ? -128 : 0);
  return {channels_last(b, reduce_window(b, Prim::Max, x, least, w))};
}

Outputs convert(NodeContext& n) {
  if (n.op_type() == "NhwcMaxPool") return nhwc_max_pool(n);
  B& b = n.b;
  const std::string& op = n.op_type();
  if (op == "QLinearConcat") return concat(n);
  if (op == "QLinearWhere") {
    Value *c = n.input(0), *x = read(n, 1), *y = read(n, 4);
    return {write(n, n.select(c, x, y), 7, n.input(1)->type.dtype)};
  }
  const DType t = n.input(0)->type.dtype;
  Value* x = read(n, 0);
  if (op == "QLinearAdd" || op == "QLinearMul") {
    Value* y = read(n, 3);
    return {write(n, n.binary(op == "QLinearAdd" ? Prim::Add : Prim::Mul, x, y), 6, t)};
  }
  if (op == "QLinearSigmoid") return {write(n, b.unary(Prim::Logistic, x), 3, t)};
  if (op == "QLinearLeakyRelu") {
    const double alpha = n.attr_f("alpha", static_cast<double>(0.01f));
    Value* y = b.select(b.compare("LT", x, like(b, x, 0)), mul(b, x, alpha), x);
    return {write(n, y, 3, t)};
  }
  if (op == "QLinearReduceMean") {
    const int64_t rank = x->type.rank();
    const auto axes = n.axes(n.attr_ints("axes", iota_list(rank)), rank);
    return {write(n, mean(b, x, axes, n.attr_flag("keepdims", true)), 3, t)};
  }
  if (op == "QLinearSoftmax") {
    const bool flatten = n.attr_i("opset") < 13;
    const Shape shape = x->type.shape;
    int64_t axis = n.axis(n.attr_i("axis", flatten ? 1 : -1), x->type.rank());
    if (flatten) {
      x = flatten2(b, x, axis);
      axis = 1;
    }
    x = b.create("tenfold.softmax", {x}, {{"axis", Attr{axis}}, {"log", Attr{false}}})->result();
    return {write(n, b.reshape(x, shape), 3, t)};
  }
  const bool last = n.attr_flag("channels_last");
  n.need_rank(x, 3, 16, "X");
  if (last) x = channels_first(b, x);
  Value* y = op == "QLinearGlobalAveragePool" ? mean(b, x, iota_list(x->type.rank() - 2, 2), true)
                                              : average_pool(n, x);
  if (last) y = channels_last(b, y);
  return {write(n, y, 3, t)};
}

}  // namespace

extern const OnnxOp onnx_ms_qlinear;
const OnnxOp onnx_ms_qlinear = {.names = {{"QLinearAdd", {1}},
                                          {"QLinearMul", {1}},
                                          {"QLinearSigmoid", {1}},
                                          {"QLinearLeakyRelu", {1}},
                                          {"QLinearReduceMean", {1}},
                                          {"QLinearSoftmax", {1}},
                                          {"QLinearWhere", {1}},
                                          {"QLinearConcat", {1}},
                                          {"QLinearGlobalAveragePool", {1}},
                                          {"QLinearAveragePool", {1}},
                                          {"NhwcMaxPool", {1}}},
                                .domain = "com.microsoft",
                                .summary = "Ops on quantized tensors with numbers as scales.",
                                .convert = convert,
                                .limits = "scales by axis"};

}  // namespace tenfold::onnx
