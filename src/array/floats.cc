// Codecs of the narrow floats. One parametric encoder takes doubles, which hold every f32 exactly,
// so that f32 and f64 sources both round once; bf16 and f16 have their own fast forms in floats.h.
#include "array/floats.h"

#include <array>

#include "base/result.h"

namespace tenfold {
namespace {

using Nan = FloatFormat::Nan;

constexpr uint64_t kFracMask = (uint64_t{1} << 52) - 1;

// `x` shifted right, to nearest, ties to even. 0 < shift < 64.
constexpr uint64_t shift_round(uint64_t x, int shift) {
  const uint64_t half_less_one = (uint64_t{1} << (shift - 1)) - 1;
  return (x + half_less_one + ((x >> shift) & 1)) >> shift;
}

constexpr uint32_t encode(FloatFormat f, double v) {
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const uint64_t mag = bits & ~(uint64_t{1} << 63);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << f.sign_shift();
  const uint64_t inf = uint64_t{0x7ff} << 52;
  if (mag > inf) {
    switch (f.nan) {
      case Nan::Ieee:
      case Nan::AllOnes:
        return f.nan_code() | sign;
      case Nan::NegZero:
        return f.nan_code();
      case Nan::None:
        return f.nan_code() ^ sign;  // a zero of the other sign, as in ml_dtypes
    }
  }
  uint64_t code = uint64_t{f.max_code()} + 1;
  if (mag < inf) {
    const int e = static_cast<int>(mag >> 52) - 1023;
    const int e_min = 1 - f.bias;
    if (e >= e_min) {
      // The exponent field and the fraction as one number: a carry out of the fraction is right.
      const uint64_t biased = static_cast<uint64_t>(e + f.bias);
      if (biased <= (uint64_t{1} << f.exp_bits)) {
        code = shift_round((biased << 52) | (mag & kFracMask), 52 - f.man_bits);
      }
    } else {
      // Subnormal. A subnormal double is far below half the least number of any format here.
      const int shift = 52 - f.man_bits + (e_min - e);
      code = shift > 53 ? 0 : shift_round((mag & kFracMask) | (uint64_t{1} << 52), shift);
    }
  }
  if (code > f.max_code()) {
    switch (f.nan) {
      case Nan::Ieee:
        return sign | (f.max_code() + 1);
      case Nan::AllOnes:
        return sign | f.nan_code();
      case Nan::NegZero:
        return f.nan_code();
      case Nan::None:
        return sign | f.max_code();
    }
  }
  if (f.nan == Nan::NegZero && code == 0) return 0;
  return sign | static_cast<uint32_t>(code);
}

constexpr float decode(FloatFormat f, uint32_t bits) {
  const uint32_t mag = bits & ((1u << f.sign_shift()) - 1);
  const bool negative = (bits >> f.sign_shift()) & 1;
  const uint32_t sign = negative ? 0x80000000u : 0;
  if (f.nan == Nan::NegZero && negative && mag == 0) return std::bit_cast<float>(0xffc00000u);
  if (f.nan != Nan::None && f.nan != Nan::NegZero && mag > f.max_code()) {
    const bool is_inf = f.nan == Nan::Ieee && mag == f.max_code() + 1;
    return std::bit_cast<float>(sign | (is_inf ? 0x7f800000u : 0x7fc00000u));
  }
  const int field = static_cast<int>(mag >> f.man_bits);
  const uint32_t frac = mag & ((1u << f.man_bits) - 1);
  double x = field ? static_cast<double>(frac + (1u << f.man_bits)) : static_cast<double>(frac);
  const int e = (field ? field : 1) - f.bias - f.man_bits;
  // x * 2^e, exact: a double holds every power of two needed.
  x *= std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52);
  return static_cast<float>(negative ? -x : x);
}

// 2^(code - 127). What is not positive has no code but NaN; a tie goes to the even code.
constexpr uint32_t encode_e8m0(double v) {
  if (!(v > 0) || v >= 0x1p128) return 255;
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const int64_t e = static_cast<int64_t>(bits >> 52) - 1023 + 127;
  if (e < 0) return 0;
  const uint64_t code = shift_round((static_cast<uint64_t>(e) << 52) | (bits & kFracMask), 52);
  return code > 254 ? 255 : static_cast<uint32_t>(code);
}
constexpr float decode_e8m0(uint32_t bits) {
  if (bits == 255) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(bits == 0 ? 0x00400000u : bits << 23);
}

template <DType D>
constexpr std::array<float, 256> make_table() {
  std::array<float, 256> t{};
  for (uint32_t i = 0; i < 256; ++i) {
    if constexpr (D == DType::F8E8M0FNU)
      t[i] = decode_e8m0(i);
    else
      t[i] = decode(format_of(D), i & ((2u << format_of(D).sign_shift()) - 1));
  }
  return t;
}
template <DType D>
constexpr std::array<float, 256> kTable = make_table<D>();

// Calls f.template operator()<D>() for a small float type.
template <class F>
decltype(auto) with_small(DType t, F&& f) {
  switch (t) {
#define TENFOLD_CASE(d) \
  case DType::d:        \
    return f.template operator()<DType::d>();
    TENFOLD_CASE(F4E2M1FN)
    TENFOLD_CASE(F6E2M3FN)
    TENFOLD_CASE(F6E3M2FN)
    TENFOLD_CASE(F8E3M4)
    TENFOLD_CASE(F8E4M3)
    TENFOLD_CASE(F8E4M3FN)
    TENFOLD_CASE(F8E4M3FNUZ)
    TENFOLD_CASE(F8E4M3B11FNUZ)
    TENFOLD_CASE(F8E5M2)
    TENFOLD_CASE(F8E5M2FNUZ)
    TENFOLD_CASE(F8E8M0FNU)
    TENFOLD_CASE(BF16)
    TENFOLD_CASE(F16)
#undef TENFOLD_CASE
    default:
      break;
  }
  check_failed(__FILE__, __LINE__, "small float type", std::string(name(t)));
}

template <DType D>
float decode_one(uint16_t bits) {
  if constexpr (D == DType::BF16)
    return bf16_to_f32(bits);
  else if constexpr (D == DType::F16)
    return f16_to_f32(bits);
  else
    return kTable<D>[bits & 0xff];
}
template <DType D, class T>
uint16_t encode_one(T v) {
  if constexpr (D == DType::F8E8M0FNU)
    return static_cast<uint16_t>(encode_e8m0(v));
  else if constexpr (D == DType::BF16 && std::is_same_v<T, float>)
    return f32_to_bf16(v);
  else if constexpr (D == DType::F16 && std::is_same_v<T, float>)
    return f32_to_f16(v);
  else
    return static_cast<uint16_t>(encode(format_of(D), v));
}

}  // namespace

