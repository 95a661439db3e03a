// Constants as bytes: the only place where the loop level knows storage types.
#include "loop/const_value.h"

#include <complex>
#include <cstring>

#include "array/floats.h"

namespace tenfold::loop {

void const_to_bytes(const ExprNode& c, std::byte* out) {
  dispatch(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    T v;
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      using R = typename T::value_type;
      v = T(static_cast<R>(c.f), static_cast<R>(c.f2));
    } else if constexpr (is_small_float<T>::value) {
      v = T(c.f);
    } else if constexpr (std::is_floating_point_v<T>) {
      v = static_cast<T>(c.f);
    } else if constexpr (is_small_int<T>::value) {
      v = T(c.i);
    } else if constexpr (std::is_same_v<T, bool>) {
      v = c.i != 0;
    } else {
      v = static_cast<T>(c.i);
    }
    std::memcpy(out, &v, sizeof v);
  });
}

Expr const_from_bytes(DType t, const std::byte* bytes) {
  return dispatch(t, [&](auto tag) -> Expr {
    using T = decltype(tag);
    if constexpr (std::is_same_v<T, bool>) {
      return bool_const(bytes[0] != std::byte{0});
    } else {
      T v;
      std::memcpy(&v, bytes, sizeof v);
      if constexpr (std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>) {
        return complex_const(v.real(), v.imag(), t);
      } else if constexpr (is_small_float<T>::value) {
        return float_const(static_cast<double>(static_cast<float>(v)), t);
      } else if constexpr (std::is_floating_point_v<T>) {
        return float_const(static_cast<double>(v), t);
      } else {
        return int_const(static_cast<int64_t>(v), t);
      }
    }
  });
}

}  // namespace tenfold::loop
