// Primitives on f32 and f64 (and, through f32, on the narrow floats).
//
// The transcendental functions of f32 are computed in double and rounded, which leaves them within
// 0.51 ulp; those of f64 are libm's.
#include <math.h>  // lgamma_r

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "array/prim_kernels.h"

#pragma clang fp contract(off)

namespace tenfold::prim_detail {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
constexpr BitsOf<T> kSignBit = BitsOf<T>{1} << (sizeof(T) * 8 - 1);

struct NegOp {
  template <class T>
  static T op(T a) {
    return -a;
  }
};
struct AbsOp {
  template <class T>
  static T op(T a) {
    return __builtin_elementwise_abs(a);
  }
};
// Zeros keep their sign, NaN stays.
struct SignOp {
  template <class T>
  static T op(T a) {
    return a > 0 ? T(1) : a < 0 ? T(-1) : a;
  }
};
struct FloorOp {
  template <class T>
  static T op(T a) {
    return __builtin_elementwise_floor(a);
  }
};
struct CeilOp {
  template <class T>
  static T op(T a) {
    return __builtin_elementwise_ceil(a);
  }
};
struct RoundEvenOp {
  template <class T>
  static T op(T a) {
    return __builtin_elementwise_roundeven(a);
  }
};
struct RoundAfzOp {
  template <class T>
  static T op(T a) {
    return std::round(a);
  }
};
struct SqrtOp {
  template <class T>
  static T op(T a) {
    return __builtin_elementwise_sqrt(a);
  }
};
struct IsFiniteOp {
  template <class T>
  static bool op(T a) {
    return __builtin_elementwise_abs(a) < std::numeric_limits<T>::infinity();
  }
};
struct IsNanOp {
  template <class T>
  static bool op(T a) {
    return a != a;
  }
};
struct IsInfOp {
  template <class T>
  static bool op(T a) {
    return __builtin_elementwise_abs(a) == std::numeric_limits<T>::infinity();
  }
};
struct RealOp {
  template <class T>
  static T op(T a) {
    return a;
  }
};
struct ImagOp {
  template <class T>
  static T op(T) {
    return T(0);
  }
};

// On double; f32 goes through it.
double logistic(double x) {
  // Each side with an exponential that cannot overflow.
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}
double lgamma_of(double x) {
  int sign;  // lgamma() would write a global
  return ::lgamma_r(x, &sign);
}
#define TENFOLD_MATH(name, expr)               \
  struct name##Op {                            \
    template <class T>                         \
    static T op(T v) {                         \
      const double x = static_cast<double>(v); \
      return static_cast<T>(expr);             \
    }                                          \
  };
TENFOLD_MATH(Rsqrt, 1 / std::sqrt(x))
TENFOLD_MATH(Cbrt, std::cbrt(x))
TENFOLD_MATH(Exp, std::exp(x))
TENFOLD_MATH(Expm1, std::expm1(x))
TENFOLD_MATH(Log, std::log(x))
TENFOLD_MATH(Log1p, std::log1p(x))
TENFOLD_MATH(Logistic, logistic(x))
TENFOLD_MATH(Sin, std::sin(x))
TENFOLD_MATH(Cos, std::cos(x))
TENFOLD_MATH(Tan, std::tan(x))
TENFOLD_MATH(Asin, std::asin(x))
TENFOLD_MATH(Acos, std::acos(x))
TENFOLD_MATH(Atan, std::atan(x))
TENFOLD_MATH(Sinh, std::sinh(x))
TENFOLD_MATH(Cosh, std::cosh(x))
TENFOLD_MATH(Tanh, std::tanh(x))
TENFOLD_MATH(Asinh, std::asinh(x))
TENFOLD_MATH(Acosh, std::acosh(x))
TENFOLD_MATH(Atanh, std::atanh(x))
TENFOLD_MATH(Erf, std::erf(x))
TENFOLD_MATH(Lgamma, lgamma_of(x))
#undef TENFOLD_MATH

