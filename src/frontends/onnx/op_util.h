// Small pieces that converters share. They build into the given builder and never refuse.
#pragma once

#include "frontends/onnx/onnx_op.h"

namespace tenfold::onnx {

// x with `axis` replaced by the dimensions of `indices` (integer, any rank); indices are clamped
// into range, so negative ones must be wrapped before (wrap_indices).
Value* take(GraphBuilder& b, Value* x, Value* indices, int64_t axis);
// Negative indices counted from the end: i < 0 ? i + size : i. Result I64.
Value* wrap_indices(GraphBuilder& b, Value* indices, const Dim& size);
// The same for index tuples along the last dimension, one size each.
Value* wrap_tuples(GraphBuilder& b, Value* indices, const Shape& sizes);
// Ascending positions (I64) of the true elements of a rank-1 mask; their number becomes a symbol.
Value* positions_of(NodeContext& n, Value* mask, std::string_view stem);
// Every batch entry's first lens[i] steps along `time` backwards, the rest as it is; batch and time
// are dimensions 0 and 1 in either order.
Value* reverse_sequence(GraphBuilder& b, Value* x, Value* lens, int64_t batch, int64_t time);
// A constant of x's type and shape.
Value* like(GraphBuilder& b, Value* x, double v);
// The type arithmetic accumulates in: f32 for narrower floats, else itself.
DType wide(DType t);
// Arithmetic with numbers: constants of x's type and shape.
Value* add(GraphBuilder& b, Value* x, double v);
Value* mul(GraphBuilder& b, Value* x, double v);
Value* sub_from(GraphBuilder& b, double v, Value* x);  // v - x
Value* div_from(GraphBuilder& b, double v, Value* x);  // v / x
Value* max(GraphBuilder& b, Value* x, double v);
Value* min(GraphBuilder& b, Value* x, double v);
inline Value* add(GraphBuilder& b, Value* x, Value* y) { return b.binary(Prim::Add, x, y); }
inline Value* sub(GraphBuilder& b, Value* x, Value* y) { return b.binary(Prim::Sub, x, y); }
inline Value* mul(GraphBuilder& b, Value* x, Value* y) { return b.binary(Prim::Mul, x, y); }
inline Value* div(GraphBuilder& b, Value* x, Value* y) { return b.binary(Prim::Div, x, y); }
inline Value* square(GraphBuilder& b, Value* x) { return mul(b, x, x); }
// Sum over dims divided by their number of elements; of x's type.
Value* mean(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, bool keep_dims);
// numpy.matmul; narrow floats accumulate in f32, the result has the operands' type.
Value* matmul(NodeContext& n, Value* x, Value* y);
// Number of elements along dims, as a scalar of type t.
Value* count_of(GraphBuilder& b, Value* x, const std::vector<int64_t>& dims, DType t);
// An activation formula on floats, computed in wide(type) and rounded once.
template <class F>
Value* in_wide(GraphBuilder& b, Value* x, F f) {
  return b.convert(f(b.convert(x, wide(x->type.dtype))), x->type.dtype);
}
// Operands of opsets 1 to 6: with broadcast=1 the second one's dimensions line up with the first
// one's from `axis` on.
Value* legacy_operand(NodeContext& n, Value* x, Value* y);
// Elements as expressions -> dims; permutation helpers.
std::vector<int64_t> iota_list(int64_t n, int64_t from = 0);
// Moves `axis` to the end / from the end back to `axis`.
std::vector<int64_t> axis_last(int64_t rank, int64_t axis);
std::vector<int64_t> inverse(const std::vector<int64_t>& perm);
// x viewed as [product before axis, product from axis on].
Value* flatten2(GraphBuilder& b, Value* x, int64_t axis);
Dim product_of(const Shape& s, size_t from, size_t to);

}  // namespace tenfold::onnx
