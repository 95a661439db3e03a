// Scales, zero points and saturation: what the quantized ops share.
#pragma once

#include "frontends/onnx/op_util.h"

namespace tenfold::onnx {

bool is_float8(DType t);
// A scale or zero point brought to `shape`: one number for all, one per index of `axis`, or one per
// block of `block` elements along `axis` (0: no blocks).
Value* spread_scale(NodeContext& n, Value* s, const Shape& shape, int64_t axis, int64_t block,
                    std::string_view what);
// A tensor of one element as a scalar; fails otherwise.
Value* one_number(NodeContext& n, Value* v, std::string_view what);
// v (f32 or f64) as `to`: 8-bit floats saturate at their largest numbers when `saturate`, the
// smaller ones always; NaN stays NaN where the type has one.
Value* saturating_cast(GraphBuilder& b, Value* v, DType to, bool saturate = true);
// saturate(round(v) + zero), v a float tensor, zero of type `to` and v's shape, or null.
Value* round_to(GraphBuilder& b, Value* v, Value* zero, DType to, bool saturate = true);
// (x - zero) as f32, `zero` of x's type and shape, or null.
Value* centered(GraphBuilder& b, Value* x, Value* zero);
// (x - zero) as i32.
Value* centered_i32(GraphBuilder& b, Value* x, Value* zero);
// Zero points or scales of a matrix operand: one number, one per row of the left operand (rank 1:
// [rows] of the second to last dimension) or per column of the right one, or of full rank.
Value* matrix_scale(NodeContext& n, Value* s, const Shape& shape, bool left, std::string_view what);
// Bytes [..., n] -> numbers of `bits` [..., n * 8 / bits], the low bits first.
Value* unpack_bits(GraphBuilder& b, Value* x, int64_t bits);
// The first `size` elements of the last dimension.
Value* cut_last(GraphBuilder& b, Value* x, const Dim& size);

}  // namespace tenfold::onnx
