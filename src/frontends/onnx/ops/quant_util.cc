// See quant_util.h.
#include "frontends/onnx/ops/quant_util.h"

#include <cmath>

#include <fmt/format.h>

#include "array/floats.h"

namespace tenfold::onnx {

bool is_float8(DType t) {
  switch (t) {
    case DType::F8E3M4:
    case DType::F8E4M3:
    case DType::F8E4M3FN:
    case DType::F8E4M3FNUZ:
    case DType::F8E4M3B11FNUZ:
    case DType::F8E5M2:
    case DType::F8E5M2FNUZ:
      return true;
    default:
      return false;
  }
}

Value* one_number(NodeContext& n, Value* v, std::string_view what) {
  // A list whose length is open is checked when the model runs.
  const bool open = v->type.rank() == 1 && !v->type.is_static();
  if (!open && (!v->type.is_static() || v->type.num_elements().value() != 1)) {
    n.invalid(fmt::format("{} must be one number, found {}", what, v->type.str()));
  }
  return n.b.reshape(v, {});
}

Value* spread_scale(NodeContext& n, Value* s, const Shape& shape, int64_t axis, int64_t block,
                    std::string_view what) {
  GraphBuilder& b = n.b;
  const auto rank = static_cast<int64_t>(shape.size());
  if (block == 0) {
    if (s->type.is_static() && s->type.num_elements().value() == 1) {
      return b.full(b.reshape(s, {}), shape);
    }
    if (s->type.rank() != 1) {
      n.invalid(
          fmt::format("{} must be a number or a list for an axis, found {}", what, s->type.str()));
    }
    const int64_t a = n.axis(axis, rank);
    n.require_equal(s->type.shape[0], shape[static_cast<size_t>(a)],
                    fmt::format("sizes of {} and of axis {}", what, a));
    return b.broadcast_in_dim(s, shape, {a});
  }
  if (block < 0) n.invalid(fmt::format("block_size is {}", block));
  const int64_t a = n.axis(axis, rank);
  n.need_rank(s, rank, rank, what);
  for (int64_t i = 0; i < rank; ++i) {
    const auto k = static_cast<size_t>(i);
    n.require_equal(s->type.shape[k], i == a ? ceildiv(shape[k], Dim(block)) : shape[k],
                    fmt::format("dimension {} of {} (blocks of {})", i, what, block));
  }
  Shape repeated = s->type.shape;
  repeated.insert(repeated.begin() + a + 1, Dim(block));
  std::vector<int64_t> map;
  for (int64_t i = 0; i < rank; ++i) map.push_back(i <= a ? i : i + 1);
  Value* v = b.broadcast_in_dim(s, repeated, map);
  Shape merged = s->type.shape;
  merged[static_cast<size_t>(a)] = merged[static_cast<size_t>(a)] * Dim(block);
  v = b.reshape(v, merged);
  if (equal(merged[static_cast<size_t>(a)], shape[static_cast<size_t>(a)]) == Truth::Yes) return v;
  Shape limit = merged;
  limit[static_cast<size_t>(a)] = shape[static_cast<size_t>(a)];
  return b.slice(v, Shape(shape.size(), Dim(0)), limit, std::vector<int64_t>(shape.size(), 1));
}

Value* saturating_cast(GraphBuilder& b, Value* v, DType to, bool saturate) {
  const bool small = is_float(to) && bit_width(to) < 8;
  if (small || (is_float8(to) && saturate)) {
    const double peak = static_cast<double>(
        decode_small_float(to, static_cast<uint16_t>(format_of(to).max_code())));
    v = max(b, min(b, v, peak), -peak);
  }
  return b.convert(v, to);
}

Value* round_to(GraphBuilder& b, Value* v, Value* zero, DType to, bool saturate) {
  if (v->type.dtype != DType::F64) v = b.convert(v, DType::F32);
  const DType t = v->type.dtype;
  if (is_float(to)) {
    if (zero) v = add(b, v, b.convert(zero, t));
    return saturating_cast(b, v, to, saturate);
  }
  v = b.unary(Prim::RoundEven, v);
  if (zero) v = add(b, v, b.convert(zero, t));
  const int bits = bit_width(to);
  const double high = is_signed(to) ? std::ldexp(1.0, bits - 1) - 1 : std::ldexp(1.0, bits) - 1;
  const double low = is_signed(to) ? -std::ldexp(1.0, bits - 1) : 0;
  // The conversion saturates to whole bytes by itself.
  if (bits < 8) v = max(b, min(b, v, high), low);
  return b.convert(v, to);
}

Value* centered_i32(GraphBuilder& b, Value* x, Value* zero) {
  Value* v = b.convert(x, DType::I32);
  return zero ? sub(b, v, b.convert(zero, DType::I32)) : v;
}

Value* centered(GraphBuilder& b, Value* x, Value* zero) {
  if (!zero) return b.convert(x, DType::F32);
  if (is_float(x->type.dtype)) {
    return sub(b, b.convert(x, DType::F32), b.convert(zero, DType::F32));
  }
  return b.convert(centered_i32(b, x, zero), DType::F32);
}

Value* matrix_scale(NodeContext& n, Value* s, const Shape& shape, bool left,
                    std::string_view what) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (s->type.rank() == 1 && !(s->type.shape[0] == Dim(1))) {
    if (left && rank < 2) n.invalid(fmt::format("{} has a list for a vector operand", what));
    const int64_t axis = left ? rank - 2 : rank - 1;
    return spread_scale(n, s, shape, axis, 0, what);
  }
  if (s->type.is_static() && s->type.num_elements().value() == 1) {
    return n.b.full(n.b.reshape(s, {}), shape);
  }
  return n.broadcast_to(s, shape);
}

Value* unpack_bits(GraphBuilder& b, Value* x, int64_t bits) {
  if (bits == 8) return x;
  const int64_t per = 8 / bits;
  Shape s = x->type.shape;
  s.push_back(Dim(per));
  const int64_t rank = x->type.rank();
  Value* v = b.broadcast_in_dim(x, s, iota_list(rank));
  Value* shift = b.broadcast_in_dim(
      mul(b, b.iota({DType::U8, {Dim(per)}}, 0), static_cast<double>(bits)), s, {rank});
  v = b.binary(Prim::And, b.binary(Prim::ShrL, v, shift),
               b.full(b.constant_i(DType::U8, (1 << bits) - 1), s));
  Shape flat = x->type.shape;
  flat.back() = flat.back() * Dim(per);
  return b.reshape(v, flat);
}

Value* cut_last(GraphBuilder& b, Value* x, const Dim& size) {
  if (equal(x->type.shape.back(), size) == Truth::Yes) return x;
  Shape limit = x->type.shape;
  limit.back() = size;
  return b.slice(x, Shape(limit.size(), Dim(0)), limit, std::vector<int64_t>(limit.size(), 1));
}

}  // namespace tenfold::onnx
