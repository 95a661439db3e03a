// Elementary functions in f32 arithmetic, for the ones that networks are made of; sine and cosine
// reduce and evaluate in f64, where the reduction is short.
#include <limits>

#include "backends/cpu/math.h"

namespace tenfold::cpu {
namespace {

constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kLn2Hi = 0x1.62p-1, kLn2Lo = 0x1.c85fep-10;  // hi * n is exact
constexpr double kInf = std::numeric_limits<double>::infinity();

// exp(r) - 1 for |r| <= ln2/2.
V expm1_core(V r) {
  V p = poly(r, {0x1.000000p-1, 0x1.55548ep-3, 0x1.55545ep-5, 0x1.123b54p-7, 0x1.6db428p-10});
  return fma(r * r, p, r);
}
V reduce_ln2(V x, V n) { return fma(n, -kLn2Lo, fma(n, -kLn2Hi, x)); }
// lo <= x <= hi; NaN stays.
V clamp(V x, double lo, double hi) {
  x = select(constant(x, hi) < x, constant(x, hi), x);
  return select(x < lo, constant(x, lo), x);
}

}  // namespace

V exp32(V x) {
  V c = clamp(x, -104.0, 89.0);
  V n = round_product(c, kLog2e, nullptr);
  return scale_by_pow2(expm1_core(reduce_ln2(c, n)) + 1.0, n);
}

V expm1_32(V x) {
  V c = clamp(x, -20.0, 89.0);
  V n = round_product(c, kLog2e, nullptr);
  V q = expm1_core(reduce_ln2(c, n));
  // 2^n as twice a half, for n = 128.
  V k = fbits(n + 0x1.8p23) - fbits(constant(x, 0x1.8p23));
  V half = from_bits(shl(iadd(k, 126), 23));
  V r = fma(half, q, half - 0.5);
  return copysign(r + r, x);
}

V log32(V x) {
  V sub = x < 0x1p-126;
  V bits = fbits(select(sub, x * 0x1p23, x));
  constexpr int64_t kSqrtHalf = 0x3f3504f3;
  V e = ashr(iadd(bits, -kSqrtHalf), 23);
  V f = from_bits(bits - shl(e, 23)) - 1.0;
  V k = int_to_fp(e, x.g->f32(), true);
  k = select(sub, k - 23.0, k);
  V p = poly(f, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4b6p-3, -0x1.555c4ep-3, 0x1.23376cp-3,
                 -0x1.fc2208p-4, 0x1.e6f044p-4, -0x1.de3c04p-4, 0x1.1457e0p-4});
  V t = f * f;
  V y = fma(f * t, p, k * kLn2Lo);
  y = fma(t, -0.5, y);
  V r = fma(k, kLn2Hi, f + y);
  r = select(x < kInf, r, x);  // infinity and NaN
  r = select(x < 0.0, constant(x, std::numeric_limits<double>::quiet_NaN()), r);
  return select(eq(x, 0.0), constant(x, -kInf), r);
}

V tanh32(V x) {
  V a = fabs(x);
  V z = x * x;
  V p = poly(z, {-0x1.555554p-2, 0x1.11106cp-3, -0x1.b9ef7ep-5, 0x1.6394dep-6, -0x1.0c215ep-7,
                 0x1.197bc6p-9});
  V small = fma(a * z, p, a);
  V large = 1.0 - 2.0 / (exp32(a + a) + 1.0);
  return copysign(select(a < 0.625, small, large), x);
}

V logistic32(V x) {
  V e = exp32(-fabs(x));
  return select(x < 0.0, e, constant(x, 1)) / (e + 1.0);
}

V erf32(V x) {
  V a = fabs(x);
  V z = x * x;
  V small = fma(poly(z, {0x1.06eba8p-3, -0x1.812744p-2, 0x1.ce2e1cp-4, -0x1.b80ff2p-6,
                         0x1.54d42ap-8, -0x1.aaa2dap-11, 0x1.5e0634p-14}),
                a, a);
  // erfc(a) = exp(-(a + a q(a))); from 4 on it is below half a unit of 1.
  V c = select(a > 4.0, constant(a, 4.0), a);
  V q = poly(c, {0x1.07810cp-3, 0x1.4529a8p-1, 0x1.b3a3c2p-4, -0x1.872522p-6, 0x1.e4de02p-9,
                 -0x1.62475cp-12, 0x1.af6814p-17});
  V large = 1.0 - exp32(-fma(q, c, c));
  return copysign(select(a < 0.92, small, large), x);
}

namespace {
// sin for odd = 0, cos for odd = 1, of f32 x, computed in f64.
V sin_cos(V x, int odd) {
  Gen& g = *x.g;
  V d = convert_fp(x, g.f64());
  V quadrant;
  V n = round_product(d, 0x1.45f306dc9c883p-1, &quadrant);
  V r = fma(n, -0x1.1a62633145c07p-54, fma(n, -0x1.921fb54442d18p+0, d));
  V hard = ~(fabs(x) < 0x1p28);
  auto evaluate = [&](V rr, V qq) {
    V z = rr * rr;
    V s = fma(rr * z,
              poly(z, {-0x1.5555554cb92fdp-3, 0x1.11110895bbcf3p-7, -0x1.a00f9d2e50e37p-13,
                       0x1.6cd83af1a7a9bp-19}),
              rr);
    V c = fma(z * z,
              poly(z, {0x1.5555554f4de01p-5, -0x1.6c16b8984de6fp-10, 0x1.a0111fcd604b8p-16,
                       -0x1.242ac25ba1eb0p-22}),
              fma(z, -0.5, constant(z, 1.0)));
    V q = odd ? iadd(qq, 1) : qq;
    V v = select(ne(iand(q, 1), constant_i(q, 0)), c, s);
    V sign = shl(iand(q, 2), 62);
    return convert_fp(from_bits(fbits(v) ^ sign), g.f32());
  };
  V easy = evaluate(r, quadrant);
  if (!odd) easy = select(eq(x, 0.0), x, easy);
  return g.if_then(any(hard), easy, [&] {
    V q2, hi, lo;
    reduce_pi_2(d, &q2, &hi, &lo);
    return select(hard, evaluate(hi, q2), easy);
  });
}
}  // namespace

V sin32(V x) { return sin_cos(x, 0); }
V cos32(V x) { return sin_cos(x, 1); }

}  // namespace tenfold::cpu
