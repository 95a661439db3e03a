// stablehlo.bitcast_convert: the same bits under another element type. A narrower type adds a last
// dimension, a wider one takes it away; the least significant part comes first.
#include <cstring>

#include "ops/_check.h"

namespace tenfold {
namespace {

using loop::Expr;

DType unsigned_of(int bits) {
  switch (bits) {
    case 2:
      return DType::U2;
    case 4:
      return DType::U4;
    case 8:
      return DType::U8;
    case 16:
      return DType::U16;
    case 32:
      return DType::U32;
    default:
      return DType::U64;
  }
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = ops::type(op, 0);
  if (op.num_results() == 0) return {x};
  const TensorType& y = op.result()->type;
  const int from = bit_width(x.dtype), to = bit_width(y.dtype);
  if (is_complex(x.dtype) != is_complex(y.dtype)) {
    diag.fail("C2", fmt::format("only one of {} and {} is complex", name(x.dtype), name(y.dtype)));
    return {y};
  }
  Shape want = x.shape;
  if (to < from) {
    if (from % to != 0) {
      diag.fail("C1", fmt::format("{} does not split into {}", name(x.dtype), name(y.dtype)));
      return {y};
    }
    want.push_back(from / to);
  } else if (to > from) {
    if (to % from != 0 || want.empty() || !diag.equal(want.back(), to / from)) {
      diag.fail("C1", fmt::format("the last dimension of {} must hold the {} bits of {}", x.str(),
                                  to, name(y.dtype)));
      return {y};
    }
    want.pop_back();
  }
  const auto odd = [](DType t) { return bit_width(t) < 8 && (bit_width(t) & (bit_width(t) - 1)); };
  if (from != to && (is_complex(x.dtype) || odd(x.dtype) || odd(y.dtype))) {
    diag.fail("unsupported", fmt::format("{} to {}: change of width is for power-of-two real types",
                                         name(x.dtype), name(y.dtype)));
    return {y};
  }
  return ops::check_result(op, diag, "C1", {y.dtype, std::move(want)});
}

// Bits of elements as numbers, whatever the type; sub-byte types keep theirs in a byte.
uint64_t load_bits(const Literal& l, int64_t i) {
  uint64_t v = 0;
  const int n = byte_size(l.dtype());
  std::memcpy(&v, l.bytes() + i * n, n);
  const int bits = bit_width(l.dtype());
  return bits >= 64 ? v : v & ((uint64_t{1} << bits) - 1);
}
void store_bits(Literal& l, int64_t i, uint64_t v) {
  const int n = byte_size(l.dtype()), bits = bit_width(l.dtype());
  if (bits < 64) v &= (uint64_t{1} << bits) - 1;
  if (is_signed(l.dtype()) && bits < 8 && (v >> (bits - 1))) v |= ~uint64_t{0} << bits;
  std::memcpy(l.mutable_bytes() + i * n, &v, n);
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Literal& x = ctx.args[0];
  const DType to_type = ctx.op->result()->type.dtype;
  const int from = bit_width(x.dtype()), to = bit_width(to_type);
  std::vector<int64_t> dims = x.dims();
  if (to < from) dims.push_back(from / to);
  if (to > from) {
    if (dims.back() != to / from) {
      return ctx.error("shape-mismatch",
                       fmt::format("the last dimension is {}, wanted {}", dims.back(), to / from));
    }
    dims.pop_back();
  }
  Literal out(to_type, dims);
  if (out.size() == 0) return ops::one(std::move(out));
  out.mutable_bytes();
  if (to == from) {
    if (from < 8) {
      for (int64_t i = 0; i < out.size(); ++i) store_bits(out, i, load_bits(x, i));
    } else {
      std::memcpy(out.mutable_bytes(), x.bytes(), x.byte_count());
    }
  } else if (to < from) {
    const int n = from / to;
    for (int64_t i = 0; i < out.size(); ++i) {
      store_bits(out, i, load_bits(x, i / n) >> (i % n * to));
    }
  } else {
    const int n = to / from;
    for (int64_t i = 0; i < out.size(); ++i) {
      uint64_t v = 0;
      for (int k = 0; k < n; ++k) v |= load_bits(x, i * n + k) << (k * from);
      store_bits(out, i, v);
    }
  }
  return ops::one(std::move(out));
}

// Element bits as an unsigned integer of `wide`, and back.
Expr to_bits(const Expr& x, DType wide) {
  if (x->dtype == DType::Bool) return loop::cast(x, wide);
  return loop::cast(loop::bitcast(x, unsigned_of(bit_width(x->dtype))), wide);
}
Expr from_bits(const Expr& x, DType t) {
  if (t == DType::Bool) {
    const Expr low = loop::op(Prim::And, {x, loop::int_const(1, x->dtype)});
    return loop::op(Prim::Ne, {low, loop::int_const(0, x->dtype)});
  }
  return loop::bitcast(loop::cast(x, unsigned_of(bit_width(t))), t);
}

Expr element(ElementContext& ctx, const std::vector<Expr>& index) {
  const DType from_type = ops::type(*ctx.op, 0).dtype, to_type = ctx.op->result()->type.dtype;
  const int from = bit_width(from_type), to = bit_width(to_type);
  if (from_type == to_type) return ctx.operand(0, index);
  if (from == to) return loop::bitcast(ctx.operand(0, index), to_type);
  const DType wide = unsigned_of(std::max(from, to));
  std::vector<Expr> at = index;
  if (to < from) {
    const Expr part = at.back();
    at.pop_back();
    const Expr shift = loop::cast(part * to, wide);
    return from_bits(loop::op(Prim::ShrL, {to_bits(ctx.operand(0, at), wide), shift}), to_type);
  }
  Expr v;
  for (int k = 0; k < to / from; ++k) {
    at = index;
    at.push_back(loop::int_const(k));
    const Expr part = loop::op(
        Prim::Shl, {to_bits(ctx.operand(0, at), wide), loop::int_const(int64_t{k} * from, wide)});
    v = v ? loop::op(Prim::Or, {v, part}) : part;
  }
  return from_bits(v, to_type);
}

}  // namespace

extern const OpDef op_bitcast_convert;
const OpDef op_bitcast_convert = {
    .name = "stablehlo.bitcast_convert",
    .summary = "Reinterprets the bits as another element type.",
    .doc =
        "A narrower type adds a last dimension, a wider one takes it away; least significant "
        "part first.",
    .kind = OpKind::View,
    .min_operands = 1,
    .max_operands = 1,
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .element = element,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
