// Narrow floats: codes to f32 and back by integer arithmetic, rounding once to nearest even. The
// formulas are those of array/floats.h, for any exponent and mantissa width.
#include "array/floats.h"
#include "backends/cpu/gen.h"

namespace tenfold::cpu {

llvm::Type* memory_type(Gen& g, DType t) {
  switch (real_of(t)) {
    case DType::F32:
      return g.f32();
    case DType::F64:
      return g.f64();
    default:
      return g.int_type(8 * byte_size(t));
  }
}
llvm::Type* register_type(Gen& g, DType t) {
  if (t == DType::Bool) return g.int_type(1);
  if (is_float(t) && t != DType::F64) return g.f32();
  return memory_type(g, t);
}

namespace {
bool is_narrow(DType t) { return is_float(t) && t != DType::F32 && t != DType::F64; }

double pow2(int e) { return std::ldexp(1.0, e); }

V to_half(V x) {  // f32 -> i16 in hardware
  Gen& g = *x.g;
  llvm::Value* h = g.b.CreateFPTrunc(x.v, g.shaped(g.b.getHalfTy(), x));
  return g.wrap(g.b.CreateBitCast(h, g.shaped(g.int_type(16), x)));
}
V from_half(V bits) {
  Gen& g = *bits.g;
  llvm::Value* h = g.b.CreateBitCast(bits.v, g.shaped(g.b.getHalfTy(), bits));
  return g.wrap(g.b.CreateFPExt(h, g.shaped(g.f32(), bits)));
}
// A vector of i16 as wide as one register of f32 converts best; others work as well.
}  // namespace

V narrow_decode(Gen& g, DType t, V bits) {
  V b = resize(bits, 32, false);
  auto number = [&](uint32_t u) { return from_bits(constant_i(b, static_cast<int32_t>(u))); };
  if (t == DType::BF16) return from_bits(shl(b, 16));
  if (t == DType::F16 && g.machine.half_convert) return from_half(bits);
  if (t == DType::F8E8M0FNU) {
    V r = from_bits(shl(b, 23));
    r = select(eq(b, constant_i(b, 0)), number(0x00400000u), r);
    return select(eq(b, constant_i(b, 255)), number(0x7fc00000u), r);
  }
  const FloatFormat f = format_of(t);
  const int shift = 23 - f.man_bits;
  V mag = iand(b, (int64_t{1} << f.sign_shift()) - 1);
  V w = shl(mag, shift);
  V normal = iadd(w, int64_t{127 - f.bias} << 23);
  V sub = from_bits(ior(w, int64_t{128 - f.bias} << 23)) - pow2(1 - f.bias);
  V is_sub = ult(mag, constant_i(b, int64_t{1} << f.man_bits));
  V r = select(is_sub, fbits(sub), normal);
  V sign = shl(iand(b, int64_t{1} << f.sign_shift()), 31 - f.sign_shift());
  r = r | sign;
  using Nan = FloatFormat::Nan;
  switch (f.nan) {
    case Nan::Ieee: {
      V special = ult(constant_i(b, f.max_code()), mag);
      V value = select(eq(mag, constant_i(b, f.max_code() + 1)), constant_i(b, 0x7f800000),
                       constant_i(b, 0x7fc00000));
      r = select(special, value | sign, r);
      break;
    }
    case Nan::AllOnes:
      r = select(eq(mag, constant_i(b, f.nan_code())), constant_i(b, 0x7fc00000) | sign, r);
      break;
    case Nan::NegZero:
      r = select(eq(b, constant_i(b, int64_t{1} << f.sign_shift())), constant_i(b, -0x400000), r);
      break;
    case Nan::None:
      break;
  }
  return from_bits(r);
}

// To f32, to odd: what is rounded again afterwards, to fewer bits, then rounds as from f64.
V f64_to_f32_odd(V x) {
  V y = convert_fp(x, x.g->f32());
  V back = convert_fp(y, x.g->f64());
  V by = fbits(y);
  // Rounded away from zero: one step back; then the sticky bit.
  V exact = eq(back, x) | is_nan(x);
  V away = fabs(x) < fabs(back);
  V down = select(away, iadd(by, -1), by);
  V odd = ior(down, 1);
  return from_bits(select(exact, by, odd));
}

V narrow_encode(Gen& g, DType t, V x) {
  if (x.scalar_type()->isDoubleTy()) x = f64_to_f32_odd(x);
  V b = fbits(x);
  auto c = [&](int64_t v) { return constant_i(b, v); };
  V a = iand(b, 0x7fffffff);
  if (t == DType::BF16) {
    V rounded = iadd(b, 0x7fff) + iand(lshr(b, 16), 1);
    V nan = ior(iand(b, 0x80000000), 0x7fc00000);
    V r = lshr(select(ult(c(0x7f800000), a), nan, rounded), 16);
    return resize(r, 16, false);
  }
  if (t == DType::F16 && g.machine.half_convert) return to_half(x);
  if (t == DType::F8E8M0FNU) {
    // The nearest power of two, a tie to the even code.
    V r = lshr(iadd(b, 0x3fffff) + iand(lshr(b, 23), 1), 23);
    V bad = ~(x > 0.0) | ult(c(254), r);
    // Half of the least code and less still have code 0.
    return resize(select(bad, c(255), r), 8, false);
  }
  const FloatFormat f = format_of(t);
  const int shift = 23 - f.man_bits;
  V normal = iadd(a, ((int64_t{1} << (shift - 1)) - 1) - (int64_t{127 - f.bias} << 23)) +
             iand(lshr(a, shift), 1);
  normal = lshr(normal, shift);
  // Adding a number whose last place is the format's least step rounds to that step.
  const int magic_exp = 24 - f.bias - f.man_bits;
  V sub = fbits(from_bits(a) + pow2(magic_exp)) - c(int64_t{127 + magic_exp} << 23);
  V r = select(ult(a, c(int64_t{128 - f.bias} << 23)), sub, normal);
  V sign = iand(lshr(b, 31 - f.sign_shift()), int64_t{1} << f.sign_shift());
  V over = ult(c(f.max_code()), r);
  V nan = ult(c(0x7f800000), a);
  using Nan = FloatFormat::Nan;
  switch (f.nan) {
    case Nan::Ieee:
      r = select(over, c(f.max_code() + 1), r);
      r = select(nan, c(f.nan_code()), r) | sign;
      break;
    case Nan::AllOnes:
      r = select(over | nan, c(f.nan_code()), r) | sign;
      break;
    case Nan::NegZero: {
      V zero = eq(r, c(0));
      r = select(zero, c(0), r | sign);
      r = select(over | nan, c(f.nan_code()), r);
      break;
    }
    case Nan::None:
      r = select(over, c(f.max_code()), r) | sign;
      r = select(nan, c(f.nan_code()) ^ sign, r);
      break;
  }
  return resize(r, 8 * byte_size(t), false);
}

V narrow_round(Gen& g, DType t, V x) {
  if (t == DType::F32) return x;
  return narrow_decode(g, t, narrow_encode(g, t, x));
}

V to_memory(Gen& g, DType t, V x) {
  if (t == DType::Bool) return resize(x, 8, false);
  if (t == DType::BF16) {  // already rounded: the upper half
    return resize(lshr(fbits(x), 16), 16, false);
  }
  if (is_narrow(t)) return narrow_encode(g, t, x);
  return x;
}
V from_memory(Gen& g, DType t, V x) {
  if (t == DType::Bool) return ne(x, constant_i(x, 0));
  if (is_narrow(t)) return narrow_decode(g, t, x);
  return x;
}

}  // namespace tenfold::cpu
