// Ops of com.microsoft that are the standard's under an older name, and CropAndResize, Inverse.
#include <limits>

#include <fmt/format.h>

#include "frontends/onnx/ops/sample_util.h"

namespace tenfold::onnx {

extern const OnnxOp onnx_grid_sample, onnx_trilu, onnx_unique, onnx_range, onnx_integer_products;

namespace {

using B = GraphBuilder;

Outputs expand_dims(NodeContext& n) {
  Value* x = n.input(0);
  const auto a = n.const_ints(n.input(1));
  if (!a || a->size() != 1) n.fail("axis must be known at import");
  const int64_t rank = x->type.rank();
  Shape s = x->type.shape;
  s.insert(s.begin() + n.axis((*a)[0], rank + 1), Dim(1));
  return {n.b.reshape(x, s)};
}

Outputs crop_and_resize(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *rois = n.input(1), *batch = n.input(2);
  n.need_rank(x, 4, 4, "X");
  n.need_rank(rois, 2, 2, "rois");
  n.need_rank(batch, 1, 1, "batch_indices");
  n.require_equal(rois->type.shape[1], Dim(4), "entries of a roi");
  const auto size = n.dims(n.input(3), "crop", 1);
  if (size.size() != 2) n.invalid("crop_size must have 2 entries");
  const std::string mode = n.attr_s("mode", "bilinear");
  if (mode != "bilinear" && mode != "nearest") n.invalid("mode '" + mode + "'");
  const double fill = n.attr_f("extrapolation_value", 0);
  const DType t = x->type.dtype, w = wide(t);
  rois = b.convert(rois, w);
  const Dim count = rois->type.shape[0];
  Value* images = take(b, x, wrap_indices(b, batch, x->type.shape[0]), 0);
  const Shape grid = {count, size[0], size[1]};
  Value* inside = nullptr;
  std::vector<Value*> at;
  for (int64_t d = 0; d < 2; ++d) {
    const auto k = static_cast<size_t>(d);
    const auto corner = [&](int64_t i) {
      Value* v = b.slice(rois, {Dim(0), Dim(i)}, {count, Dim(i + 1)}, {1, 1});
      return b.broadcast_in_dim(b.reshape(v, {count}), grid, {0});
    };
    Value *from = corner(d), *to = corner(d + 2);
    Value* last = number_like(b, from, x->type.shape[k + 2] - Dim(1));
    Value* steps = number_like(b, from, max(size[k] - Dim(1), Dim(1)));
    Value* i = b.iota({w, grid}, d + 1);
    Value* v = add(b, mul(b, from, last), mul(b, i, div(b, mul(b, sub(b, to, from), last), steps)));
    // A single place is the middle of the roi.
    Value* one = b.compare("EQ", number_like(b, from, size[k]), like(b, from, 1));
    v = b.select(one, mul(b, mul(b, add(b, from, to), 0.5), last), v);
    Value* in = b.binary(Prim::And, b.compare("GE", v, like(b, v, 0)), b.compare("LE", v, last));
    inside = inside ? b.binary(Prim::And, inside, in) : in;
    at.push_back(mode == "nearest" ? b.unary(Prim::RoundAfz, v) : v);
  }
  Value* y = sample(b, images, at, mode == "nearest" ? Sampling::Nearest : Sampling::Linear,
                    Outside::Border, true);
  y = b.convert(y, w);
  y = b.select(over_channels(b, inside, y->type.shape), y, like(b, y, fill));
  return {b.convert(y, t)};
}

// Gauss-Jordan elimination with partial pivoting on [matrix, identity].
Outputs inverse_matrix(NodeContext& n) {
  B& b = n.b;
  Value* x = n.input(0);
  const DType t = x->type.dtype, w = wide(t);
  n.need_rank(x, 2, 16, "X");
  const Shape s = x->type.shape;
  const Dim m = s.back();
  n.require_equal(s[s.size() - 2], m, "rows and columns");
  const Dim count = product_of(s, 0, s.size() - 2);
  const Shape square = {count, m, m}, cube = {count, m, m + m}, line = {count, m};
  Value* one = b.compare("EQ", b.iota({DType::I64, square}, 1), b.iota({DType::I64, square}, 2));
  Value* a = b.concatenate({b.reshape(b.convert(x, w), square), b.convert(one, w)}, 2);
  Value* size = b.dim_scalar(m);
  const auto step = [&](B& c, const std::vector<Value*>& v) -> std::vector<Value*> {
    Value *k = v[0], *a = v[1];
    Value* zero = c.constant_i(DType::I64, 0);
    Value* number = c.iota({DType::I64, line}, 1);
    Value* ks = c.full(k, line);
    const auto rows = [&](Value* u) { return c.broadcast_in_dim(u, cube, {0, 1}); };
    const Shape wide_line = {count, m + m};
    const auto across = [&](Value* u) { return c.broadcast_in_dim(u, cube, {0, 2}); };
    const auto column_k = [&] {
      return c.reshape(c.create("stablehlo.dynamic_slice", {a, zero, zero, k},
                                {{"slice_sizes", Attr{std::vector<Dim>{count, m, Dim(1)}}}})
                           ->result(),
                       line);
    };
    Value* column = column_k();
    Value* mag = c.unary(Prim::Abs, column);
    mag = c.select(c.compare("GE", number, ks), mag, like(c, mag, -1));
    Value* most = c.broadcast_in_dim(c.reduce(Prim::Max, mag, {1}), line, {0});
    Value* last = c.full(c.dim_scalar(m - Dim(1)), line);
    Value* p = c.reduce(Prim::Min, c.select(c.compare("EQ", mag, most), number, last), {1});
    Value* is_p = c.compare("EQ", number, c.broadcast_in_dim(p, line, {0}));
    Value* is_k = c.compare("EQ", number, ks);
    const auto pick = [&](Value* mask) {
      return c.reduce(Prim::Add, c.select(rows(mask), a, like(c, a, 0)), {1});
    };
    Value *row_p = pick(is_p), *row_k = pick(is_k);
    a = c.select(rows(is_p), across(row_k), a);
    Value* pivot = c.create("stablehlo.dynamic_slice", {row_p, zero, k},
                            {{"slice_sizes", Attr{std::vector<Dim>{count, Dim(1)}}}})
                       ->result();
    row_p = div(c, row_p, c.broadcast_in_dim(c.reshape(pivot, {count}), wide_line, {0}));
    a = c.select(rows(is_k), across(row_p), a);
    column = column_k();
    Value* cleared = sub(c, a, mul(c, rows(column), across(row_p)));
    return {add(c, k, 1), c.select(rows(is_k), a, cleared)};
  };
  const auto r = b.while_(
      {b.constant_i(DType::I64, 0), a},
      [&](B& c, const std::vector<Value*>& v) -> std::vector<Value*> {
        return {c.compare("LT", v[0], size)};
      },
      step);
  Value* y = b.slice(r[1], {Dim(0), Dim(0), m}, cube, {1, 1, 1});
  return {b.convert(b.reshape(y, s), t)};
}

Outputs convert(NodeContext& n) {
  const std::string& op = n.op_type();
  if (op == "GridSample") return onnx_grid_sample.convert(n);
  if (op == "Trilu") return onnx_trilu.convert(n);
  if (op == "Unique") return onnx_unique.convert(n);
  if (op == "QLinearConv") return onnx_integer_products.convert(n);
  if (op == "ExpandDims") return expand_dims(n);
  if (op == "Inverse") return inverse_matrix(n);
  if (op == "CropAndResize") return crop_and_resize(n);
  if (op == "Range") {
    if (!n.has(2)) n.fail("delta (input 2) must be given");
    return onnx_range.convert(n);
  }
  n.fail("decoding loops are not supported; export the step of the decoder alone");
}

}  // namespace

extern const OnnxOp onnx_ms_misc;
const OnnxOp onnx_ms_misc = {.names = {{"GridSample", {1}},
                                       {"Trilu", {1}},
                                       {"Unique", {1}},
                                       {"Range", {1}},
                                       {"QLinearConv", {1}},
                                       {"ExpandDims", {1}},
                                       {"Inverse", {1}},
                                       {"CropAndResize", {1}},
                                       {"BeamSearch", {1}},
                                       {"GreedySearch", {1}},
                                       {"Sampling", {1}},
                                       {"WhisperBeamSearch", {1}}},
                             .domain = "com.microsoft",
                             .summary = "The standard's ops under this domain, and a few more.",
                             .convert = convert,
                             .limits = "BeamSearch, GreedySearch and Sampling are refused"};

}  // namespace tenfold::onnx
