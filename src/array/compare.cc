// How far two arrays of one type are apart.
#include <algorithm>
#include <limits>

#include "array/literal.h"

namespace tenfold {
namespace {

// Numbers in the order of the values, one apart for neighbours; -0 and +0 are one.
template <class T>
double ordinal_distance(T a, T b) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    auto ordinal = [](T v) -> __int128 {
      const I i = std::bit_cast<I>(v);
      return i < 0 ? static_cast<__int128>(std::numeric_limits<I>::min()) - i : __int128{i};
    };
    const __int128 d = ordinal(a) - ordinal(b);
    return static_cast<double>(d < 0 ? -d : d);
  } else if constexpr (is_small_float<T>::value) {
    if constexpr (T::kDType == DType::F8E8M0FNU) {
      return std::abs(int{a.bits} - int{b.bits});
    } else {
      constexpr int kSign = format_of(T::kDType).sign_shift();
      auto ordinal = [](T v) {
        const int mag = v.bits & ((1 << kSign) - 1);
        return (v.bits >> kSign) & 1 ? -mag : mag;
      };
      return std::abs(ordinal(a) - ordinal(b));
    }
  } else {
    return 0;
  }
}

struct Accumulator {
  double rtol, atol;
  Difference d;
  double peak = 0;

  // `diff` and `size` are |a - b| and |b|; `equal` also when both are NaN.
  void element(int64_t i, bool equal, bool finite, double diff, double size, double ulp) {
    if (finite) {
      d.max_abs = std::max(d.max_abs, diff);
      d.max_ulp = std::max(d.max_ulp, ulp);
      peak = std::max(peak, size);
    }
    if (equal || (finite && diff <= atol + rtol * size)) return;
    if (d.mismatches++ == 0) d.first = i;
  }
};

template <class T>
void real_element(Accumulator& acc, int64_t i, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const double x = a, y = b;
    const bool equal = x == y || (x != x && y != y);
    const bool finite = std::isfinite(x) && std::isfinite(y);
    acc.element(i, equal, finite, std::fabs(x - y), std::fabs(y),
                finite && !equal ? ordinal_distance(a, b) : 0);
  } else if constexpr (is_small_float<T>::value) {
    const double x = static_cast<float>(a), y = static_cast<float>(b);
    const bool equal = x == y || (x != x && y != y);
    const bool finite = std::isfinite(x) && std::isfinite(y);
    acc.element(i, equal, finite, std::fabs(x - y), std::fabs(y),
                finite && !equal ? ordinal_distance(a, b) : 0);
  } else {
    __int128 x, y;
    if constexpr (is_small_int<T>::value)
      x = a.v, y = b.v;
    else
      x = a, y = b;
    const __int128 d = x < y ? y - x : x - y;
    const double diff = static_cast<double>(d);
    acc.element(i, x == y, true, diff, static_cast<double>(y < 0 ? -y : y), diff);
  }
}

template <class R>
void complex_element(Accumulator& acc, int64_t i, std::complex<R> a, std::complex<R> b) {
  auto part_equal = [](R x, R y) { return x == y || (x != x && y != y); };
  const bool equal = part_equal(a.real(), b.real()) && part_equal(a.imag(), b.imag());
  const bool finite = std::isfinite(a.real()) && std::isfinite(a.imag()) &&
                      std::isfinite(b.real()) && std::isfinite(b.imag());
  const double diff =
      std::hypot(double{a.real()} - double{b.real()}, double{a.imag()} - double{b.imag()});
  const double ulp =
      finite ? std::max(ordinal_distance(a.real(), b.real()), ordinal_distance(a.imag(), b.imag()))
             : 0;
  acc.element(i, equal, finite, diff, std::hypot(double{b.real()}, double{b.imag()}), ulp);
}

}  // namespace

Difference compare(const Literal& a, const Literal& b, double rtol, double atol) {
  TF_CHECK(a.dtype() == b.dtype() && a.dims() == b.dims(),
           "compare of " + a.type().str() + " with " + b.type().str());
  Accumulator acc{rtol, atol, {}};
  dispatch(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto x = a.data<T>(), y = b.data<T>();
    for (size_t i = 0; i < x.size(); ++i) {
      if constexpr (std::is_same_v<T, std::complex<float>> ||
                    std::is_same_v<T, std::complex<double>>) {
        complex_element(acc, static_cast<int64_t>(i), x[i], y[i]);
      } else {
        real_element(acc, static_cast<int64_t>(i), x[i], y[i]);
      }
    }
  });
  Difference d = acc.d;
  if (d.max_abs > 0) d.max_rel_to_peak = d.max_abs / acc.peak;  // infinite against all zeros
  return d;
}

}  // namespace tenfold
