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

// Encodes/decodes any small float format by its parameters; floats.cc.
float decode_small_float(DType t, uint16_t bits);
uint16_t encode_small_float(DType t, float v);  // f64 sources round once: see encode_from_f64
uint16_t encode_small_float_f64(DType t, double v);

template <DType D>
struct SmallFloat {
  using Bits = std::conditional_t<D == DType::BF16 || D == DType::F16, uint16_t, uint8_t>;
  static constexpr DType kDType = D;
  Bits bits = 0;
  SmallFloat() = default;
  explicit SmallFloat(float v) : bits(static_cast<Bits>(encode_small_float(D, v))) {}
  explicit SmallFloat(double v) : bits(static_cast<Bits>(encode_small_float_f64(D, v))) {}
  explicit operator float() const { return decode_small_float(D, bits); }
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

// Calls f(T{}) with the C++ storage type of `t`: bool, int8_t ... uint64_t, SmallInt<>,
// SmallFloat<>, float, double, std::complex<float|double>.
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
    case DType::Bool: return f(bool{});
    case DType::I2: return f(SmallInt<2, true>{});
    case DType::I4: return f(SmallInt<4, true>{});
    case DType::I8: return f(int8_t{});
    case DType::I16: return f(int16_t{});
    case DType::I32: return f(int32_t{});
    case DType::I64: return f(int64_t{});
    case DType::U2: return f(SmallInt<2, false>{});
    case DType::U4: return f(SmallInt<4, false>{});
    case DType::U8: return f(uint8_t{});
    case DType::U16: return f(uint16_t{});
    case DType::U32: return f(uint32_t{});
    case DType::U64: return f(uint64_t{});
    case DType::F4E2M1FN: return f(SmallFloat<DType::F4E2M1FN>{});
    case DType::F6E2M3FN: return f(SmallFloat<DType::F6E2M3FN>{});
    case DType::F6E3M2FN: return f(SmallFloat<DType::F6E3M2FN>{});
    case DType::F8E3M4: return f(SmallFloat<DType::F8E3M4>{});
    case DType::F8E4M3: return f(SmallFloat<DType::F8E4M3>{});
    case DType::F8E4M3FN: return f(SmallFloat<DType::F8E4M3FN>{});
    case DType::F8E4M3FNUZ: return f(SmallFloat<DType::F8E4M3FNUZ>{});
    case DType::F8E4M3B11FNUZ: return f(SmallFloat<DType::F8E4M3B11FNUZ>{});
    case DType::F8E5M2: return f(SmallFloat<DType::F8E5M2>{});
    case DType::F8E5M2FNUZ: return f(SmallFloat<DType::F8E5M2FNUZ>{});
    case DType::F8E8M0FNU: return f(SmallFloat<DType::F8E8M0FNU>{});
    case DType::BF16: return f(bf16{});
    case DType::F16: return f(f16{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::C64: return f(std::complex<float>{});
    case DType::C128: return f(std::complex<double>{});
  }
  __builtin_unreachable();
}

}  // namespace tenfold
