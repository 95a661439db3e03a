// Primitives on complex numbers. Add, Sub, Mul, Neg are the plain formulas, one IEEE operation
// each; the rest of complex<f32> is computed in double, which cannot overflow where the result
// does not, and complex<f64> with scaling or by the C library's functions.
#include <cmath>
#include <complex>

#include "array/prim_kernels.h"

#pragma clang fp contract(off)

namespace tenfold::prim_detail {
namespace {

using C = std::complex<double>;

// As annex G of C: scaled by the divisor's exponent, infinities and zero divisors recovered.
C divide(C x, C y) {
  double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  int scale = 0;
  const double lb = std::logb(std::fmax(std::fabs(c), std::fabs(d)));
  if (std::isfinite(lb)) {
    scale = static_cast<int>(lb);
    c = std::scalbn(c, -scale);
    d = std::scalbn(d, -scale);
  }
  // The dividend too, or a*c + b*d overflows before the scale is taken back.
  int up = 0;
  const double la = std::logb(std::fmax(std::fabs(a), std::fabs(b)));
  if (std::isfinite(la) && (la > 1000 || la < -900)) {
    up = la > 0 ? 8 : -200;  // and a subnormal one loses bits
    a = std::scalbn(a, -up);
    b = std::scalbn(b, -up);
  }
  const double denom = c * c + d * d;
  double re = std::scalbn((a * c + b * d) / denom, up - scale);
  double im = std::scalbn((b * c - a * d) / denom, up - scale);
  if (std::isnan(re) && std::isnan(im)) {
    const double inf = INFINITY;
    if (denom == 0 && (!std::isnan(a) || !std::isnan(b))) {
      re = std::copysign(inf, c) * a;
      im = std::copysign(inf, c) * b;
    } else if ((std::isinf(a) || std::isinf(b)) && std::isfinite(c) && std::isfinite(d)) {
      a = std::copysign(std::isinf(a) ? 1.0 : 0.0, a);
      b = std::copysign(std::isinf(b) ? 1.0 : 0.0, b);
      re = inf * (a * c + b * d);
      im = inf * (b * c - a * d);
    } else if (std::isinf(lb) && lb > 0 && std::isfinite(a) && std::isfinite(b)) {
      c = std::copysign(std::isinf(c) ? 1.0 : 0.0, c);
      d = std::copysign(std::isinf(d) ? 1.0 : 0.0, d);
      re = 0.0 * (a * c + b * d);
      im = 0.0 * (b * c - a * d);
    }
  }
  return {re, im};
}

C times_i(C z) { return {-z.imag(), z.real()}; }
C times_minus_i(C z) { return {z.imag(), -z.real()}; }

C expm1(C z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (!std::isfinite(x) || !std::isfinite(y) || std::fabs(x) > 1) return std::exp(z) - 1.0;
  // e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y/2): no cancellation near 0.
  const double h = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * h * h, std::exp(x) * std::sin(y)};
}

C log1p(C z) {
  const double x = z.real(), y = z.imag();
  if (y == 0 && x >= -1) return {std::log1p(x), y};
  if (!(std::fabs(x) < 0.5 && std::fabs(y) < 0.5)) return std::log(C(1 + x, y));
  // |1 + z|^2 - 1 = 2x + x^2 + y^2, the squares with their rounding errors.
  const double xx = x * x, yy = y * y;
  const double ex = std::fma(x, x, -xx), ey = std::fma(y, y, -yy);
  double s = 2 * x + yy;
  // Two-sum's error of 2x + yy.
  const double bb = s - 2 * x, es = (2 * x - (s - bb)) + (yy - bb);
  s = s + (xx + (es + ex + ey));
  return {0.5 * std::log1p(s), std::atan2(y, 1 + x)};
}

C pow(C x, C y) {
  if (y == C(0)) return {1, 0};
  if (x == C(0)) {
    if (y.real() > 0) return {0, 0};
    if (y.real() < 0 && y.imag() == 0) return {INFINITY, 0};
    return {NAN, NAN};
  }
  if (x.imag() == 0 && y.imag() == 0 && (x.real() > 0 || y.real() == std::trunc(y.real()))) {
    return {std::pow(x.real(), y.real()), 0};
  }
  // A small whole power by multiplication: exact where the products are.
  if (y.imag() == 0 && y.real() == std::trunc(y.real()) && std::fabs(y.real()) <= 16) {
    C r(1, 0), b = x;
    for (int k = static_cast<int>(std::fabs(y.real())); k; k >>= 1, b *= b) {
      if (k & 1) r *= b;
    }
    return y.real() < 0 ? divide(C(1, 0), r) : r;
  }
  return std::exp(y * std::log(x));
}

// The principal root: magnitude and a third of the angle.
C cbrt(C z) {
  if (z == C(0)) return z;
  return std::polar(std::cbrt(std::abs(z)), std::arg(z) / 3);
}

C rsqrt(C z) {
  if (z == C(0)) return {INFINITY, NAN};
  if (std::isinf(z.real()) || std::isinf(z.imag())) return {0, -std::copysign(0.0, z.imag())};
  return divide(C(1, 0), std::sqrt(z));
}

C sign(C z) {
  if (std::isnan(z.real()) || std::isnan(z.imag())) return {NAN, NAN};
  if (z == C(0)) return {0, 0};
  if (std::isinf(z.real()) || std::isinf(z.imag())) {
    z = {std::copysign(std::isinf(z.real()) ? 1.0 : 0.0, z.real()),
         std::copysign(std::isinf(z.imag()) ? 1.0 : 0.0, z.imag())};
  }
  // Scaled, so that a subnormal modulus costs no bits.
  const int e = -std::ilogb(std::fmax(std::fabs(z.real()), std::fabs(z.imag())));
  z = {std::scalbn(z.real(), e), std::scalbn(z.imag(), e)};
  const double m = std::hypot(z.real(), z.imag());
  return {z.real() / m, z.imag() / m};
}

C logistic(C z) {
  if (z.imag() == 0) {
    const double x = z.real();
    return {x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)), z.imag()};
  }
  if (z.real() >= 0) return divide(C(1, 0), C(1, 0) + std::exp(-z));
  const C e = std::exp(z);
  return divide(e, C(1, 0) + e);
}

