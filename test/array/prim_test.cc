// Scalar primitives: special values, agreement of every type and stride, accuracy.
#include "array/prim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "base/rng.h"

namespace tenfold {
namespace {

constexpr double kInf = INFINITY;
using C = std::complex<double>;

template <class T>
struct TypeOf;
#define TYPE_OF(T, D)                        \
  template <>                                \
  struct TypeOf<T> {                         \
    static constexpr DType value = DType::D; \
  };
TYPE_OF(int8_t, I8)
TYPE_OF(int32_t, I32)
TYPE_OF(int64_t, I64)
TYPE_OF(uint8_t, U8)
TYPE_OF(uint32_t, U32)
TYPE_OF(float, F32)
TYPE_OF(double, F64)
TYPE_OF(std::complex<float>, C64)
TYPE_OF(std::complex<double>, C128)

template <class T, class Out = T>
Out run(Prim p, T a, T b = T(0), T c = T(0)) {
  const void* args[] = {&a, &b, &c};
  const int64_t strides[] = {1, 1, 1};
  Out out;
  apply(p, TypeOf<T>::value, args, strides, &out, 1);
  return out;
}
// On a stored type, through convert().
double on(Prim p, DType t, double a, double b = 0) {
  const Literal x = Literal::scalar(t, a), y = Literal::scalar(t, b);
  Literal out(result_dtype(p, t), {});
  const void* args[] = {x.bytes(), y.bytes()};
  const int64_t strides[] = {1, 1};
  apply(p, t, args, strides, out.mutable_bytes(), 1);
  return out.as_f64(0);
}
bool negative_zero(double x) { return x == 0 && std::signbit(x); }

TEST(Prim, TableReadsBack) {
  EXPECT_EQ(name(Prim::RoundEven), "round_even");
  EXPECT_EQ(arity(Prim::Select), 3);
  EXPECT_EQ(prim_from_name("total_lt"), Prim::TotalLt);
  EXPECT_FALSE(prim_from_name("bogus"));
  EXPECT_EQ(result_dtype(Prim::Lt, DType::F32), DType::Bool);
  EXPECT_EQ(result_dtype(Prim::Abs, DType::C64), DType::F32);
  EXPECT_EQ(result_dtype(Prim::Complex, DType::F64), DType::C128);
  EXPECT_EQ(result_dtype(Prim::Add, DType::BF16), DType::BF16);
  EXPECT_FALSE(supports(Prim::Erf, DType::I32));
  EXPECT_FALSE(supports(Prim::Lt, DType::C64));
  EXPECT_FALSE(supports(Prim::Xor, DType::F32));
  EXPECT_FALSE(supports(Prim::Complex, DType::BF16));
  EXPECT_TRUE(supports(Prim::Erf, DType::F8E4M3FN));
  EXPECT_TRUE(supports(Prim::Select, DType::C128));
  for (Prim p :
       {Prim::Add,  Prim::Sub,   Prim::Mul,      Prim::Div,   Prim::Pow,   Prim::Exp, Prim::Expm1,
        Prim::Log,  Prim::Log1p, Prim::Sqrt,     Prim::Rsqrt, Prim::Tanh,  Prim::Sin, Prim::Cos,
        Prim::Abs,  Prim::Sign,  Prim::Logistic, Prim::Neg,   Prim::Cbrt,  Prim::Tan, Prim::Atan2,
        Prim::Real, Prim::Imag,  Prim::Eq,       Prim::Ne,    Prim::Select}) {
    EXPECT_TRUE(supports(p, DType::C64)) << name(p);
    EXPECT_TRUE(supports(p, DType::C128)) << name(p);
  }
}

TEST(Prim, IntegerDivisionHasNoTraps) {
  constexpr int32_t kMin = INT32_MIN;
  EXPECT_EQ(run<int32_t>(Prim::Div, -7, 2), -3);
  EXPECT_EQ(run<int32_t>(Prim::Div, 7, 0), -1);
  EXPECT_EQ(run<uint32_t>(Prim::Div, 7, 0), UINT32_MAX);
  EXPECT_EQ(run<int32_t>(Prim::Div, kMin, -1), kMin);
  EXPECT_EQ(run<int32_t>(Prim::Rem, -7, 2), -1);
  EXPECT_EQ(run<int32_t>(Prim::Rem, 7, 0), 7);
  EXPECT_EQ(run<int32_t>(Prim::Rem, kMin, -1), 0);
  EXPECT_EQ(run<int32_t>(Prim::FloorDiv, -7, 2), -4);
  EXPECT_EQ(run<int32_t>(Prim::FloorMod, -7, 2), 1);
  EXPECT_EQ(run<int32_t>(Prim::FloorMod, 7, -2), -1);
  EXPECT_EQ(run<int32_t>(Prim::FloorDiv, 7, 0), -1);
  EXPECT_EQ(run<int32_t>(Prim::FloorMod, 7, 0), 7);
  EXPECT_EQ(run<int64_t>(Prim::FloorDiv, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(on(Prim::Div, DType::I4, -8, -1), -8);
  EXPECT_EQ(on(Prim::Div, DType::I4, 7, 0), -1);
  EXPECT_EQ(on(Prim::Div, DType::U4, 7, 0), 15);
}

TEST(Prim, IntegersWrap) {
  EXPECT_EQ(run<int32_t>(Prim::Add, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(run<int32_t>(Prim::Neg, INT32_MIN), INT32_MIN);
  EXPECT_EQ(run<int32_t>(Prim::Abs, INT32_MIN), INT32_MIN);
  EXPECT_EQ(run<int64_t>(Prim::Mul, INT64_MAX, 2), -2);
  EXPECT_EQ(run<int8_t>(Prim::Mul, 100, 100), 16);
  EXPECT_EQ(run<uint8_t>(Prim::Sub, 1, 2), 255);
  EXPECT_EQ(run<int8_t>(Prim::Pow, 3, 5), -13);
  EXPECT_EQ(run<int32_t>(Prim::Pow, 2, -1), 0);
  EXPECT_EQ(run<int32_t>(Prim::Pow, -1, -3), -1);
  EXPECT_EQ(run<int32_t>(Prim::Pow, 0, 0), 1);
  EXPECT_EQ(run<int32_t>(Prim::Fma, 3, 4, 5), 17);
  EXPECT_EQ(run<int32_t>(Prim::Sign, -9), -1);
  EXPECT_EQ(on(Prim::Add, DType::I4, 7, 1), -8);
  EXPECT_EQ(on(Prim::Mul, DType::U2, 3, 3), 1);
  EXPECT_EQ(on(Prim::Not, DType::U4, 5), 10);
  EXPECT_EQ(on(Prim::Not, DType::I2, 0), -1);
}

TEST(Prim, ShiftsBeyondTheWidth) {
  EXPECT_EQ(run<int32_t>(Prim::Shl, 1, 31), INT32_MIN);
  EXPECT_EQ(run<int32_t>(Prim::Shl, 1, 32), 0);
  EXPECT_EQ(run<int32_t>(Prim::Shl, 1, -1), 0);
  EXPECT_EQ(run<int32_t>(Prim::ShrL, -1, 31), 1);
  EXPECT_EQ(run<int32_t>(Prim::ShrL, -1, 32), 0);
  EXPECT_EQ(run<int32_t>(Prim::ShrA, -8, 1), -4);
  EXPECT_EQ(run<int32_t>(Prim::ShrA, -8, 40), -1);
  EXPECT_EQ(run<int32_t>(Prim::ShrA, -8, -1), -1);
  EXPECT_EQ(run<int32_t>(Prim::ShrA, 8, 99), 0);
  EXPECT_EQ(run<uint8_t>(Prim::ShrA, 0x80, 1), 0xc0);
  EXPECT_EQ(run<int64_t>(Prim::Shl, 1, 64), 0);
  EXPECT_EQ(run<int8_t>(Prim::Shl, 1, 8), 0);
  EXPECT_EQ(run<int8_t>(Prim::ShrL, -1, 7), 1);
  EXPECT_EQ(on(Prim::ShrL, DType::I4, -1, 1), 7);
  EXPECT_EQ(on(Prim::ShrA, DType::I4, -8, 9), -1);
  EXPECT_EQ(on(Prim::Shl, DType::U4, 1, 4), 0);
}

TEST(Prim, CountsBitsInTheWidth) {
  EXPECT_EQ(run<int32_t>(Prim::Popcnt, -1), 32);
  EXPECT_EQ(run<int32_t>(Prim::Clz, 0), 32);
  EXPECT_EQ(run<int32_t>(Prim::Clz, -1), 0);
  EXPECT_EQ(run<uint8_t>(Prim::Clz, 1), 7);
  EXPECT_EQ(on(Prim::Popcnt, DType::I4, -1), 4);
  EXPECT_EQ(on(Prim::Clz, DType::U4, 1), 3);
}

TEST(Prim, MaxAndMinOrderZerosAndKeepNan) {
  for (DType t : {DType::F32, DType::F64, DType::BF16, DType::F16, DType::F8E5M2}) {
    EXPECT_FALSE(negative_zero(on(Prim::Max, t, -0.0, 0.0))) << name(t);
    EXPECT_FALSE(negative_zero(on(Prim::Max, t, 0.0, -0.0))) << name(t);
    EXPECT_TRUE(negative_zero(on(Prim::Min, t, 0.0, -0.0))) << name(t);
    EXPECT_TRUE(negative_zero(on(Prim::Min, t, -0.0, 0.0))) << name(t);
    EXPECT_TRUE(negative_zero(on(Prim::Max, t, -0.0, -0.0))) << name(t);
    EXPECT_TRUE(std::isnan(on(Prim::Max, t, NAN, 1))) << name(t);
    EXPECT_TRUE(std::isnan(on(Prim::Min, t, 1, NAN))) << name(t);
    EXPECT_EQ(on(Prim::Max, t, -1, 2), 2) << name(t);
    EXPECT_EQ(on(Prim::Min, t, -1, kInf), -1) << name(t);
  }
}

TEST(Prim, RoundsAndSigns) {
  EXPECT_EQ(run(Prim::RoundEven, 2.5f), 2.f);
  EXPECT_EQ(run(Prim::RoundEven, 3.5f), 4.f);
  EXPECT_TRUE(negative_zero(run(Prim::RoundEven, -0.5f)));
  EXPECT_EQ(run(Prim::RoundAfz, 2.5f), 3.f);
  EXPECT_EQ(run(Prim::RoundAfz, -2.5), -3.0);
  EXPECT_EQ(run(Prim::RoundAfz, 0.49999997f), 0.f);
  EXPECT_EQ(run(Prim::Floor, -1.5f), -2.f);
  EXPECT_TRUE(negative_zero(run(Prim::Ceil, -0.5f)));
  EXPECT_TRUE(negative_zero(run(Prim::Sign, -0.0f)));
  EXPECT_TRUE(std::isnan(run(Prim::Sign, NAN)));
  EXPECT_EQ(run(Prim::Sign, -kInf), -1.0);
  EXPECT_TRUE(negative_zero(run(Prim::Neg, 0.0f)));
}

TEST(Prim, FloatDivisionAndRemainder) {
  EXPECT_EQ(run(Prim::Div, 1.f, 0.f), INFINITY);
  EXPECT_TRUE(std::isnan(run(Prim::Div, 0.f, 0.f)));
  EXPECT_EQ(run(Prim::Rem, -7.f, 2.f), -1.f);
  EXPECT_EQ(run(Prim::Rem, 5.f, INFINITY), 5.f);
  EXPECT_TRUE(std::isnan(run(Prim::Rem, 5.f, 0.f)));
  EXPECT_EQ(run(Prim::FloorMod, -7.f, 2.f), 1.f);
  EXPECT_EQ(run(Prim::FloorMod, 7.f, -2.f), -1.f);
  EXPECT_EQ(run(Prim::FloorDiv, -7.f, 2.f), -4.f);
  EXPECT_EQ(run(Prim::Rsqrt, 0.f), INFINITY);
  EXPECT_EQ(run(Prim::Rsqrt, -0.f), -INFINITY);
  EXPECT_TRUE(std::isnan(run(Prim::Sqrt, -1.f)));
  EXPECT_EQ(run(Prim::Pow, 0.f, 0.f), 1.f);
  EXPECT_EQ(run(Prim::Pow, -2.f, 3.f), -8.f);
  EXPECT_TRUE(std::isnan(run(Prim::Pow, -2.f, 0.5f)));
  EXPECT_EQ(run(Prim::Atan2, 0.f, -1.f), 3.14159274f);
  EXPECT_EQ(run(Prim::Fma, 0x1.000002p0f, 0x1.000002p0f, -1.f), 0x1.000001p-22f);
}

TEST(Prim, Comparisons) {
  EXPECT_FALSE((run<float, bool>(Prim::Eq, NAN, NAN)));
  EXPECT_TRUE((run<float, bool>(Prim::Ne, NAN, NAN)));
  EXPECT_FALSE((run<float, bool>(Prim::Ge, NAN, 1.f)));
  EXPECT_TRUE((run<float, bool>(Prim::Eq, 0.f, -0.f)));
  EXPECT_TRUE((run<float, bool>(Prim::TotalLt, -0.f, 0.f)));
  EXPECT_FALSE((run<float, bool>(Prim::TotalLt, 0.f, -0.f)));
  EXPECT_TRUE((run<float, bool>(Prim::TotalLt, INFINITY, NAN)));
  EXPECT_TRUE((run<double, bool>(Prim::TotalLt, -NAN, -kInf)));
  EXPECT_FALSE((run<double, bool>(Prim::TotalLt, NAN, NAN)));
  EXPECT_TRUE((run<uint32_t, bool>(Prim::Gt, 0x80000000u, 1u)));
  EXPECT_TRUE((run<int32_t, bool>(Prim::Lt, INT32_MIN, 1)));
  EXPECT_EQ(on(Prim::Lt, DType::BF16, 1, 2), 1);
  EXPECT_EQ(on(Prim::IsNan, DType::F8E4M3FN, NAN), 1);
  EXPECT_TRUE((run<float, bool>(Prim::IsInf, -INFINITY)));
  EXPECT_FALSE((run<float, bool>(Prim::IsFinite, NAN)));
  EXPECT_TRUE((run<double, bool>(Prim::IsFinite, 1e308)));
  EXPECT_TRUE((run<C, bool>(Prim::Eq, C(1, 2), C(1, 2))));
}

TEST(Prim, BoolIsLogic) {
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 2; ++b) {
      EXPECT_EQ(on(Prim::And, DType::Bool, a, b), a & b);
      EXPECT_EQ(on(Prim::Or, DType::Bool, a, b), a | b);
      EXPECT_EQ(on(Prim::Xor, DType::Bool, a, b), a ^ b);
      EXPECT_EQ(on(Prim::Add, DType::Bool, a, b), a | b);
      EXPECT_EQ(on(Prim::Mul, DType::Bool, a, b), a & b);
      EXPECT_EQ(on(Prim::Lt, DType::Bool, a, b), a < b);
    }
    EXPECT_EQ(on(Prim::Not, DType::Bool, a), 1 - a);
  }
}

TEST(Prim, NextAfterStepsInItsOwnFormat) {
  EXPECT_EQ(run(Prim::NextAfter, 1.f, 2.f), 0x1.000002p0f);
  EXPECT_EQ(run(Prim::NextAfter, 0.f, -1.f), -0x1p-149f);
  EXPECT_EQ(on(Prim::NextAfter, DType::BF16, 1, 2), 1.0078125);
  EXPECT_EQ(on(Prim::NextAfter, DType::F16, 0, -1), -0x1p-24);
  EXPECT_EQ(on(Prim::NextAfter, DType::F8E5M2, 57344, kInf), kInf);
  EXPECT_EQ(on(Prim::NextAfter, DType::F8E4M3FNUZ, -0x1p-10, 1), 0);
}

TEST(Prim, TranscendentalsOfF32AreWithinOneUlp) {
  Rng rng(3);
  struct Fn {
    Prim p;
    long double (*exact)(long double);
    double lo, hi;
  };
  const Fn fns[] = {
      {Prim::Exp, std::exp, -100, 88},      {Prim::Expm1, std::expm1, -20, 20},
      {Prim::Log, std::log, 1e-30, 1e30},   {Prim::Log1p, std::log1p, -0.99, 10},
      {Prim::Sin, std::sin, -1e4, 1e4},     {Prim::Cos, std::cos, -1e4, 1e4},
      {Prim::Tan, std::tan, -100, 100},     {Prim::Tanh, std::tanh, -10, 10},
      {Prim::Erf, std::erf, -4, 4},         {Prim::Cbrt, std::cbrt, -1e9, 1e9},
      {Prim::Asin, std::asin, -1, 1},       {Prim::Atanh, std::atanh, -0.999, 0.999},
      {Prim::Lgamma, std::lgamma, 0.1, 50}, {Prim::Acosh, std::acosh, 1, 1e6},
  };
  for (const Fn& f : fns) {
    for (int i = 0; i < 500; ++i) {
      const float x = static_cast<float>(rng.uniform(f.lo, f.hi));
      const float got = run(f.p, x), want = static_cast<float>(f.exact(x));
      const float ulp = std::fabs(std::nextafter(want, INFINITY) - want);
      EXPECT_LE(std::fabs(got - want), ulp) << name(f.p) << " " << x;
    }
  }
  EXPECT_EQ(run(Prim::Logistic, 0.f), 0.5f);
  EXPECT_EQ(run(Prim::Logistic, -1000.f), 0.f);
  EXPECT_EQ(run(Prim::Logistic, 1000.f), 1.f);
  EXPECT_FLOAT_EQ(run(Prim::Logistic, -80.f), 1.8048513e-35f);
}

// Each primitive on narrow floats is the f32 one rounded once, for every stride.
TEST(Prim, NarrowFloatsComputeInF32) {
  Rng rng(4);
  constexpr int64_t n = 1200;  // more than one piece
  for (DType t : {DType::BF16, DType::F16, DType::F8E4M3FN, DType::F8E5M2FNUZ}) {
    Literal a(t, {3 * n}), b(t, {n});
    for (int64_t i = 0; i < 3 * n; ++i) a.set_f64(i, rng.normal());
    for (int64_t i = 0; i < n; ++i) b.set_f64(i, rng.normal());
    for (const int64_t s : {0, 1, 3}) {
      Literal out(t, {n}), cmp(DType::Bool, {n});
      const void* args[] = {a.bytes(), b.bytes()};
      const int64_t strides[] = {s, 1};
      apply(Prim::Add, t, args, strides, out.mutable_bytes(), n);
      apply(Prim::Lt, t, args, strides, cmp.mutable_bytes(), n);
      for (int64_t i = 0; i < n; ++i) {
        const float x = static_cast<float>(a.as_f64(i * s)), y = static_cast<float>(b.as_f64(i));
        Literal want(t, {});
        want.set_f64(0, static_cast<double>(x + y));
        EXPECT_EQ(out.as_f64(i), want.as_f64(0)) << name(t);
        EXPECT_EQ(cmp.as_i64(i), x < y);
      }
    }
  }
}

TEST(Prim, StridesAndInPlace) {
  std::vector<int32_t> a(100), b(100), out(100);
  for (int i = 0; i < 100; ++i) a[static_cast<size_t>(i)] = i, b[static_cast<size_t>(i)] = 1000 * i;
  auto go = [&](int64_t s, int64_t t, int64_t n, void* o) {
    const void* args[] = {a.data(), b.data()};
    const int64_t strides[] = {s, t};
    apply(Prim::Add, DType::I32, args, strides, o, n);
  };
  for (const auto& [s, t] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {0, 1}, {1, 0}, {0, 0}, {2, 1}, {1, 2}, {2, 0}}) {
    go(s, t, 50, out.data());
    for (int64_t i = 0; i < 50; ++i) {
      EXPECT_EQ(out[static_cast<size_t>(i)], i * s + 1000 * i * t);
    }
  }
  go(1, 1, 100, a.data());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a[static_cast<size_t>(i)], 1001 * i);
  go(1, 1, 0, nullptr);
}

TEST(Prim, SelectCopies) {
  for (DType t : {DType::I4, DType::BF16, DType::F32, DType::F64, DType::C128}) {
    Literal c(DType::Bool, {40}), x(t, {40}), y(t, {40}), out(t, {40});
    for (int64_t i = 0; i < 40; ++i) {
      c.set_i64(i, i % 3 == 0);
      x.set_f64(i, i % 7);
      y.set_f64(i, -(i % 5));
    }
    const void* args[] = {c.bytes(), x.bytes(), y.bytes()};
    const int64_t strides[] = {1, 1, 1};
    apply(Prim::Select, t, args, strides, out.mutable_bytes(), 40);
    for (int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(out.as_c128(i), i % 3 == 0 ? x.as_c128(i) : y.as_c128(i));
    }
  }
}

void expect_near(C got, C want, double tolerance, const char* what) {
  EXPECT_NEAR(got.real(), want.real(), tolerance * std::max(1.0, std::abs(want))) << what;
  EXPECT_NEAR(got.imag(), want.imag(), tolerance * std::max(1.0, std::abs(want))) << what;
}

TEST(Prim, ComplexFunctions) {
  Rng rng(5);
  for (int i = 0; i < 300; ++i) {
    const C z(rng.normal(), rng.normal()), w(rng.normal(), rng.normal());
    expect_near(run(Prim::Mul, z, w), z * w, 1e-15, "mul");
    expect_near(run(Prim::Mul, run(Prim::Div, z, w), w), z, 1e-14, "div");
    expect_near(run(Prim::Expm1, z), std::exp(z) - 1.0, 1e-14, "expm1");
    expect_near(run(Prim::Log1p, z), std::log(z + 1.0), 1e-13, "log1p");
    expect_near(run(Prim::Pow, z, w), std::exp(w * std::log(z)), 1e-13, "pow");
    const C r = run(Prim::Cbrt, z);
    expect_near(r * r * r, z, 1e-14, "cbrt");
    const C q = run(Prim::Rsqrt, z);
    expect_near(q * q * z, C(1), 1e-13, "rsqrt");
    expect_near(run(Prim::Logistic, z) * (1.0 + std::exp(-z)), C(1), 1e-13, "logistic");
    expect_near(run(Prim::Tan, run(Prim::Atan2, z, w)), z / w, 1e-10, "atan2");
    EXPECT_NEAR(std::abs(run(Prim::Sign, z)), 1, 1e-15);
    EXPECT_DOUBLE_EQ((run<C, double>(Prim::Abs, z)), std::abs(z));
  }
  // Near zero, where the plain forms cancel.
  expect_near(run(Prim::Expm1, C(1e-12, 1e-12)) * 1e12, C(1, 1), 1e-11, "expm1 small");
  expect_near(run(Prim::Log1p, C(1e-12, 1e-12)) * 1e12, C(1, 1), 1e-11, "log1p small");
  EXPECT_EQ(run(Prim::Pow, C(0), C(0)), C(1));
  EXPECT_EQ(run(Prim::Pow, C(3, 4), C(2)), C(-7, 24));
  EXPECT_EQ(run(Prim::Sign, C(0)), C(0));
  EXPECT_EQ((run<C, double>(Prim::Real, C(1, 2))), 1);
  EXPECT_EQ((run<C, double>(Prim::Imag, C(1, 2))), 2);
  EXPECT_EQ((run<double, C>(Prim::Complex, 1, 2)), C(1, 2));
}

TEST(Prim, ComplexDivisionDoesNotOverflow) {
  EXPECT_EQ(run(Prim::Div, C(1e308, 1e308), C(1e308, 1e308)), C(1));
  EXPECT_EQ(run(Prim::Div, C(1e-310, 1e-310), C(1e-310, 1e-310)), C(1));
  EXPECT_EQ(run(Prim::Div, C(8, 4), C(0, 2)), C(2, -4));
  const C by_zero = run(Prim::Div, C(1, -1), C(0, 0));
  EXPECT_TRUE(std::isinf(by_zero.real()) && std::isinf(by_zero.imag()));
  EXPECT_EQ(run(Prim::Div, C(1, 1), C(kInf, 0)), C(0));
  using F = std::complex<float>;
  EXPECT_EQ(run(Prim::Div, F(3e38f, 3e38f), F(3e38f, 3e38f)), F(1));
  EXPECT_EQ((run<F, float>(Prim::Abs, F(3e38f, 0))), 3e38f);
}

TEST(Cast, FollowsTheRules) {
  auto to = [](double v, DType from, DType t) { return convert(Literal::scalar(from, v), t); };
  EXPECT_EQ(to(300, DType::F32, DType::I8).as_i64(0), 127);
  EXPECT_EQ(to(-300, DType::F32, DType::I8).as_i64(0), -128);
  EXPECT_EQ(to(-1.9, DType::F32, DType::I32).as_i64(0), -1);
  EXPECT_EQ(to(-5, DType::F64, DType::U8).as_i64(0), 0);
  EXPECT_EQ(to(NAN, DType::F32, DType::I32).as_i64(0), 0);
  EXPECT_EQ(to(kInf, DType::F32, DType::I64).as_i64(0), INT64_MAX);
  EXPECT_EQ(to(-kInf, DType::F64, DType::I64).as_i64(0), INT64_MIN);
  EXPECT_EQ(to(1e30, DType::F32, DType::U64).as_i64(0), -1);
  EXPECT_EQ(to(9.3e18, DType::F64, DType::U64).as_i64(0),
            static_cast<int64_t>(9300000000000000000u));
  EXPECT_EQ(to(2147483648.0, DType::F32, DType::I32).as_i64(0), INT32_MAX);
  EXPECT_EQ(to(100, DType::F32, DType::I4).as_i64(0), 7);
  EXPECT_EQ(to(-100, DType::BF16, DType::I4).as_i64(0), -8);
  EXPECT_EQ(to(100, DType::F64, DType::U2).as_i64(0), 3);
  EXPECT_EQ(to(NAN, DType::F32, DType::Bool).as_i64(0), 1);
  EXPECT_EQ(to(-0.0, DType::F32, DType::Bool).as_i64(0), 0);
  EXPECT_EQ(to(0.25, DType::F16, DType::Bool).as_i64(0), 1);
  EXPECT_EQ(to(300, DType::I32, DType::U8).as_i64(0), 44);
  EXPECT_EQ(to(9, DType::I32, DType::I4).as_i64(0), -7);
  EXPECT_EQ(to(2.5, DType::F32, DType::C64).as_c128(0), C(2.5, 0));
  Literal z(DType::C128, {});
  z.set_c128(0, {0, 3});
  EXPECT_EQ(convert(z, DType::F32).as_f64(0), 0);
  EXPECT_EQ(convert(z, DType::Bool).as_i64(0), 1);
  // Once: 2^62 + 2^54 + 1 is above the middle of two bf16; by way of f32 it would be on it.
  const int64_t v = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  EXPECT_EQ(convert(Literal::scalar_i(DType::I64, v), DType::BF16).as_f64(0), 0x1.02p62);
  EXPECT_EQ(convert(Literal::scalar_i(DType::I64, -v), DType::BF16).as_f64(0), -0x1.02p62);
  EXPECT_EQ(convert(Literal::scalar_i(DType::I64, v - 1), DType::BF16).as_f64(0), 0x1p62);
  EXPECT_EQ(convert(Literal::scalar_i(DType::I64, INT64_MIN), DType::F16).as_f64(0), -kInf);
}

TEST(Cast, EveryPairKeepsSmallIntegers) {
  for (int a = 0; a < kDTypeCount; ++a) {
    for (int b = 0; b < kDTypeCount; ++b) {
      const DType from = static_cast<DType>(a), to = static_cast<DType>(b);
      Literal x(from, {1030});
      for (int64_t i = 0; i < x.size(); ++i) x.set_i64(i, 1);
      const Literal y = convert(x, to);
      EXPECT_EQ(y.dtype(), to);
      for (const int64_t i : {int64_t{0}, int64_t{511}, int64_t{512}, int64_t{1029}}) {
        EXPECT_EQ(y.as_c128(i), C(1)) << name(from) << " to " << name(to);
      }
    }
  }
}

}  // namespace
}  // namespace tenfold