float decode_small_float(DType t, uint16_t bits) {
  return with_small(t, [&]<DType D>() { return decode_one<D>(bits); });
}
uint16_t encode_small_float(DType t, float v) {
  return with_small(t, [&]<DType D>() { return encode_one<D>(v); });
}
uint16_t encode_small_float_f64(DType t, double v) {
  return with_small(t, [&]<DType D>() { return encode_one<D>(v); });
}

void decode_small_floats(DType t, const void* in, float* out, int64_t n) {
  with_small(t, [&]<DType D>() {
    const auto* p = static_cast<const typename SmallFloat<D>::Bits*>(in);
    for (int64_t i = 0; i < n; ++i) out[i] = decode_one<D>(p[i]);
  });
}

namespace {
template <class T>
void encode_array(DType t, const T* in, void* out, int64_t n) {
  with_small(t, [&]<DType D>() {
    using Bits = typename SmallFloat<D>::Bits;
    auto* p = static_cast<Bits*>(out);
    for (int64_t i = 0; i < n; ++i) p[i] = static_cast<Bits>(encode_one<D>(in[i]));
  });
}
}  // namespace

void encode_small_floats(DType t, const float* in, void* out, int64_t n) {
  encode_array(t, in, out, n);
}
void encode_small_floats(DType t, const double* in, void* out, int64_t n) {
  encode_array(t, in, out, n);
}

}  // namespace tenfold