// -i log((x + iy) / sqrt(x^2 + y^2)), the angle for real operands.
C atan2(C y, C x) {
  if (x.imag() == 0 && y.imag() == 0) return {std::atan2(y.real(), x.real()), 0};
  const C r = std::sqrt(x * x + y * y);
  return times_minus_i(std::log(divide(x + times_i(y), r)));
}

// For c64 through double, for c128 as it is.
#define TENFOLD_C1(name, expr)                     \
  struct name##Op {                                \
    template <class T>                             \
    static std::complex<T> op(std::complex<T> v) { \
      const C z(v.real(), v.imag());               \
      return std::complex<T>(expr);                \
    }                                              \
  };
#define TENFOLD_C2(name, expr)                                        \
  struct name##Op {                                                   \
    template <class T>                                                \
    static std::complex<T> op(std::complex<T> v, std::complex<T> w) { \
      const C x(v.real(), v.imag()), y(w.real(), w.imag());           \
      return std::complex<T>(expr);                                   \
    }                                                                 \
  };
TENFOLD_C1(Sign, sign(z))
TENFOLD_C1(Sqrt, std::sqrt(z))
TENFOLD_C1(Rsqrt, rsqrt(z))
TENFOLD_C1(Cbrt, cbrt(z))
TENFOLD_C1(Exp, std::exp(z))
TENFOLD_C1(Expm1, expm1(z))
TENFOLD_C1(Log, std::log(z))
TENFOLD_C1(Log1p, log1p(z))
TENFOLD_C1(Logistic, logistic(z))
TENFOLD_C1(Sin, std::sin(z))
TENFOLD_C1(Cos, std::cos(z))
TENFOLD_C1(Tan, std::tan(z))
TENFOLD_C1(Asin, std::asin(z))
TENFOLD_C1(Acos, std::acos(z))
TENFOLD_C1(Atan, std::atan(z))
TENFOLD_C1(Sinh, std::sinh(z))
TENFOLD_C1(Cosh, std::cosh(z))
TENFOLD_C1(Tanh, std::tanh(z))
TENFOLD_C1(Asinh, std::asinh(z))
TENFOLD_C1(Acosh, std::acosh(z))
TENFOLD_C1(Atanh, std::atanh(z))
TENFOLD_C2(Div, divide(x, y))
TENFOLD_C2(Pow, pow(x, y))
TENFOLD_C2(Atan2, atan2(x, y))
#undef TENFOLD_C1
#undef TENFOLD_C2

