// All Reduce* ops. Axes as attribute (before 13 for ReduceSum, 18 for the others) or input.
#include <algorithm>

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

namespace {

Value* log_sum_exp(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, bool keep) {
  Value* top = b.reduce(Prim::Max, x, dims, true);
  // An infinite maximum would make NaN of inf - inf.
  top = b.select(b.unary(Prim::IsFinite, top), top, like(b, top, 0));
  Value* spread = b.broadcast_in_dim(top, x->type.shape, iota_list(x->type.rank()));
  Value* sum = b.reduce(Prim::Add, b.unary(Prim::Exp, sub(b, x, spread)), dims, keep);
  return add(b, b.unary(Prim::Log, sum), b.reshape(top, sum->type.shape));
}

Value* reduce(NodeContext& n, Value* in, const std::vector<int64_t>& dims, bool keep) {
  GraphBuilder& b = n.b;
  const std::string& op = n.op_type();
  const DType t = in->type.dtype;
  if (op == "ReduceMax" || op == "ReduceMin") {
    const bool top = op == "ReduceMax";
    if (t == DType::Bool) return b.reduce(top ? Prim::Or : Prim::And, in, dims, keep);
    return b.reduce(top ? Prim::Max : Prim::Min, in, dims, keep);
  }
  const auto in_type = [&](DType w, auto f) { return b.convert(f(b.convert(in, w)), t); };
  const auto sum = [&](Value* v) { return b.reduce(Prim::Add, v, dims, keep); };
  const DType w = wide(t);
  // Roots and logarithms of integers go through double.
  const DType real = is_integer(t) ? DType::F64 : w;
  if (op == "ReduceSum") return in_type(w, sum);
  if (op == "ReduceProd") {
    return in_type(w, [&](Value* v) { return b.reduce(Prim::Mul, v, dims, keep); });
  }
  if (op == "ReduceMean") {
    return in_type(w, [&](Value* v) { return mean(b, v, dims, keep); });
  }
  const auto magnitude = [&](Value* v) {
    return is_unsigned(v->type.dtype) ? v : b.unary(Prim::Abs, v);
  };
  if (op == "ReduceL1") return in_type(w, [&](Value* v) { return sum(magnitude(v)); });
  if (op == "ReduceSumSquare") return in_type(w, [&](Value* v) { return sum(square(b, v)); });
  if (op == "ReduceL2") {
    return in_type(real, [&](Value* v) { return b.unary(Prim::Sqrt, sum(square(b, v))); });
  }
  if (op == "ReduceLogSum") {
    return in_type(real, [&](Value* v) { return b.unary(Prim::Log, sum(v)); });
  }
  if (op == "ReduceLogSumExp") {
    return in_type(real, [&](Value* v) { return log_sum_exp(b, v, dims, keep); });
  }
  n.invalid("no such op");
}

Outputs convert(NodeContext& n) {
  Value* x = n.input(0);
  const bool keep = n.attr_flag("keepdims", true);
  const int from = n.op_type() == "ReduceSum" ? 13 : 18;
  auto axes = n.opset() >= from ? n.axes_input_or_attr(1, "") : n.axes_input_or_attr(-1, "axes");
  const bool noop = n.opset() >= from && n.attr_flag("noop_with_empty_axes");
  const int64_t rank = x->type.rank();
  if (!axes || axes->empty()) {
    // With nothing to reduce, the element-wise part of the op still applies.
    const auto dims = noop ? std::vector<int64_t>{} : iota_list(rank);
    return {reduce(n, x, dims, keep)};
  }
  const auto dims = n.axes(*axes, rank);
  // Sums and products of sizes stay sizes.
  if (rank == 1 && dims.size() == 1 && is_integer(x->type.dtype) &&
      (n.op_type() == "ReduceProd" || n.op_type() == "ReduceSum")) {
    if (auto d = n.known_dims(x)) {
      Dim total(n.op_type() == "ReduceProd" ? 1 : 0);
      for (const Dim& e : *d) total = n.op_type() == "ReduceProd" ? total * e : total + e;
      return {keep ? n.b.dims_value({total}, x->type.dtype) : n.b.dim_scalar(total, x->type.dtype)};
    }
  }
  return {reduce(n, x, dims, keep)};
}

}  // namespace

extern const OnnxOp onnx_reductions;
const OnnxOp onnx_reductions = {.names = {{"ReduceSum", {1, 11, 13}},
                                          {"ReduceMean", {1, 11, 13, 18}},
                                          {"ReduceMax", {1, 11, 12, 13, 18, 20}},
                                          {"ReduceMin", {1, 11, 12, 13, 18, 20}},
                                          {"ReduceProd", {1, 11, 13, 18}},
                                          {"ReduceL1", {1, 11, 13, 18}},
                                          {"ReduceL2", {1, 11, 13, 18}},
                                          {"ReduceLogSum", {1, 11, 13, 18, 28}},
                                          {"ReduceLogSumExp", {1, 11, 13, 18, 28}},
                                          {"ReduceSumSquare", {1, 11, 13, 18}}},
                                .summary = "Reductions; narrow floats accumulate in f32.",
                                .convert = convert,
                                .limits = "axes known only at run time"};

}  // namespace tenfold::onnx
