// RoiAlign and MaxRoiPool.
#include <limits>

#include <fmt/format.h>

#include "frontends/onnx/ops/sample_util.h"

namespace tenfold::onnx {

namespace {

using B = GraphBuilder;

// Column `i` of a [rows, k] tensor as [rows].
Value* column(B& b, Value* x, int64_t i) {
  const Dim rows = x->type.shape[0];
  return b.reshape(b.slice(x, {Dim(0), Dim(i)}, {rows, Dim(i + 1)}, {1, 1}), {rows});
}

// Sample points of one direction: [rois, bins, samples].
struct Points {
  Value *low, *high;                // i64, the pixels on both sides
  Value *weight_low, *weight_high;  // 0 where the point lies outside
  Value* count;                     // [rois], samples a bin
};

Points points(NodeContext& n, Value* start, Value* end, int64_t bins, int64_t ratio,
              const Dim& size, bool half_pixel) {
  B& b = n.b;
  const Dim rois = start->type.shape[0];
  Value* extent = sub(b, end, start);
  if (!half_pixel) extent = max(b, extent, 1);
  Value* bin = div(b, extent, like(b, extent, static_cast<double>(bins)));
  Value* count;
  Dim samples(ratio);
  if (ratio > 0) {
    count = like(b, bin, static_cast<double>(ratio));
  } else {
    count = b.unary(Prim::Ceil, bin);
    Value* most = b.reduce(Prim::Max, max(b, b.convert(count, DType::I64), 0), {0});
    samples = n.runtime_dim(max(b, most, 0), "samples");
  }
  const Shape shape = {rois, Dim(bins), samples};
  const auto per_roi = [&](Value* v) { return b.broadcast_in_dim(v, shape, {0}); };
  const DType w = bin->type.dtype;
  Value* i = b.iota({w, shape}, 1);
  Value* k = b.iota({w, shape}, 2);
  Value* x = add(b, per_roi(start), mul(b, i, per_roi(bin)));
  x = add(b, x, div(b, mul(b, add(b, k, 0.5), per_roi(bin)), per_roi(count)));
  Value* valid = b.binary(Prim::And, b.compare("GE", x, like(b, x, -1)),
                          b.compare("LE", x, number_like(b, x, size)));
  valid = b.binary(Prim::And, valid, b.compare("LT", k, per_roi(count)));
  x = max(b, x, 0);
  Value* last = number_like(b, x, size - Dim(1));
  Value* low = b.unary(Prim::Floor, x);
  Value* at_end = b.compare("GE", low, last);
  low = b.select(at_end, last, low);
  Value* high = b.select(at_end, last, add(b, low, 1));
  x = b.select(at_end, low, x);
  Value* t = sub(b, x, low);
  Value* zero = like(b, t, 0);
  Points p{};
  // Unused samples divide by a count of 0: their weights are 0, their indices 0.
  p.low = b.convert(b.select(valid, low, zero), DType::I64);
  p.high = b.convert(b.select(valid, high, zero), DType::I64);
  p.weight_low = b.select(valid, sub_from(b, 1, t), zero);
  p.weight_high = b.select(valid, t, zero);
  p.count = max(b, count, 0);
  return p;
}

Outputs roi_align(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *rois = n.input(1), *batch = n.input(2);
  n.need_rank(x, 4, 4, "X");
  n.need_rank(rois, 2, 2, "rois");
  n.need_rank(batch, 1, 1, "batch_indices");
  n.require_equal(rois->type.shape[1], Dim(4), "entries of a roi");
  const DType t = x->type.dtype, w = wide(t);
  const int64_t ph = n.attr_i("output_height", 1), pw = n.attr_i("output_width", 1);
  const int64_t ratio = n.attr_i("sampling_ratio", 0);
  const double scale = n.attr_f("spatial_scale", 1);
  const std::string mode = n.attr_s("mode", "avg");
  if (mode != "avg" && mode != "max") n.invalid("mode '" + mode + "'");
  std::string transform = "output_half_pixel";
  if (n.opset() >= 16) transform = n.attr_s("coordinate_transformation_mode", "half_pixel");
  if (transform != "half_pixel" && transform != "output_half_pixel") {
    n.invalid("coordinate_transformation_mode '" + transform + "'");
  }
  const bool half = transform == "half_pixel";
  if (ph < 1 || pw < 1 || ratio < 0) n.invalid("an output size or sampling_ratio is negative");
  rois = mul(b, b.convert(rois, w), scale);
  if (half) rois = add(b, rois, -0.5);
  const Dim count = rois->type.shape[0], channels = x->type.shape[1];
  const Points px =
      points(n, column(b, rois, 0), column(b, rois, 2), pw, ratio, x->type.shape[3], half);
  const Points py =
      points(n, column(b, rois, 1), column(b, rois, 3), ph, ratio, x->type.shape[2], half);
  const Dim sx = px.low->type.shape[2], sy = py.low->type.shape[2];
  const Shape place = {count, Dim(ph), sy, Dim(pw), sx};
  Shape tuple = place;
  tuple.push_back(Dim(1));
  const auto rows = [&](Value* v) { return b.broadcast_in_dim(v, place, {0, 1, 2}); };
  const auto cols = [&](Value* v) { return b.broadcast_in_dim(v, place, {0, 3, 4}); };
  Value* image = wrap_indices(b, batch, x->type.shape[0]);
  const auto corner = [&](Value* yi, Value* xi, Value* wy, Value* wx) {
    Value* index = b.concatenate({b.broadcast_in_dim(image, tuple, {0}), b.reshape(rows(yi), tuple),
                                  b.reshape(cols(xi), tuple)},
                                 5);
    Value* p = b.create("stablehlo.gather", {x, index},
                        {{"offset_dims", Attr{std::vector<int64_t>{1}}},
                         {"collapsed_slice_dims", Attr{std::vector<int64_t>{0, 2, 3}}},
                         {"operand_batching_dims", Attr{std::vector<int64_t>{}}},
                         {"start_indices_batching_dims", Attr{std::vector<int64_t>{}}},
                         {"start_index_map", Attr{std::vector<int64_t>{0, 2, 3}}},
                         {"index_vector_dim", Attr{int64_t{5}}},
                         {"slice_sizes", Attr{std::vector<Dim>{Dim(1), channels, Dim(1), Dim(1)}}},
                         {"indices_are_sorted", Attr{false}}})
                   ->result();
    return mul(b, b.convert(p, w), over_channels(b, mul(b, rows(wy), cols(wx)), p->type.shape));
  };
  const auto combine = [&](Value* v, Value* u) {
    return mode == "avg" ? add(b, v, u) : b.binary(Prim::Max, v, u);
  };
  Value* v = corner(py.low, px.low, py.weight_low, px.weight_low);
  v = combine(v, corner(py.low, px.high, py.weight_low, px.weight_high));
  v = combine(v, corner(py.high, px.low, py.weight_high, px.weight_low));
  v = combine(v, corner(py.high, px.high, py.weight_high, px.weight_high));
  const Shape out = {count, channels, Dim(ph), Dim(pw)};
  if (mode == "avg") {
    v = b.reduce(Prim::Add, v, {3, 5});
    Value* area = max(b, mul(b, px.count, py.count), 1);
    return {b.convert(div(b, v, b.broadcast_in_dim(area, out, {0})), t)};
  }
  // Samples beyond a roi's own count do not take part; a bin without samples is 0.
  Value* kx = b.iota({w, place}, 4);
  Value* ky = b.iota({w, place}, 2);
  const auto spread = [&](Value* c) { return b.broadcast_in_dim(c, place, {0}); };
  Value* used = b.binary(Prim::And, b.compare("LT", kx, spread(px.count)),
                         b.compare("LT", ky, spread(py.count)));
  v = b.select(over_channels(b, used, v->type.shape), v,
               like(b, v, -std::numeric_limits<double>::infinity()));
  v = b.reduce(Prim::Max, v, {3, 5});
  Value* some = b.compare("GT", mul(b, px.count, py.count), like(b, px.count, 0));
  v = b.select(b.broadcast_in_dim(some, out, {0}), v, like(b, v, 0));
  return {b.convert(v, t)};
}

Outputs max_roi_pool(NodeContext& n) {
  B& b = n.b;
  Value *x = n.input(0), *rois = n.input(1);
  n.need_rank(x, 4, 4, "X");
  n.need_rank(rois, 2, 2, "rois");
  n.require_equal(rois->type.shape[1], Dim(5), "entries of a roi");
  const auto pooled = n.attr_ints("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1) n.invalid("pooled_shape");
  const double scale = n.attr_f("spatial_scale", 1);
  const DType t = x->type.dtype, w = wide(t);
  rois = b.convert(rois, w);
  const Dim count = rois->type.shape[0], channels = x->type.shape[1];
  Value* image = b.convert(column(b, rois, 0), DType::I64);
  Value* v = take(b, x, image, 0);  // [rois, channels, h, w]
  const double lowest = -std::numeric_limits<double>::infinity();
  // Reduces dimension `dim` (2 or 3) to bins; empty bins are the lowest number.
  const auto reduce = [&](Value* v, int64_t dim, int64_t from, int64_t bins) {
    const Dim size = v->type.shape[static_cast<size_t>(dim)];
    const auto edge = [&](int64_t i) {
      return b.unary(Prim::RoundAfz, mul(b, column(b, rois, i), scale));
    };
    Value *start = edge(from), *end = edge(from + 2);
    Value* extent = max(b, add(b, sub(b, end, start), 1), 1);
    Value* bin = div(b, extent, like(b, extent, static_cast<double>(bins)));
    const Shape grid = {count, Dim(bins), size};
    const auto per_roi = [&](Value* u) { return b.broadcast_in_dim(u, grid, {0}); };
    Value* i = b.iota({w, grid}, 1);
    Value* at = b.iota({w, grid}, 2);
    Value* low = add(b, b.unary(Prim::Floor, mul(b, i, per_roi(bin))), per_roi(start));
    Value* high = add(b, b.unary(Prim::Ceil, mul(b, add(b, i, 1), per_roi(bin))), per_roi(start));
    Value* in = b.binary(Prim::And, b.compare("GE", at, low), b.compare("LT", at, high));
    // [rois, channels, h, w] with the bins after `dim`.
    Shape s = v->type.shape;
    s.insert(s.begin() + dim, Dim(bins));
    std::vector<int64_t> map;
    for (int64_t k = 0; k < 4; ++k) map.push_back(k < dim ? k : k + 1);
    Value* wide_v = b.broadcast_in_dim(v, s, map);
    Value* mask = b.broadcast_in_dim(in, s, {0, dim, dim + 1});
    return b.reduce(Prim::Max, b.select(mask, wide_v, like(b, wide_v, lowest)), {dim + 1});
  };
  v = reduce(v, 3, 1, pooled[1]);
  v = reduce(v, 2, 2, pooled[0]);
  Value* empty = b.compare("EQ", v, like(b, v, lowest));
  return {b.select(empty, like(b, v, 0), v)};
}

Outputs convert(NodeContext& n) {
  return n.op_type() == "RoiAlign" ? roi_align(n) : max_roi_pool(n);
}

}  // namespace

extern const OnnxOp onnx_roi_align;
const OnnxOp onnx_roi_align = {.names = {{"RoiAlign", {10, 16, 22}}, {"MaxRoiPool", {1, 22}}},
                               .summary = "Pools regions of interest.",
                               .convert = convert};

}  // namespace tenfold::onnx