struct NegOp {
  template <class T>
  static std::complex<T> op(std::complex<T> z) {
    return {-z.real(), -z.imag()};
  }
};
struct AddOp {
  template <class T>
  static std::complex<T> op(std::complex<T> a, std::complex<T> b) {
    return {a.real() + b.real(), a.imag() + b.imag()};
  }
};
struct SubOp {
  template <class T>
  static std::complex<T> op(std::complex<T> a, std::complex<T> b) {
    return {a.real() - b.real(), a.imag() - b.imag()};
  }
};
struct MulOp {
  template <class T>
  static std::complex<T> op(std::complex<T> a, std::complex<T> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
struct FmaOp {
  template <class T>
  static std::complex<T> op(std::complex<T> a, std::complex<T> b, std::complex<T> c) {
    return AddOp::op(MulOp::op(a, b), c);
  }
};
struct AbsOp {
  template <class T>
  static T op(std::complex<T> z) {
    return static_cast<T>(std::hypot(double{z.real()}, double{z.imag()}));
  }
};
struct RealOp {
  template <class T>
  static T op(std::complex<T> z) {
    return z.real();
  }
};
struct ImagOp {
  template <class T>
  static T op(std::complex<T> z) {
    return z.imag();
  }
};

template <class T>
Kernel kernel_of(Prim p) {
  using Z = std::complex<T>;
  switch (p) {
#define TENFOLD_U(n) \
  case Prim::n:      \
    return unary<Z, Z, n##Op, false>;
    // clang-format off
    TENFOLD_U(Sign) TENFOLD_U(Sqrt) TENFOLD_U(Rsqrt) TENFOLD_U(Cbrt) TENFOLD_U(Exp)
    TENFOLD_U(Expm1) TENFOLD_U(Log) TENFOLD_U(Log1p) TENFOLD_U(Logistic) TENFOLD_U(Sin)
    TENFOLD_U(Cos) TENFOLD_U(Tan) TENFOLD_U(Asin) TENFOLD_U(Acos) TENFOLD_U(Atan)
    TENFOLD_U(Sinh) TENFOLD_U(Cosh) TENFOLD_U(Tanh) TENFOLD_U(Asinh) TENFOLD_U(Acosh)
    TENFOLD_U(Atanh) TENFOLD_U(Neg)
    // clang-format on
#undef TENFOLD_U
                  case Prim::Abs:
    return unary<Z, T, AbsOp, false>;
  case Prim::Real:
    return unary<Z, T, RealOp, false>;
  case Prim::Imag:
    return unary<Z, T, ImagOp, false>;
  case Prim::Add:
    return binary<Z, Z, AddOp, false>;
  case Prim::Sub:
    return binary<Z, Z, SubOp, false>;
  case Prim::Mul:
    return binary<Z, Z, MulOp, false>;
  case Prim::Div:
    return binary<Z, Z, DivOp, false>;
  case Prim::Pow:
    return binary<Z, Z, PowOp, false>;
  case Prim::Atan2:
    return binary<Z, Z, Atan2Op, false>;
  case Prim::Eq:
    return binary<Z, bool, EqOp, false>;
  case Prim::Ne:
    return binary<Z, bool, NeOp, false>;
  case Prim::Fma:
    return ternary<Z, FmaOp>;
    default : return nullptr;
  }
}

}  // namespace

Kernel complex_kernel(Prim p, DType t) {
  if (t == DType::C64) return kernel_of<float>(p);
  if (t == DType::C128) return kernel_of<double>(p);
  return nullptr;
}

}  // namespace tenfold::prim_detail
