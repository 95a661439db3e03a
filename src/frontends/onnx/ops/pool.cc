// MaxPool, AveragePool, LpPool and their global forms.
#include <cmath>

#include <fmt/format.h>

#include "frontends/onnx/ops/window_util.h"

namespace tenfold::onnx {

namespace {

// The lowest value of a type, as a scalar: the identity of max.
Value* lowest(GraphBuilder& b, DType t) {
  if (is_float(t)) return b.constant(t, -INFINITY);
  if (is_unsigned(t)) return b.constant_i(t, 0);
  return b.constant_i(t, INT64_MIN >> (64 - bit_width(t)));
}

std::vector<Dim> spatial(Value* x) { return Shape(x->type.shape.begin() + 2, x->type.shape.end()); }

// Maximum and its position in the flattened input: pairs reduced together, first one of equals.
Outputs max_with_indices(NodeContext& n, Value* x, const Window& w, bool column_major) {
  GraphBuilder& b = n.b;
  // Position = row-major over all dimensions; column-major swaps the order of the spatial ones.
  const auto rank = static_cast<size_t>(x->type.rank());
  Value* position = nullptr;
  Dim stride(1);
  const auto add_term = [&](size_t d) {
    Value* i = b.iota({DType::I64, x->type.shape}, static_cast<int64_t>(d));
    Value* term = mul(b, i, b.full(b.dim_scalar(stride), x->type.shape));
    position = position ? add(b, position, term) : term;
    stride = stride * x->type.shape[d];
  };
  if (column_major) {
    for (size_t d = 2; d < rank; ++d) add_term(d);
  } else {
    for (size_t d = rank; d-- > 2;) add_term(d);
  }
  add_term(1);
  add_term(0);

  std::vector<Dim> window = {Dim(1), Dim(1)}, padding(4, Dim(0));
  std::vector<int64_t> strides = {1, 1}, dilations = {1, 1};
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    window.push_back(Dim(w.kernel[i]));
    strides.push_back(w.strides[i]);
    dilations.push_back(w.dilations[i]);
    padding.push_back(w.low[i]);
    padding.push_back(w.high[i]);
  }
  // Padding has position INT64_MAX, so that any real element of equal value goes before it.
  Op* op =
      b.create_open("stablehlo.reduce_window",
                    {x, position, lowest(b, x->type.dtype), b.constant_i(DType::I64, INT64_MAX)},
                    {{"window_dimensions", Attr{window}},
                     {"window_strides", Attr{strides}},
                     {"window_dilations", Attr{dilations}},
                     {"padding", Attr{padding}}});
  Block* body = op->add_region();
  const TensorType vt{x->type.dtype, {}}, it{DType::I64, {}};
  Value *v0 = body->add_arg(vt), *i0 = body->add_arg(it), *v1 = body->add_arg(vt),
        *i1 = body->add_arg(it);
  GraphBuilder r(b.module(), body);
  Value* greater = r.compare("GT", v1, v0);
  Value* tie = r.binary(Prim::And, r.compare("EQ", v1, v0), r.compare("LT", i1, i0));
  Value* take_new = r.binary(Prim::Or, greater, tie);
  if (is_float(x->type.dtype)) {
    // NaN wins, the first one of several.
    Value* nan0 = r.unary(Prim::IsNan, v0);
    Value* nan1 = r.unary(Prim::IsNan, v1);
    Value* first = r.binary(Prim::Or, r.unary(Prim::Not, nan0), r.compare("LT", i1, i0));
    take_new = r.select(nan1, first, r.binary(Prim::And, take_new, r.unary(Prim::Not, nan0)));
  }
  r.return_({r.select(take_new, v1, v0), r.select(take_new, i1, i0)});
  b.finish(op);
  Shape shape(x->type.shape.begin(), x->type.shape.begin() + 2);
  shape.insert(shape.end(), w.out.begin(), w.out.end());
  return {b.reshape(op->result(0), shape), b.reshape(op->result(1), shape)};
}

Outputs max_pool(NodeContext& n, Value* x) {
  const Window w = read_window(n, spatial(x), {}, n.opset() >= 10, n.opset() >= 10);
  const bool column_major = n.opset() >= 8 && n.attr_flag("storage_order");
  if (n.wants(1)) return max_with_indices(n, x, w, column_major);
  return {reduce_window(n.b, Prim::Max, x, lowest(n.b, x->type.dtype), w)};
}

Outputs average_pool(NodeContext& n, Value* x) {
  GraphBuilder& b = n.b;
  const bool include_pad = n.opset() >= 7 && n.attr_flag("count_include_pad");
  const Window w = read_window(n, spatial(x), {}, n.opset() >= 19, n.opset() >= 10);
  const DType t = x->type.dtype, c = wide(t);
  Value* zero = b.constant(c, 0);
  Value* sum = reduce_window(b, Prim::Add, b.convert(x, c), zero, w);
  bool padded = false;
  for (size_t i = 0; i < w.low.size(); ++i) {
    padded |= !(w.low[i] == Dim(0)) || equal(w.high[i], Dim(0)) != Truth::Yes;
  }
  if (!padded) {
    double k = 1;
    for (int64_t v : w.kernel) k *= static_cast<double>(v);
    return {b.convert(div(b, sum, like(b, sum, k)), t)};
  }
  // Elements under each window: ones where the input (or its stated padding) is.
  Window counted = w;
  Shape shape = {Dim(1), Dim(1)};
  const auto pads = n.attr_ints("pads", std::vector<int64_t>(2 * w.kernel.size(), 0));
  const bool explicit_pads = n.attr_s("auto_pad", "NOTSET") == "NOTSET";
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    Dim size = x->type.shape[i + 2];
    if (include_pad) {
      // What ceil_mode adds beyond the stated padding does not count.
      const Dim high = explicit_pads ? Dim(pads[i + w.kernel.size()]) : w.high[i];
      size = size + w.low[i] + high;
      counted.low[i] = Dim(0);
      counted.high[i] = w.high[i] - high;
    }
    shape.push_back(size);
  }
  Value* ones = b.splat({c, shape}, 1);
  Value* count = reduce_window(b, Prim::Add, ones, zero, counted);
  Shape flat(count->type.shape.begin() + 2, count->type.shape.end());
  count = b.broadcast_in_dim(b.reshape(count, flat), sum->type.shape,
                             iota_list(static_cast<int64_t>(flat.size()), 2));
  return {b.convert(div(b, sum, count), t)};
}

