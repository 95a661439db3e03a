// Every primitive on every type it is defined on, against array/prim's apply(): bit for bit, the
// transcendental functions within their stated error. Scalar loops, whole registers, masked tails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "array/floats.h"
#include "array/prim.h"
#include "jit.h"
#include "loop/builder.h"

namespace tenfold {
namespace {

using loop::Buffer;
using loop::Expr;
using loop::Kernel;
using loop::LoopKind;

Buffer param(std::string name, DType t, std::vector<int64_t> shape) {
  auto b = std::make_shared<loop::BufferDef>();
  b->name = std::move(name);
  b->dtype = t;
  for (int64_t d : shape) b->shape.push_back(loop::int_const(d));
  return b;
}

constexpr Prim kAllPrims[] = {
#define X(n, a, s) Prim::n,
    TENFOLD_PRIMS(X)
#undef X
};

bool transcendental(Prim p) {
  switch (p) {
    case Prim::Cbrt:
    case Prim::Exp:
    case Prim::Expm1:
    case Prim::Log:
    case Prim::Log1p:
    case Prim::Logistic:
    case Prim::Sin:
    case Prim::Cos:
    case Prim::Tan:
    case Prim::Asin:
    case Prim::Acos:
    case Prim::Atan:
    case Prim::Sinh:
    case Prim::Cosh:
    case Prim::Tanh:
    case Prim::Asinh:
    case Prim::Acosh:
    case Prim::Atanh:
    case Prim::Erf:
    case Prim::Lgamma:
    case Prim::Pow:
    case Prim::Atan2:
    case Prim::Rsqrt:
      return true;
    default:
      return false;
  }
}

// Random values with many special ones.
Literal operand(DType t, int64_t n, uint64_t seed, int which) {
  Literal l(t, {n});
  std::mt19937_64 r(seed * 31 + static_cast<uint64_t>(which));
  auto* p = reinterpret_cast<uint8_t*>(l.mutable_bytes());
  if (t == DType::Bool) {
    for (int64_t i = 0; i < n; ++i) p[i] = r() & 1;
    return l;
  }
  const double inf = INFINITY;
  const std::vector<double> special = {0.0,   -0.0,  1,    -1,    0.5,    -0.5,   2,          3,
                                       inf,   -inf,  NAN,  1e-40, -1e-40, 1e-310, 5e-324,     1e38,
                                       -1e38, 1e300, 2.5,  -2.5,  1.5,    3.5,    0.99999997, 100,
                                       -100,  710,   -745, 88.7,  -103};
  const int64_t ints[] = {0, 1, -1, 2, 3, 7, -8, 63, 64, 31, INT64_MIN, INT64_MAX, 5, -3};
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t kind = r() % 4;
    if (is_integer(t)) {
      int64_t v = kind == 0   ? ints[r() % 14]
                  : kind == 1 ? static_cast<int64_t>(r() % 17) - 8
                              : static_cast<int64_t>(r());
      l.set_i64(i, v);
    } else {
      auto value = [&]() -> double {
        const uint64_t k = r() % 4;
        if (k == 0) return special[r() % special.size()];
        const double u = static_cast<double>(static_cast<int64_t>(r())) * 0x1p-63;
        return k == 1 ? u : k == 2 ? u * 20 : std::ldexp(u, static_cast<int>(r() % 60) - 30);
      };
      if (is_complex(t))
        l.set_c128(i, {value(), value()});
      else if (kind == 3 && byte_size(t) <= 4) {
        uint64_t bits = r();
        if (byte_size(t) == 1) bits &= (1u << bit_width(t)) - 1;
        memcpy(p + i * byte_size(t), &bits, static_cast<size_t>(byte_size(t)));
      } else
        l.set_f64(i, value());
    }
  }
  return l;
}

struct Form {
  const char* name;
  int lanes;  // 0: serial
};

Kernel elementwise(Prim p, DType t, int64_t n, Form form) {
  Kernel k;
  k.name = std::string(name(p)) + "_" + form.name;
  std::vector<DType> in(static_cast<size_t>(arity(p)), t);
  if (p == Prim::Select) in[0] = DType::Bool;
  std::vector<Buffer> ins;
  for (size_t i = 0; i < in.size(); ++i) ins.push_back(param("x" + std::to_string(i), in[i], {n}));
  Buffer out = param("out", result_dtype(p, t), {n});
  k.params = ins;
  k.params.push_back(out);
  k.param_written.assign(in.size(), false);
  k.param_written.push_back(true);
  loop::Builder b(&k);
  auto body = [&](Expr i) {
    std::vector<Expr> args;
    for (const Buffer& x : ins) args.push_back(loop::load(x, {i}));
    b.store(out, {i}, loop::op(p, args));
  };
  if (form.lanes == 0) {
    b.for_("i", loop::int_const(n), body);
  } else {
    b.for_("io", loop::int_const((n + form.lanes - 1) / form.lanes), [&](Expr io) {
      b.for_(
          "ii", loop::int_const(form.lanes),
          [&](Expr ii) {
            Expr i = io * loop::int_const(form.lanes) + ii;
            b.if_(loop::lt(i, loop::int_const(n)), [&] { body(i); });
          },
          LoopKind::Vectorized);
    });
  }
  return k;
}

double ulp_distance(double got, double want, DType t) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == want) return 0;
  if (std::isnan(got) || std::isnan(want) || std::isinf(got) || std::isinf(want)) {
    // A result just over the largest number.
    return 1e30;
  }
  const int man = t == DType::F64 ? 52 : t == DType::F32 ? 23 : format_of(t).man_bits;
  const int least = t == DType::F64 ? -1022 : t == DType::F32 ? -126 : 1 - format_of(t).bias;
  const int e = want == 0 ? least : std::max(std::ilogb(want), least);
  return std::fabs(got - want) / std::ldexp(1.0, e - man);
}

