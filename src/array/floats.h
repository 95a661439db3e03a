// Storage types of the narrow floats and the map DType -> C++ type. Arithmetic on them is done in
// float and rounded back, to nearest even.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "array/dtype.h"

namespace tenfold {

// What tells one narrow format from another. `nan` says which codes are no number: Ieee (all
// exponent bits set and a mantissa; the code with none is infinity), AllOnes (the last code of each
// sign), NegZero (the code of -0, which the format thus lacks), None (NaN becomes -0, as
// ml_dtypes has it).
struct FloatFormat {
  enum class Nan : uint8_t { Ieee, AllOnes, NegZero, None };
  int exp_bits;
  int man_bits;
  int bias;
  Nan nan;
  constexpr int sign_shift() const { return exp_bits + man_bits; }
  constexpr uint32_t nan_code() const {
    switch (nan) {
      case Nan::Ieee:
        return (((1u << exp_bits) - 1) << man_bits) | (1u << (man_bits - 1));
      case Nan::AllOnes:
        return (1u << sign_shift()) - 1;
      case Nan::NegZero:
      case Nan::None:
        break;
    }
    return 1u << sign_shift();
  }
  constexpr uint32_t max_code() const {  // largest finite magnitude
    switch (nan) {
      case Nan::Ieee:
        return (((1u << exp_bits) - 1) << man_bits) - 1;
      case Nan::AllOnes:
        return (1u << sign_shift()) - 2;
      case Nan::NegZero:
      case Nan::None:
        break;
    }
    return (1u << sign_shift()) - 1;
  }
};

// All but F8E8M0FNU (no sign, no mantissa: 2^(code - 127), 255 is NaN), F32 and F64.
constexpr FloatFormat format_of(DType t) {
  using Nan = FloatFormat::Nan;
  switch (t) {
    case DType::F4E2M1FN:
      return {2, 1, 1, Nan::None};
    case DType::F6E2M3FN:
      return {2, 3, 1, Nan::None};
    case DType::F6E3M2FN:
      return {3, 2, 3, Nan::None};
    case DType::F8E3M4:
      return {3, 4, 3, Nan::Ieee};
    case DType::F8E4M3:
      return {4, 3, 7, Nan::Ieee};
    case DType::F8E4M3FN:
      return {4, 3, 7, Nan::AllOnes};
    case DType::F8E4M3FNUZ:
      return {4, 3, 8, Nan::NegZero};
    case DType::F8E4M3B11FNUZ:
      return {4, 3, 11, Nan::NegZero};
    case DType::F8E5M2:
      return {5, 2, 15, Nan::Ieee};
    case DType::F8E5M2FNUZ:
      return {5, 2, 16, Nan::NegZero};
    case DType::BF16:
      return {8, 7, 127, Nan::Ieee};
    case DType::F16:
      return {5, 10, 15, Nan::Ieee};
    default:
      return {0, 0, 0, Nan::None};
  }
}

// Encodes/decodes any small float format by its parameters; floats.cc. Rounds once, to nearest
// even; too large a value becomes infinity, where the format has none NaN, where it has neither
// the largest number.
float decode_small_float(DType t, uint16_t bits);
uint16_t encode_small_float(DType t, float v);  // f64 sources round once: see encode_from_f64
uint16_t encode_small_float_f64(DType t, double v);
// The same over arrays, fast. `t` is any small float type.
void decode_small_floats(DType t, const void* in, float* out, int64_t n);
void encode_small_floats(DType t, const float* in, void* out, int64_t n);
void encode_small_floats(DType t, const double* in, void* out, int64_t n);

inline float bf16_to_f32(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }
inline uint16_t f32_to_bf16(float v) {
  const uint32_t b = std::bit_cast<uint32_t>(v);
  const uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1)) >> 16;
  const uint32_t nan = ((b >> 16) & 0x8000u) | 0x7fc0u;
  return static_cast<uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}
// Without branches and without subnormal f32 values, so that loops vectorise and a
// flush-to-zero mode does no harm.
inline float f16_to_f32(uint16_t h) {
  const uint32_t w = (h & 0x7fffu) << 13;
  const uint32_t normal = w + (112u << 23);
  const uint32_t special = w | 0x7f800000u;
  const float sub = std::bit_cast<float>(w | 0x38800000u) - 0x1p-14f;
  uint32_t r = (h & 0x7c00u) == 0 ? std::bit_cast<uint32_t>(sub) : normal;
  r = (h & 0x7c00u) == 0x7c00u ? special : r;
  return std::bit_cast<float>(r | ((h & 0x8000u) << 16));
}
inline uint16_t f32_to_f16(float v) {
  const uint32_t b = std::bit_cast<uint32_t>(v);
  const uint32_t a = b & 0x7fffffffu;
  const uint32_t normal = (a + 0xc8000fffu + ((a >> 13) & 1)) >> 13;
  const uint32_t sub = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
  uint32_t r = a < 0x38800000u ? sub : normal;
  r = a >= 0x47800000u ? (a > 0x7f800000u ? 0x7e00u : 0x7c00u) : r;
  return static_cast<uint16_t>(r | ((b >> 16) & 0x8000u));
}

