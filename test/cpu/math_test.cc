// Largest error of the elementary functions in units in the last place, against glibc's double (for
// f32) and long double (for f64). Samples in the gate; every f32 with TENFOLD_LONG_TESTS. The
// bounds are those of docs/vector_math.md.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "jit.h"
#include "loop/builder.h"

namespace tenfold {
namespace {

using loop::Buffer;
using loop::Expr;
using loop::int_const;
using loop::Kernel;
using loop::LoopKind;

constexpr int64_t kN = 1 << 16;

Kernel unary(Prim p, DType t) {
  Kernel k;
  k.name = std::string(name(p));
  for (const char* n : {"x", "y"}) {
    auto b = std::make_shared<loop::BufferDef>();
    b->name = n;
    b->dtype = t;
    b->shape = {int_const(kN)};
    k.params.push_back(b);
  }
  k.param_written = {false, true};
  loop::Builder b(&k);
  b.for_("io", int_const(kN / 16), [&](Expr io) {
    b.for_(
        "ii", int_const(16),
        [&](Expr ii) {
          Expr i = io * int_const(16) + ii;
          b.store(k.params[1], {i}, loop::op(p, {loop::load(k.params[0], {i})}));
        },
        LoopKind::Vectorized);
  });
  return k;
}

template <class T>
T logistic(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

struct Function {
  Prim prim;
  double f32_bound, f64_bound;
  double (*d)(double);
  long double (*l)(long double);
};
#define TF_FN(p, b32, b64, f)                                  \
  {Prim::p, b32, b64, [](double x) -> double { return f(x); }, \
   [](long double x) -> long double { return f(x); }}
const Function kFunctions[] = {
    TF_FN(Exp, 1.1, 1.0, std::exp),     TF_FN(Expm1, 1.6, 2.0, std::expm1),
    TF_FN(Log, 1.0, 1.0, std::log),     TF_FN(Log1p, 0.6, 2.5, std::log1p),
    TF_FN(Tanh, 1.5, 3.0, std::tanh),   TF_FN(Logistic, 2.5, 2.5, logistic),
    TF_FN(Erf, 1.5, 1.5, std::erf),     TF_FN(Sin, 0.6, 1.0, std::sin),
    TF_FN(Cos, 0.6, 1.0, std::cos),     TF_FN(Tan, 0.6, 2.5, std::tan),
    TF_FN(Asin, 0.6, 2.5, std::asin),   TF_FN(Acos, 0.6, 2.0, std::acos),
    TF_FN(Atan, 0.6, 2.5, std::atan),   TF_FN(Sinh, 0.6, 3.0, std::sinh),
    TF_FN(Cosh, 0.6, 3.0, std::cosh),   TF_FN(Asinh, 0.6, 3.0, std::asinh),
    TF_FN(Acosh, 0.6, 3.0, std::acosh), TF_FN(Atanh, 0.6, 3.0, std::atanh),
    TF_FN(Cbrt, 0.6, 1.0, std::cbrt),
};

template <class T, class Ref>
double ulps(T got, Ref want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  const T rounded = static_cast<T>(want);
  if (got == rounded) {
    if (std::isinf(got) || got == 0) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e30;
  } else if (std::isinf(got) || std::isinf(rounded)) {
    return 1e30;
  }
  constexpr int man = sizeof(T) == 4 ? 23 : 52, least = sizeof(T) == 4 ? -126 : -1022;
  const int e = want == 0 ? least : std::max(std::ilogb(want), least);
  return static_cast<double>(
      std::fabs((static_cast<Ref>(got) - want) / std::ldexp(Ref(1), e - man)));
}

struct Worst {
  double ulp = 0;
  double at = 0;
};
void report(const Function& f, const char* type, Worst w, double bound) {
  printf("%-9s %s %.3f ulp at %a\n", std::string(name(f.prim)).c_str(), type, w.ulp, w.at);
  EXPECT_LE(w.ulp, bound) << name(f.prim) << " " << type << " at " << w.at;
}

std::vector<Kernel> kernels(DType t) {
  std::vector<Kernel> k;
  for (const Function& f : kFunctions) k.push_back(unary(f.prim, t));
  return k;
}

TEST(VectorMath, f32_stays_within_the_stated_error) {
  Jit jit;
  ASSERT_EQ(jit.build(kernels(DType::F32)), "");
  const bool all = std::getenv("TENFOLD_LONG_TESTS") != nullptr;
  // A step of 1 is every f32; an odd one still meets every exponent and all last bits.
  const char* text = std::getenv("TENFOLD_F32_STEP");
  const uint64_t step = text ? std::strtoull(text, nullptr, 10) : 1;
  const uint64_t chunks = all ? (uint64_t{1} << 32) / kN / step : 4;
  auto* x = static_cast<float*>(aligned_alloc(64, kN * 4));
  auto* y = static_cast<float*>(aligned_alloc(64, kN * 4));
  for (size_t k = 0; k < std::size(kFunctions); ++k) {
    Worst w;
    for (uint64_t c = 0; c < chunks; ++c) {
      std::mt19937 r(static_cast<uint32_t>(c));
      for (int64_t i = 0; i < kN; ++i) {
        uint32_t bits =
            all ? static_cast<uint32_t>((c * kN + static_cast<uint64_t>(i)) * step) : r();
        if (!all && c % 2) {  // the usual magnitudes
          const float v = (static_cast<float>(r()) * 0x1p-31f - 1) * (c == 1 ? 1.5f : 20.0f);
          memcpy(&bits, &v, 4);
        }
        memcpy(&x[i], &bits, 4);
      }
      jit.run(k, std::vector<void*>{x, y});
      for (int64_t i = 0; i < kN; ++i) {
        const double u = ulps(y[i], kFunctions[k].d(static_cast<double>(x[i])));
        if (u > w.ulp) w = {u, static_cast<double>(x[i])};
      }
    }
    report(kFunctions[k], "f32", w, kFunctions[k].f32_bound);
  }
  free(x);
  free(y);
}

TEST(VectorMath, f64_stays_within_the_stated_error) {
  Jit jit;
  ASSERT_EQ(jit.build(kernels(DType::F64)), "");
  const uint64_t chunks = std::getenv("TENFOLD_LONG_TESTS") ? 400 : 3;
  auto* x = static_cast<double*>(aligned_alloc(64, kN * 8));
  auto* y = static_cast<double*>(aligned_alloc(64, kN * 8));
  for (size_t k = 0; k < std::size(kFunctions); ++k) {
    Worst w;
    for (uint64_t c = 0; c < chunks; ++c) {
      std::mt19937_64 r(c);
      for (int64_t i = 0; i < kN; ++i) {
        const uint64_t bits = r();
        const double u = static_cast<double>(static_cast<int64_t>(bits)) * 0x1p-63;
        if (c % 3 == 0)
          memcpy(&x[i], &bits, 8);
        else
          x[i] = c % 3 == 1 ? u * 1.5 : u * 40;
      }
      jit.run(k, std::vector<void*>{x, y});
      for (int64_t i = 0; i < kN; ++i) {
        const double u = ulps(y[i], kFunctions[k].l(static_cast<long double>(x[i])));
        if (u > w.ulp) w = {u, x[i]};
      }
    }
    report(kFunctions[k], "f64", w, kFunctions[k].f64_bound);
  }
  free(x);
  free(y);
}

TEST(VectorMath, prints_elements_per_nanosecond) {
  Jit jit;
  ASSERT_EQ(jit.build(kernels(DType::F32)), "");
  auto* x = static_cast<float*>(aligned_alloc(64, kN * 4));
  auto* y = static_cast<float*>(aligned_alloc(64, kN * 4));
  for (int64_t i = 0; i < kN; ++i) x[i] = static_cast<float>(i % 2001 - 1000) * 0.009f;
  for (size_t k = 0; k < std::size(kFunctions); ++k) {
    void* bufs[] = {x, y};
    double best = 1e9;
    for (int r = 0; r < 7; ++r) {
      const auto t0 = std::chrono::steady_clock::now();
      jit.phase(k, 0)(bufs, nullptr, 0, 1, nullptr);
      best = std::min(best,
                      std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
    }
    printf("%-9s f32 %.2f elements/ns\n", std::string(name(kFunctions[k].prim)).c_str(),
           static_cast<double>(kN) / best * 1e-9);
  }
  free(x);
  free(y);
}

}  // namespace
}  // namespace tenfold
