// GridSample (ai.onnx and com.microsoft) and AffineGrid.
#include <fmt/format.h>

#include "frontends/onnx/ops/sample_util.h"

namespace tenfold::onnx {

namespace {

Outputs grid_sample(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *x = n.input(0), *grid = n.input(1);
  const DType t = x->type.dtype;
  n.need_rank(x, 3, 16, "X");
  n.need_rank(grid, x->type.rank(), x->type.rank(), "grid");
  const int64_t r = x->type.rank() - 2;
  n.require_equal(grid->type.shape.back(), Dim(r), "entries of a grid point and dimensions of X");
  n.require_equal(grid->type.shape[0], x->type.shape[0], "batches of X and grid");
  const bool old = n.opset() < 20;
  const std::string mode = n.attr_s("mode", old ? "bilinear" : "linear");
  const std::string padding = n.attr_s("padding_mode", "zeros");
  const bool corners = n.attr_flag("align_corners");
  Sampling sampling;
  if (mode == "nearest") {
    sampling = Sampling::Nearest;
  } else if (mode == (old ? "bilinear" : "linear")) {
    sampling = Sampling::Linear;
  } else if (mode == (old ? "bicubic" : "cubic")) {
    sampling = Sampling::Cubic;
  } else {
    n.invalid("mode '" + mode + "' is not known at this opset");
  }
  Outside outside;
  if (padding == "zeros") {
    outside = Outside::Zeros;
  } else if (padding == "border") {
    outside = Outside::Border;
  } else if (padding == "reflection") {
    outside = Outside::Reflection;
  } else {
    n.invalid("padding_mode '" + padding + "'");
  }
  if (sampling != Sampling::Nearest && (is_complex(t) || t == DType::Bool)) {
    n.fail("onnx-unsupported-type", fmt::format("mode {} of {}", mode, name(t)));
  }
  const DType w = t == DType::F64 ? DType::F64 : wide(grid->type.dtype);
  grid = b.convert(grid, w);
  Shape place(grid->type.shape.begin(), grid->type.shape.end() - 1);
  std::vector<Value*> at;
  for (int64_t i = 0; i < r; ++i) {
    Shape start(grid->type.shape.size(), Dim(0)), limit = grid->type.shape;
    start.back() = Dim(r - 1 - i);
    limit.back() = Dim(r - i);
    Value* v = b.slice(grid, start, limit, std::vector<int64_t>(start.size(), 1));
    v = b.reshape(v, place);
    const Dim size = x->type.shape[static_cast<size_t>(i) + 2];
    if (corners) {
      v = mul(b, div(b, add(b, v, 1), like(b, v, 2)), number_like(b, v, size - Dim(1)));
    } else {
      v = mul(b, add(b, mul(b, add(b, v, 1), number_like(b, v, size)), -1), 0.5);
    }
    at.push_back(v);
  }
  return {b.convert(sample(b, x, at, sampling, outside, corners), t)};
}

Outputs affine_grid(NodeContext& n) {
  GraphBuilder& b = n.b;
  Value *theta = n.input(0), *size = n.input(1);
  const DType t = theta->type.dtype, w = wide(t);
  const auto dims = n.dims(size, "size", 0);
  const auto rank = static_cast<int64_t>(dims.size());
  if (rank != 4 && rank != 5) n.invalid(fmt::format("size has {} entries, wanted 4 or 5", rank));
  const int64_t r = rank - 2;
  n.need_rank(theta, 3, 3, "theta");
  n.require_equal(theta->type.shape[1], Dim(r), "rows of theta");
  n.require_equal(theta->type.shape[2], Dim(r + 1), "columns of theta");
  const bool corners = n.attr_flag("align_corners");
  Shape places(dims.begin() + 2, dims.end());
  Shape column = places;
  column.push_back(Dim(1));
  std::vector<Value*> parts;
  for (int64_t i = r - 1; i >= 0; --i) {  // innermost first
    const Dim d = dims[static_cast<size_t>(i) + 2];
    Value* v = b.iota({w, places}, i);
    if (corners) {
      // -1 ... 1, a lone place at -1.
      Value* steps = number_like(b, v, max(d - Dim(1), Dim(1)));
      v = add(b, div(b, mul(b, v, 2), steps), -1);
    } else {
      v = add(b, div(b, add(b, mul(b, v, 2), 1), number_like(b, v, max(d, Dim(1)))), -1);
    }
    parts.push_back(b.reshape(v, column));
  }
  parts.push_back(b.splat({w, column}, 1));
  Value* base = b.concatenate(parts, r);  // [places..., r + 1]
  // [n, r, r+1] x [places, r+1] -> [n, r, places]
  Value* g = b.dot_general(b.convert(theta, w), base, {}, {}, {2}, {r});
  std::vector<int64_t> perm = {0};
  for (int64_t i = 0; i < r; ++i) perm.push_back(i + 2);
  perm.push_back(1);
  n.require_equal(theta->type.shape[0], dims[0], "batches of theta and size");
  return {b.convert(b.transpose(g, perm), t)};
}

Outputs convert(NodeContext& n) {
  return n.op_type() == "GridSample" ? grid_sample(n) : affine_grid(n);
}

}  // namespace

extern const OnnxOp onnx_grid_sample;
const OnnxOp onnx_grid_sample = {.names = {{"GridSample", {16, 20, 22}}, {"AffineGrid", {20}}},
                                 .summary = "Samples an image at the points of a grid.",
                                 .convert = convert,
                                 .limits = "string tensors; bool and complex only with nearest"};

}  // namespace tenfold::onnx