template <DType D>
struct SmallFloat {
  using Bits = std::conditional_t<D == DType::BF16 || D == DType::F16, uint16_t, uint8_t>;
  static constexpr DType kDType = D;
  Bits bits = 0;
  SmallFloat() = default;
  explicit SmallFloat(float v) {
    if constexpr (D == DType::BF16)
      bits = f32_to_bf16(v);
    else if constexpr (D == DType::F16)
      bits = f32_to_f16(v);
    else
      bits = static_cast<Bits>(encode_small_float(D, v));
  }
  explicit SmallFloat(double v) : bits(static_cast<Bits>(encode_small_float_f64(D, v))) {}
  explicit operator float() const {
    if constexpr (D == DType::BF16)
      return bf16_to_f32(bits);
    else if constexpr (D == DType::F16)
      return f16_to_f32(bits);
    else
      return decode_small_float(D, bits);
  }
};
using bf16 = SmallFloat<DType::BF16>;
using f16 = SmallFloat<DType::F16>;

template <class T>
struct is_small_float : std::false_type {};
template <DType D>
struct is_small_float<SmallFloat<D>> : std::true_type {};

// A sub-byte integer: value in [-2^(B-1), 2^(B-1)) or [0, 2^B), kept in a byte; wraps on store.
template <int B, bool Signed>
struct SmallInt {
  static constexpr int kBits = B;
  using Byte = std::conditional_t<Signed, int8_t, uint8_t>;
  Byte v = 0;
  SmallInt() = default;
  explicit SmallInt(int64_t x) {
    uint8_t m = static_cast<uint8_t>(x) & ((1 << B) - 1);
    v = Signed ? static_cast<Byte>(static_cast<int8_t>(m << (8 - B)) >> (8 - B))
               : static_cast<Byte>(m);
  }
  explicit operator int64_t() const { return v; }
};

template <class T>
struct is_small_int : std::false_type {};
template <int B, bool Signed>
struct is_small_int<SmallInt<B, Signed>> : std::true_type {};

// Calls f(T{}) with the C++ storage type of `t`: bool, int8_t ... uint64_t, SmallInt<>,
// SmallFloat<>, float, double, std::complex<float|double>.
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
      return f(bool{});
    case DType::I2:
      return f(SmallInt<2, true>{});
    case DType::I4:
      return f(SmallInt<4, true>{});
    case DType::I8:
      return f(int8_t{});
    case DType::I16:
      return f(int16_t{});
    case DType::I32:
      return f(int32_t{});
    case DType::I64:
      return f(int64_t{});
    case DType::U2:
      return f(SmallInt<2, false>{});
    case DType::U4:
      return f(SmallInt<4, false>{});
    case DType::U8:
      return f(uint8_t{});
    case DType::U16:
      return f(uint16_t{});
    case DType::U32:
      return f(uint32_t{});
    case DType::U64:
      return f(uint64_t{});
    case DType::F4E2M1FN:
      return f(SmallFloat<DType::F4E2M1FN>{});
    case DType::F6E2M3FN:
      return f(SmallFloat<DType::F6E2M3FN>{});
    case DType::F6E3M2FN:
      return f(SmallFloat<DType::F6E3M2FN>{});
    case DType::F8E3M4:
      return f(SmallFloat<DType::F8E3M4>{});
    case DType::F8E4M3:
      return f(SmallFloat<DType::F8E4M3>{});
    case DType::F8E4M3FN:
      return f(SmallFloat<DType::F8E4M3FN>{});
    case DType::F8E4M3FNUZ:
      return f(SmallFloat<DType::F8E4M3FNUZ>{});
    case DType::F8E4M3B11FNUZ:
      return f(SmallFloat<DType::F8E4M3B11FNUZ>{});
    case DType::F8E5M2:
      return f(SmallFloat<DType::F8E5M2>{});
    case DType::F8E5M2FNUZ:
      return f(SmallFloat<DType::F8E5M2FNUZ>{});
    case DType::F8E8M0FNU:
      return f(SmallFloat<DType::F8E8M0FNU>{});
    case DType::BF16:
      return f(bf16{});
    case DType::F16:
      return f(f16{});
    case DType::F32:
      return f(float{});
    case DType::F64:
      return f(double{});
    case DType::C64:
      return f(std::complex<float>{});
    case DType::C128:
      return f(std::complex<double>{});
  }
  __builtin_unreachable();
}

}  // namespace tenfold