class Prims : public testing::TestWithParam<DType> {};

TEST_P(Prims, match_the_reference_scalar_and_vectorized) {
  const DType t = GetParam();
  const int64_t n = 1003;
  // The narrow floats differ in their conversions alone: one form in the gate.
  const bool narrow = is_float(t) && bit_width(t) < 16;
  const std::vector<Form> forms = narrow && !std::getenv("TENFOLD_LONG_TESTS")
                                      ? std::vector<Form>{{"v64", 64}}
                                      : std::vector<Form>{{"serial", 0}, {"v64", 64}, {"v5", 5}};
  std::vector<Kernel> kernels;
  std::vector<std::pair<Prim, Form>> what;
  for (Prim p : kAllPrims) {
    if (!supports(p, t)) continue;
    for (Form f : forms) {
      kernels.push_back(elementwise(p, t, n, f));
      what.push_back({p, f});
    }
  }
  Jit jit;
  ASSERT_EQ(jit.build(kernels), "");
  for (size_t k = 0; k < kernels.size(); ++k) {
    const auto [p, f] = what[k];
    SCOPED_TRACE(std::string(name(p)) + " on " + std::string(name(t)) + " " + f.name);
    std::vector<Literal> in;
    for (int i = 0; i < arity(p); ++i) {
      in.push_back(operand(p == Prim::Select && i == 0 ? DType::Bool : t, n, 7, i));
    }
    if (is_float(t) && arity(p) == 2) {  // equal operands, zeros of both signs
      for (int i = 0; i < 20; ++i) in[1].set_f64(i, i % 2 ? 0.0 : -0.0);
      for (int i = 0; i < 20; ++i) in[0].set_f64(i, i % 3 ? 0.0 : -0.0);
    }
    Literal want(result_dtype(p, t), {n}), got(result_dtype(p, t), {n});
    const void* args[3] = {};
    const int64_t strides[3] = {1, 1, 1};
    std::vector<Literal*> bufs;
    for (size_t i = 0; i < in.size(); ++i) {
      args[i] = in[i].bytes();
      bufs.push_back(&in[i]);
    }
    apply(p, t, args, strides, want.mutable_bytes(), n);
    bufs.push_back(&got);
    jit.run(k, bufs);
    auto operands = [&](int64_t i) {
      std::string s;
      for (const Literal& l : in) {
        if (is_complex(l.dtype())) {
          s += " (" + std::to_string(l.as_c128(i).real()) + "," +
               std::to_string(l.as_c128(i).imag()) + ")";
        } else if (is_float(l.dtype())) {
          char b[64];
          snprintf(b, sizeof b, " %a", l.as_f64(i));
          s += b;
        } else
          s += " " + std::to_string(l.as_i64(i));
      }
      return s;
    };
    int bad = 0;
    double worst = 0;
    for (int64_t i = 0; i < n && bad < 3; ++i) {
      if (transcendental(p) && is_complex(t)) {
        const auto a = got.as_c128(i), b = want.as_c128(i);
        const double tol = t == DType::C64 ? 4e-6 : p == Prim::Pow ? 1e-10 : 1e-13;
        auto near = [&](double x, double y, double scale) {
          if (std::isnan(x) && std::isnan(y)) return true;
          return x == y || std::fabs(x - y) <= tol * scale;
        };
        const double scale = std::hypot(b.real(), b.imag());
        // Exponentials of numbers in the hundreds carry their argument's error many times over.
        if (!std::isfinite(scale) || (t == DType::C128 && (scale > 1e200 || scale < 1e-200)))
          continue;
        if (p == Prim::Pow && std::isnan(std::abs(in[0].as_c128(i)) + std::abs(in[1].as_c128(i))))
          continue;
        if (!near(a.real(), b.real(), scale) || !near(a.imag(), b.imag(), scale)) {
          ++bad;
          ADD_FAILURE() << operands(i) << ": got (" << a.real() << ", " << a.imag() << ") want ("
                        << b.real() << ", " << b.imag() << ")";
        }
        continue;
      }
      if (transcendental(p) || (is_float(t) && p == Prim::Pow)) {
        const double u = ulp_distance(got.as_f64(i), want.as_f64(i), t);
        worst = std::max(worst, u);
        const bool lg = p == Prim::Lgamma && std::fabs(got.as_f64(i) - want.as_f64(i)) < 1e-14;
        if (u > 4 && !lg) {
          ++bad;
          char b[128];
          snprintf(b, sizeof b, "got %a want %a", got.as_f64(i), want.as_f64(i));
          ADD_FAILURE() << operands(i) << ": " << b;
        }
        continue;
      }
      const auto w = static_cast<size_t>(byte_size(want.dtype()));
      if (memcmp(got.bytes() + i * w, want.bytes() + i * w, w) != 0) {
        if (is_float(want.dtype()) && std::isnan(got.as_f64(i)) && std::isnan(want.as_f64(i)))
          continue;
        if (is_complex(want.dtype())) {
          const auto a = got.as_c128(i), b = want.as_c128(i);
          auto eq = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
          if (eq(a.real(), b.real()) && eq(a.imag(), b.imag())) continue;
          const double tol = want.dtype() == DType::C64 ? 1e-6 : 1e-14;
          if (std::abs(a - b) <= tol * std::abs(b)) continue;
        }
        // Formats without NaN make it a zero of the NaN's own sign, which nothing defines.
        if (is_float(t) && bit_width(t) < 8 && got.as_f64(i) == want.as_f64(i)) continue;
        if (is_complex(t) && p == Prim::Abs &&
            ulp_distance(got.as_f64(i), want.as_f64(i), want.dtype()) <= 1)
          continue;
        ++bad;
        if (is_complex(want.dtype())) {
          ADD_FAILURE() << operands(i) << ": got " << got.as_c128(i).real() << ","
                        << got.as_c128(i).imag() << " want " << want.as_c128(i).real() << ","
                        << want.as_c128(i).imag();
        } else if (is_float(want.dtype())) {
          char b[128];
          snprintf(b, sizeof b, "got %a want %a", got.as_f64(i), want.as_f64(i));
          ADD_FAILURE() << operands(i) << ": " << b;
        } else {
          ADD_FAILURE() << operands(i) << ": got " << got.as_i64(i) << " want " << want.as_i64(i);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Prims,
                         testing::Values(DType::Bool, DType::I4, DType::I8, DType::I16, DType::I32,
                                         DType::I64, DType::U2, DType::U8, DType::U16, DType::U32,
                                         DType::U64, DType::F4E2M1FN, DType::F6E3M2FN,
                                         DType::F8E3M4, DType::F8E4M3FN, DType::F8E4M3FNUZ,
                                         DType::F8E5M2, DType::F8E8M0FNU, DType::BF16, DType::F16,
                                         DType::F32, DType::F64, DType::C64, DType::C128),
                         [](const auto& i) {
                           return "t" + std::to_string(static_cast<int>(i.param));
                         });

}  // namespace
}  // namespace tenfold
