// Element type conversion: float to integer saturates and cuts towards zero, NaN becomes 0; to Bool
// is != 0; integer to integer wraps; every narrowing rounds once, to nearest even; complex to real
// drops the imaginary part.
#include <algorithm>
#include <cstring>
#include <limits>

#include "array/floats.h"
#include "array/prim.h"

namespace tenfold {
namespace {

constexpr int64_t kChunk = 512;  // elements converted at a time through a wider type

template <class To>
struct IntRange {
  static constexpr bool kSigned = std::is_signed_v<To>;
  static constexpr int kBits = std::numeric_limits<To>::digits + (kSigned ? 1 : 0);
  static To make(int64_t v) { return static_cast<To>(v); }
};
template <int B, bool S>
struct IntRange<SmallInt<B, S>> {
  static constexpr bool kSigned = S;
  static constexpr int kBits = B;
  static SmallInt<B, S> make(int64_t v) { return SmallInt<B, S>(v); }
};

// From and To are storage types without narrow floats and complex; small integers only as To, for
// as a source they are the byte that holds them.
template <class To, class From>
To cast_value(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    using R = IntRange<To>;
    constexpr int kMagBits = R::kBits - (R::kSigned ? 1 : 0);
    constexpr From kEnd =
        static_cast<From>(static_cast<long double>(uint64_t{1} << (kMagBits - 1)) * 2);
    constexpr From kBegin = R::kSigned ? -kEnd : From(0);
    constexpr uint64_t kMax = ~uint64_t{0} >> (64 - kMagBits);
    constexpr int64_t kMin = R::kSigned ? -static_cast<int64_t>(kMax) - 1 : 0;
    if constexpr (is_small_int<To>::value) {
      return x != x       ? To(0)
             : x < kBegin ? To(kMin)
             : x >= kEnd  ? To(int64_t(kMax))
                          : To(static_cast<int64_t>(x));
    } else {
      return x != x       ? To(0)
             : x < kBegin ? static_cast<To>(kMin)
             : x >= kEnd  ? static_cast<To>(kMax)
                          : static_cast<To>(x);
    }
  } else if constexpr (is_small_int<To>::value) {
    return To(static_cast<int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

// Calls f(T{}) with what the elements are when read, small integers as their byte.
template <class F>
bool with_source(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
      f(bool{});
      return true;
    case DType::I2:
    case DType::I4:
    case DType::I8:
      f(int8_t{});
      return true;
    case DType::U2:
    case DType::U4:
    case DType::U8:
      f(uint8_t{});
      return true;
    case DType::I16:
      f(int16_t{});
      return true;
    case DType::I32:
      f(int32_t{});
      return true;
    case DType::I64:
      f(int64_t{});
      return true;
    case DType::U16:
      f(uint16_t{});
      return true;
    case DType::U32:
      f(uint32_t{});
      return true;
    case DType::U64:
      f(uint64_t{});
      return true;
    case DType::F32:
      f(float{});
      return true;
    case DType::F64:
      f(double{});
      return true;
    default:
      return false;
  }
}
template <class F>
bool with_target(DType t, F&& f) {
  switch (t) {
    case DType::I2:
      f(SmallInt<2, true>{});
      return true;
    case DType::I4:
      f(SmallInt<4, true>{});
      return true;
    case DType::U2:
      f(SmallInt<2, false>{});
      return true;
    case DType::U4:
      f(SmallInt<4, false>{});
      return true;
    default:
      return with_source(t, f);
  }
}

bool is_small_float_type(DType t) { return is_float(t) && t != DType::F32 && t != DType::F64; }

// A double that rounds to every format of at most 24 bits as the integer itself would: rounded to
// odd at 52 bits.
double odd_double(uint64_t m) {
  if (m >= (uint64_t{1} << 53)) m = (m & ~uint64_t{0xfff}) | ((m & 0xfff) ? 0x1000 : 0);
  return static_cast<double>(m);
}
double odd_double(int64_t v) {
  return v < 0 ? -odd_double(0 - static_cast<uint64_t>(v)) : odd_double(static_cast<uint64_t>(v));
}

// In pieces through a buffer of type Mid: first(in offset, buffer, count), then the rest.
template <class Mid, class First, class Then>
void through(int64_t n, First&& first, Then&& then) {
  Mid buf[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t k = std::min(kChunk, n - i);
    first(i, buf, k);
    then(buf, i, k);
  }
}

const std::byte* at(const void* p, DType t, int64_t i) {
  return static_cast<const std::byte*>(p) + i * byte_size(t);
}
std::byte* at(void* p, DType t, int64_t i) { return static_cast<std::byte*>(p) + i * byte_size(t); }

template <class R>
void cast_complex_to(DType from, DType to, const void* in, void* out, int64_t n) {
  const auto* p = static_cast<const std::complex<R>*>(in);
  if (to == DType::Bool) {
    auto* o = static_cast<bool*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = p[i].real() != 0 || p[i].imag() != 0;
  } else if (to == DType::C64) {
    auto* o = static_cast<std::complex<float>*>(out);
    for (int64_t i = 0; i < n; ++i) {
      o[i] = {static_cast<float>(p[i].real()), static_cast<float>(p[i].imag())};
    }
  } else if (to == DType::C128) {
    auto* o = static_cast<std::complex<double>*>(out);
    for (int64_t i = 0; i < n; ++i) o[i] = {p[i].real(), p[i].imag()};
  } else {
    through<R>(
        n,
        [&](int64_t i, R* buf, int64_t k) {
          for (int64_t j = 0; j < k; ++j) buf[j] = p[i + j].real();
        },
        [&](R* buf, int64_t i, int64_t k) { cast(real_of(from), to, buf, at(out, to, i), k); });
  }
}

template <class R>
void cast_to_complex(DType from, DType to, const void* in, void* out, int64_t n) {
  auto* o = static_cast<std::complex<R>*>(out);
  through<R>(
      n, [&](int64_t i, R* buf, int64_t k) { cast(from, real_of(to), at(in, from, i), buf, k); },
      [&](R* buf, int64_t i, int64_t k) {
        for (int64_t j = 0; j < k; ++j) o[i + j] = {buf[j], R(0)};
      });
}

// Integers and Bool to a narrow float.
void cast_to_small_float(DType from, DType to, const void* in, void* out, int64_t n) {
  if (from == DType::F32) return encode_small_floats(to, static_cast<const float*>(in), out, n);
  if (from == DType::F64) return encode_small_floats(to, static_cast<const double*>(in), out, n);
  if (bit_width(from) <= 16) {
    return through<float>(
        n,
        [&](int64_t i, float* buf, int64_t k) { cast(from, DType::F32, at(in, from, i), buf, k); },
        [&](float* buf, int64_t i, int64_t k) { encode_small_floats(to, buf, at(out, to, i), k); });
  }
  through<double>(
      n,
      [&](int64_t i, double* buf, int64_t k) {
        if (from == DType::I64) {
          const auto* p = static_cast<const int64_t*>(in) + i;
          for (int64_t j = 0; j < k; ++j) buf[j] = odd_double(p[j]);
        } else if (from == DType::U64) {
          const auto* p = static_cast<const uint64_t*>(in) + i;
          for (int64_t j = 0; j < k; ++j) buf[j] = odd_double(p[j]);
        } else {
          cast(from, DType::F64, at(in, from, i), buf, k);
        }
      },
      [&](double* buf, int64_t i, int64_t k) { encode_small_floats(to, buf, at(out, to, i), k); });
}

}  // namespace

void cast(DType from, DType to, const void* in, void* out, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    std::memmove(out, in, static_cast<size_t>(n) * static_cast<size_t>(byte_size(to)));
    return;
  }
  if (from == DType::C64) return cast_complex_to<float>(from, to, in, out, n);
  if (from == DType::C128) return cast_complex_to<double>(from, to, in, out, n);
  if (to == DType::C64) return cast_to_complex<float>(from, to, in, out, n);
  if (to == DType::C128) return cast_to_complex<double>(from, to, in, out, n);
  if (is_small_float_type(from)) {
    if (to == DType::F32) return decode_small_floats(from, in, static_cast<float*>(out), n);
    return through<float>(
        n,
        [&](int64_t i, float* buf, int64_t k) {
          decode_small_floats(from, at(in, from, i), buf, k);
        },
        [&](float* buf, int64_t i, int64_t k) { cast(DType::F32, to, buf, at(out, to, i), k); });
  }
  if (is_small_float_type(to)) return cast_to_small_float(from, to, in, out, n);
  with_source(from, [&](auto s) {
    with_target(to, [&](auto d) {
      using From = decltype(s);
      using To = decltype(d);
      const auto* p = static_cast<const From*>(in);
      auto* o = static_cast<To*>(out);
      for (int64_t i = 0; i < n; ++i) o[i] = cast_value<To>(p[i]);
    });
  });
}

}  // namespace tenfold
