// Small pieces that converters share. They build into the given builder and never refuse.
#pragma once

#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

// x with `axis` replaced by the dimensions of `indices` (integer, any rank); indices are clamped
// into range, so negative ones must be wrapped before (wrap_indices).
Value* take(GraphBuilder& b, Value* x, Value* indices, int64_t axis);
// Negative indices counted from the end: i < 0 ? i + size : i. Result I64.
Value* wrap_indices(GraphBuilder& b, Value* indices, const Dim& size);
// A constant of x's type and shape.
Value* like(GraphBuilder& b, Value* x, double v);
// The type arithmetic accumulates in: f32 for narrower floats, else itself.
DType wide(DType t);
// Elements as expressions -> dims; permutation helpers.
std::vector<int64_t> iota_list(int64_t n, int64_t from = 0);
// Moves `axis` to the end / from the end back to `axis`.
std::vector<int64_t> axis_last(int64_t rank, int64_t axis);
std::vector<int64_t> inverse(const std::vector<int64_t>& perm);
// x viewed as [product before axis, product from axis on].
Value* flatten2(GraphBuilder& b, Value* x, int64_t axis);
Dim product_of(const Shape& s, size_t from, size_t to);

}  // namespace tenfold::onnx