struct AddOp {
  template <class T>
  static T op(T a, T b) {
    return a + b;
  }
};
struct SubOp {
  template <class T>
  static T op(T a, T b) {
    return a - b;
  }
};
struct MulOp {
  template <class T>
  static T op(T a, T b) {
    return a * b;
  }
};
struct DivOp {
  template <class T>
  static T op(T a, T b) {
    return a / b;
  }
};
struct RemOp {
  template <class T>
  static T op(T a, T b) {
    return std::fmod(a, b);
  }
};
// floor of the rounded quotient, two IEEE operations.
struct FloorDivOp {
  template <class T>
  static T op(T a, T b) {
    return std::floor(a / b);
  }
};
// The exact remainder moved to the sign of b; a zero takes that sign as well.
struct FloorModOp {
  template <class T>
  static T op(T a, T b) {
    const T r = std::fmod(a, b);
    if (r == 0) return std::copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
  }
};
struct PowOp {
  template <class T>
  static T op(T a, T b) {
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
};
struct Atan2Op {
  template <class T>
  static T op(T a, T b) {
    return static_cast<T>(std::atan2(static_cast<double>(a), static_cast<double>(b)));
  }
};
// Equal operands differ at most in the sign of zero: and/or of the bits picks it.
struct MaxOp {
  template <class T>
  static T op(T a, T b) {
    using B = BitsOf<T>;
    const T both = std::bit_cast<T>(std::bit_cast<B>(a) & std::bit_cast<B>(b));
    const T r = a == b ? both : a > b ? a : b;
    return a != a || b != b ? a + b : r;
  }
};
struct MinOp {
  template <class T>
  static T op(T a, T b) {
    using B = BitsOf<T>;
    const T both = std::bit_cast<T>(std::bit_cast<B>(a) | std::bit_cast<B>(b));
    const T r = a == b ? both : a < b ? a : b;
    return a != a || b != b ? a + b : r;
  }
};
struct NextAfterOp {
  template <class T>
  static T op(T a, T b) {
    return std::nextafter(a, b);
  }
};
// IEEE totalOrder, strictly: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
struct TotalLtOp {
  template <class T>
  static bool op(T a, T b) {
    using I = std::make_signed_t<BitsOf<T>>;
    auto ordinal = [](T v) {
      const I i = std::bit_cast<I>(v);
      return static_cast<I>(i ^ ((i >> (sizeof(T) * 8 - 1)) & std::numeric_limits<I>::max()));
    };
    return ordinal(a) < ordinal(b);
  }
};
struct FmaOp {
  template <class T>
  static T op(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};

// (re, im) to complex.
template <class T>
void make_complex(const void* const* args, const int64_t* strides, void* out, int64_t n) {
  const T* a = static_cast<const T*>(args[0]);
  const T* b = static_cast<const T*>(args[1]);
  T* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) {
    o[2 * i] = a[i * strides[0]];
    o[2 * i + 1] = b[i * strides[1]];
  }
}

template <class T>
Kernel kernel_of(Prim p) {
  switch (p) {
#define TENFOLD_U(n) \
  case Prim::n:      \
    return unary<T, T, n##Op>;
#define TENFOLD_SLOW_U(n) \
  case Prim::n:           \
    return unary<T, T, n##Op, false>;
#define TENFOLD_PRED(n) \
  case Prim::n:         \
    return unary<T, bool, n##Op>;
#define TENFOLD_B(n) \
  case Prim::n:      \
    return binary<T, T, n##Op>;
#define TENFOLD_SLOW_B(n) \
  case Prim::n:           \
    return binary<T, T, n##Op, false>;
#define TENFOLD_CMP(n) \
  case Prim::n:        \
    return binary<T, bool, n##Op>;
    // clang-format off
    TENFOLD_U(Neg) TENFOLD_U(Abs) TENFOLD_U(Sign) TENFOLD_U(Floor) TENFOLD_U(Ceil)
    TENFOLD_U(RoundEven) TENFOLD_SLOW_U(RoundAfz) TENFOLD_U(Sqrt) TENFOLD_SLOW_U(Rsqrt)
    TENFOLD_SLOW_U(Cbrt) TENFOLD_SLOW_U(Exp) TENFOLD_SLOW_U(Expm1) TENFOLD_SLOW_U(Log)
    TENFOLD_SLOW_U(Log1p) TENFOLD_SLOW_U(Logistic) TENFOLD_SLOW_U(Sin) TENFOLD_SLOW_U(Cos)
    TENFOLD_SLOW_U(Tan) TENFOLD_SLOW_U(Asin) TENFOLD_SLOW_U(Acos) TENFOLD_SLOW_U(Atan)
    TENFOLD_SLOW_U(Sinh) TENFOLD_SLOW_U(Cosh) TENFOLD_SLOW_U(Tanh) TENFOLD_SLOW_U(Asinh)
    TENFOLD_SLOW_U(Acosh) TENFOLD_SLOW_U(Atanh) TENFOLD_SLOW_U(Erf) TENFOLD_SLOW_U(Lgamma)
    TENFOLD_U(Real) TENFOLD_U(Imag)
    TENFOLD_PRED(IsFinite) TENFOLD_PRED(IsNan) TENFOLD_PRED(IsInf)
    TENFOLD_B(Add) TENFOLD_B(Sub) TENFOLD_B(Mul) TENFOLD_B(Div) TENFOLD_B(Max) TENFOLD_B(Min)
    TENFOLD_SLOW_B(Rem) TENFOLD_SLOW_B(FloorDiv) TENFOLD_SLOW_B(FloorMod) TENFOLD_SLOW_B(Pow)
    TENFOLD_SLOW_B(Atan2) TENFOLD_SLOW_B(NextAfter)
    TENFOLD_CMP(Eq) TENFOLD_CMP(Ne) TENFOLD_CMP(Lt) TENFOLD_CMP(Le) TENFOLD_CMP(Gt)
    TENFOLD_CMP(Ge) TENFOLD_CMP(TotalLt)
    // clang-format on
#undef TENFOLD_U
#undef TENFOLD_SLOW_U
#undef TENFOLD_PRED
#undef TENFOLD_B
#undef TENFOLD_SLOW_B
#undef TENFOLD_CMP
                                              case Prim::Complex:
    return make_complex<T>;
  case Prim::Fma:
    return ternary<T, FmaOp>;
    default : return nullptr;
  }
}

}  // namespace

Kernel float_kernel(Prim p, DType t) {
  if (t == DType::F32) return kernel_of<float>(p);
  if (t == DType::F64) return kernel_of<double>(p);
  return nullptr;
}

}  // namespace tenfold::prim_detail