// |x|^p summed by `sum`, then the root.
template <class F>
Value* lp(GraphBuilder& b, Value* x, double p, F sum) {
  const DType t = x->type.dtype;
  Value* v = b.convert(x, wide(t));
  const auto power = [&](Value* u, double e) { return b.binary(Prim::Pow, u, like(b, u, e)); };
  Value* a = b.unary(Prim::Abs, v);
  Value* r = sum(p == 1 ? a : p == 2 ? square(b, v) : power(a, p));
  if (p == 2)
    r = b.unary(Prim::Sqrt, r);
  else if (p != 1)
    r = power(r, 1 / p);
  return b.convert(r, t);
}

double read_p(NodeContext& n) {
  const double p = n.opset() < 2 ? n.attr_f("p", 2) : static_cast<double>(n.attr_i("p", 2));
  if (!(p > 0)) n.invalid(fmt::format("p is {}", p));
  return p;
}

Outputs convert(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value* x = n.input(0);
  n.need_rank(x, n.op_type().starts_with("Global") ? 2 : 3, 16, "X");
  const std::string& op = n.op_type();
  if (op == "MaxPool") return max_pool(n, x);
  if (op == "AveragePool") return average_pool(n, x);
  if (op == "LpPool") {
    const double p = read_p(n);
    const Window w = read_window(n, spatial(x), {}, n.opset() >= 18, n.opset() >= 18);
    return {lp(b, x, p, [&](Value* v) {
      return reduce_window(b, Prim::Add, v, b.constant(v->type.dtype, 0), w);
    })};
  }
  const auto dims = iota_list(x->type.rank() - 2, 2);
  if (op == "GlobalMaxPool") return {b.reduce(Prim::Max, x, dims, true)};
  if (op == "GlobalAveragePool") {
    return {in_wide(b, x, [&](Value* v) { return mean(b, v, dims, true); })};
  }
  return {lp(b, x, read_p(n), [&](Value* v) { return b.reduce(Prim::Add, v, dims, true); })};
}

}  // namespace

extern const OnnxOp onnx_pool;
const OnnxOp onnx_pool = {.names = {{"MaxPool", {1, 8, 10, 11, 12, 22}},
                                    {"AveragePool", {1, 7, 10, 11, 19, 22}},
                                    {"LpPool", {1, 2, 11, 18, 22}},
                                    {"GlobalMaxPool", {1, 22}},
                                    {"GlobalAveragePool", {1, 22}},
                                    {"GlobalLpPool", {1, 2, 22}}},
                          .summary = "Pooling over windows or the whole of the spatial dimensions.",
                          .convert = convert};

}  // namespace tenfold::onnx
