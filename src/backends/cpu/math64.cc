// Elementary functions in f64. The rarer f32 functions are these, rounded.
#include <limits>

#include "backends/cpu/math.h"

namespace tenfold::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn2Hi = 0x1.62e42feep-1, kLn2Lo = 0x1.a39ef35793c76p-33;  // hi * n is exact
constexpr double kPi2Hi = 0x1.921fb54442d18p+0, kPi2Lo = 0x1.1a62633145c07p-54;
constexpr double kPi2Lo2 = -0x1.f1976b7ed8fbcp-110;
constexpr double kPi4Lo = 0x1.1a62633145c07p-55;

// exp(r) - 1 for |r| <= ln2/2.
V expm1_core(V r) {
  V p = poly(r, {0x1p-1, 0x1.555555555555cp-3, 0x1.555555555555ep-5, 0x1.111111110ebb3p-7,
                 0x1.6c16c16c1356fp-10, 0x1.a01a01b3bb1a8p-13, 0x1.a01a01b45b041p-16,
                 0x1.71ddef93dcfe4p-19, 0x1.27e4bf287c1c7p-22, 0x1.af6cccbd42820p-26,
                 0x1.1f9df8130b07fp-29});
  return fma(r * r, p, r);
}
V reduce_ln2(V x, V n) { return fma(n, -kLn2Lo, fma(n, -kLn2Hi, x)); }
V clamp(V x, double lo, double hi) {  // NaN stays
  x = select(constant(x, hi) < x, constant(x, hi), x);
  return select(x < lo, constant(x, lo), x);
}
V nan_like(V x) { return constant(x, kNaN); }

// x = m * 2^k, m in [sqrt(1/2), sqrt(2)), for x > 0.
V split_exponent(V x, V* k) {
  V sub = x < 0x1p-1022;
  V bits = fbits(select(sub, x * 0x1p54, x));
  constexpr int64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  V e = ashr(iadd(bits, -kSqrtHalf), 52);
  // To double through the lower bits of a big number: no 64-bit conversion needed.
  V big = fbits(constant(x, 0x1.8p52));
  V kf = from_bits(e + big) - 0x1.8p52;
  *k = select(sub, kf - 54.0, kf);
  return from_bits(bits - shl(e, 52));
}

// log(1 + f) + k ln2 + c for f from split_exponent.
V log_tail(V f, V k, V c) {
  V s = f / (f + 2.0);
  V z = s * s;
  V r = z * poly(z, {0x1.5555555555593p-1, 0x1.999999997fb3dp-2, 0x1.249249421713dp-2,
                     0x1.c71c51e85b9f9p-3, 0x1.7466461a23e1ap-3, 0x1.39a0f6b375f2ap-3,
                     0x1.2f0d7ed741c51p-3});
  V h = f * f * 0.5;
  V low = fma(s, h + r, fma(k, kLn2Lo, c));
  return fma(k, kLn2Hi, f - (h - low));
}

V log_specials(V x, V r) {
  r = select(x < kInf, r, x);
  r = select(x < 0.0, nan_like(x), r);
  return select(eq(x, 0.0), constant(x, -kInf), r);
}

// atan on [0, 1].
V atan01(V t) {
  V mid = t > 0x1.a827999fcef32p-2;  // tan(pi/8)
  V u = select(mid, (t - 1.0) / (t + 1.0), t);
  V z = u * u;
  V a = poly(
      z, {-0x1.555555555553dp-2, 0x1.9999999995868p-3, -0x1.24924922adb5ap-3, 0x1.c71c70e63b5c9p-4,
          -0x1.745cf8e115c07p-4, 0x1.3b11195de0062p-4, -0x1.10ebba1ecb5d8p-4, 0x1.df0f5429c23c5p-5,
          -0x1.9cd28f23c3a28p-5, 0x1.37d44edf86d90p-5, -0x1.25657b6d5db0ep-6});
  V p = fma(u * z, a, u);
  return select(mid, (p + kPi4Lo) + kPi2Hi / 2, p);
}

V asin_poly(V z) {
  return poly(
      z, {0x1.5555555555578p-3, 0x1.333333332df0fp-4, 0x1.6db6db722ba00p-5, 0x1.f1c71a8b8ba33p-6,
          0x1.6e8bdfe818eb7p-6, 0x1.1c49ddeb512bdp-6, 0x1.ca214607c115bp-7, 0x1.757781381e5bdp-7,
          0x1.618af2a4d675dp-7, 0x1.e1587d757fec6p-9, 0x1.6502b4a938a7fp-6, -0x1.59f754a74c394p-6,
          0x1.0be49b988c3aep-5});
}

V sin_kernel(V r, V lo) {
  V z = r * r;
  V p = poly(z, {-0x1.5555555555549p-3, 0x1.111111110f87bp-7, -0x1.a01a019c11a6dp-13,
                 0x1.71de3577c09afp-19, -0x1.ae5e664170b13p-26, 0x1.5d9302c52f0f0p-33});
  return r + fma(r * z, p, lo);
}
V cos_kernel(V r, V lo) {
  V z = r * r;
  V p = poly(z, {0x1.555555555554cp-5, -0x1.6c16c16c15180p-10, 0x1.a01a019cb1e9fp-16,
                 -0x1.27e4f80a0d04cp-22, 0x1.1ee9ebfa9d13fp-29, -0x1.8faea4bafc1f3p-37});
  V h = z * 0.5;
  V w = 1.0 - h;
  return w + ((1.0 - w) - h + fma(z * z, p, -(r * lo)));
}

// 2/pi in binary, after 64 zero bits.
constexpr uint64_t kTwoOverPi[] = {0x0,
                                   0xa2f9836e4e441529,
                                   0xfc2757d1f534ddc0,
                                   0xdb6295993c439041,
                                   0xfe5163abdebbc561,
                                   0xb7246e3a424dd2e0,
                                   0x06492eea09d1921c,
                                   0xfe1deb1cb129a73e,
                                   0xe88235f52ebb4484,
                                   0xe99c7026b45f7e41,
                                   0x3991d639835339f4,
                                   0x9c845f8bbdf9283b,
                                   0x1ff897ffde05980f,
                                   0xef2f118b5a0a6d1f,
                                   0x6d367ecf27cb09b7,
                                   0x4f463f669e5fea2d,
                                   0x7527bac7ebe5f17b,
                                   0x3d0739f78a5292ea,
                                   0x6bfb5fb11f8d5d08,
                                   0x56033046fc7b6bab};

// The reduction for large finite |x| >= 2^20, by the bits of 2/pi that matter (Payne and Hanek).
// Returns {quadrant, hi, lo}.
llvm::Function* large_reduction(Gen& g) {
  const char* name = "tenfold.reduce_pi_2";
  if (llvm::Function* f = g.module.getFunction(name)) return f;
  auto& b = g.b;
  llvm::Type* i64 = b.getInt64Ty();
  llvm::Type* i128 = b.getInt128Ty();
  auto* result = llvm::StructType::get(g.ctx, {i64, g.f64(), g.f64()});
  auto* f = llvm::Function::Create(llvm::FunctionType::get(result, {g.f64()}, false),
                                   llvm::Function::InternalLinkage, name, g.module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr("no-builtins");
  const auto saved = b.saveIP();
  llvm::Function* caller = saved.getBlock()->getParent();
  f->addFnAttr(caller->getFnAttribute("target-cpu"));
  f->addFnAttr(caller->getFnAttribute("target-features"));
  b.SetInsertPoint(llvm::BasicBlock::Create(g.ctx, "entry", f));
  auto* table_value = llvm::ConstantDataArray::get(g.ctx, llvm::ArrayRef<uint64_t>(kTwoOverPi));
  auto* table = new llvm::GlobalVariable(g.module, table_value->getType(), true,
                                         llvm::GlobalValue::PrivateLinkage, table_value,
                                         "tenfold.two_over_pi");
  V x = g.wrap(f->getArg(0));
  V bits = fbits(fabs(x));
  V e = iadd(lshr(bits, 52), -1075);  // x = m * 2^e
  V m = ior(iand(bits, (int64_t{1} << 52) - 1), int64_t{1} << 52);
  // Bits of 2/pi before index e - 2 give multiples of 4 only.
  V at = iadd(e, 64 - 2);
  V word = lshr(at, 6), shift = iand(at, 63);
  std::vector<V> w;
  for (int i = 0; i < 4; ++i) {
    llvm::Value* p = b.CreateInBoundsGEP(i64, table, iadd(word, i).v);
    w.push_back(g.wrap(b.CreateAlignedLoad(i64, p, llvm::Align(8))));
  }
  auto funnel = [&](V hi, V lo, V s) {
    return g.wrap(b.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {hi.v, lo.v, s.v}));
  };
  V a0 = funnel(w[0], w[1], shift), a1 = funnel(w[1], w[2], shift), a2 = funnel(w[2], w[3], shift);
  auto wide = [&](V p, V q) {
    return g.wrap(b.CreateMul(b.CreateZExt(p.v, i128), b.CreateZExt(q.v, i128)));
  };
  auto low = [&](V p) { return g.wrap(b.CreateTrunc(p.v, i64)); };
  auto high = [&](V p) { return g.wrap(b.CreateTrunc(b.CreateLShr(p.v, uint64_t{64}), i64)); };
  auto extend = [&](V p) { return g.wrap(b.CreateZExt(p.v, i128)); };
  V p2 = wide(m, a2), p1 = wide(m, a1);
  V mid = p1 + extend(high(p2));
  V top = m * a0 + high(mid);
  // top:low(mid) in units of 2^-126 quarter turns: two bits of quadrant, then the fraction.
  V lo64 = low(mid), lo_next = low(p2);
  V quadrant = lshr(top, 62);
  V t1 = funnel(top, lo64, constant_i(top, 2)), t0 = funnel(lo64, lo_next, constant_i(top, 2));
  V negative = t1 < constant_i(t1, 0);  // fraction of a half and more: from the other side
  quadrant = iand(quadrant + resize(negative, 64, false), 3);
  V value = g.wrap(b.CreateOr(b.CreateShl(extend(t1).v, uint64_t{64}), extend(t0).v));
  V mag = select(negative, -value, value);
  V lead = g.wrap(b.CreateIntrinsic(llvm::Intrinsic::ctlz, {i128}, {mag.v, b.getInt1(false)}));
  lead = select(eq(lead, constant_i(lead, 128)), constant_i(lead, 127), lead);
  V norm = g.wrap(b.CreateShl(mag.v, lead.v));
  V h = high(norm), l = low(norm);
  V lz = low(lead);
  auto to_double = [&](V v) { return g.wrap(b.CreateUIToFP(v.v, g.f64())); };
  V dh = to_double(iand(h, ~int64_t{0x7ff}));
  V dl = to_double(iand(h, 0x7ff)) + to_double(lshr(l, 11)) * 0x1p-53;
  V scale = from_bits(shl(iadd(-lz, 1023 - 64), 52));
  dh = dh * scale;
  dl = dl * scale;
  V hi = dh * kPi2Hi;
  V lo = fma(dh, kPi2Hi, -hi) + (dh * kPi2Lo + dl * kPi2Hi);
  V sum = hi + lo;
  lo = lo - (sum - hi);
  V sign = select(negative, constant(x, -1), constant(x, 1));
  V x_negative = fbits(x) < constant_i(fbits(x), 0);
  sign = select(x_negative, -sign, sign);
  quadrant = select(x_negative, iand(-quadrant, 3), quadrant);
  llvm::Value* r = llvm::PoisonValue::get(result);
  r = b.CreateInsertValue(r, quadrant.v, 0);
  r = b.CreateInsertValue(r, (sum * sign).v, 1);
  r = b.CreateInsertValue(r, (lo * sign).v, 2);
  b.CreateRet(r);
  b.restoreIP(saved);
  return f;
}

V sin_cos(V x, int odd) {
  V q, hi, lo;
  reduce_pi_2(x, &q, &hi, &lo);
  if (odd) q = iadd(q, 1);
  V v = select(ne(iand(q, 1), constant_i(q, 0)), cos_kernel(hi, lo), sin_kernel(hi, lo));
  return from_bits(fbits(v) ^ shl(iand(q, 2), 62));
}

}  // namespace

void reduce_pi_2(V x, V* quadrant, V* hi, V* lo) {
  Gen& g = *x.g;
  V q;
  V n = round_product(x, 0x1.45f306dc9c883p-1, &q);
  V r = fma(n, -kPi2Hi, x);  // exact
  V t = n * kPi2Lo;
  V et = fma(n, kPi2Lo, -t);
  V h = r - t;
  V l = ((r - h) - t) - fma(n, kPi2Lo2, et);
  V a = fabs(x);
  V hard = (a >= 0x1p25) & (a < kInf);
  auto* from = g.b.GetInsertBlock();
  llvm::Function* fn = from->getParent();
  auto* slow = llvm::BasicBlock::Create(g.ctx, "reduce", fn);
  auto* join = llvm::BasicBlock::Create(g.ctx, "reduce.end", fn);
  g.b.CreateCondBr(any(hard).v, slow, join);
  g.b.SetInsertPoint(slow);
  llvm::Function* f = large_reduction(g);
  const int w = g.lanes(x);
  V q2 = q, h2 = h, l2 = l;
  V sx = select(hard, x, constant(x, 0x1p30));
  for (int i = 0; i < w; ++i) {
    auto lane = [&](V v) {
      return w == 1 ? v.v : g.b.CreateExtractElement(v.v, static_cast<uint64_t>(i));
    };
    llvm::Value* r3 = g.b.CreateCall(f, {lane(sx)});
    auto put = [&](V& to, unsigned part) {
      llvm::Value* v = g.b.CreateExtractValue(r3, part);
      to = g.wrap(w == 1 ? v : g.b.CreateInsertElement(to.v, v, static_cast<uint64_t>(i)));
    };
    put(q2, 0);
    put(h2, 1);
    put(l2, 2);
  }
  q2 = select(hard, q2, q);
  h2 = select(hard, h2, h);
  l2 = select(hard, l2, l);
  auto* slow_end = g.b.GetInsertBlock();
  g.b.CreateBr(join);
  g.b.SetInsertPoint(join);
  auto phi = [&](V fast, V other) {
    llvm::PHINode* p = g.b.CreatePHI(fast.type(), 2);
    p->addIncoming(fast.v, from);
    p->addIncoming(other.v, slow_end);
    return g.wrap(p);
  };
  V pq = phi(q, q2), ph = phi(h, h2), pl = phi(l, l2);
  *quadrant = pq;
  *hi = ph;
  *lo = pl;
}

V exp64(V x) {
  V c = clamp(x, -746.0, 710.0);
  V n = round_product(c, kLog2e, nullptr);
  return scale_by_pow2(expm1_core(reduce_ln2(c, n)) + 1.0, n);
}

V expm1_64(V x) {
  V c = clamp(x, -40.0, 710.0);
  V k;
  V n = round_product(c, kLog2e, &k);
  V q = expm1_core(reduce_ln2(c, n));
  k = k - fbits(constant(x, 0x1.8p52));
  V half = from_bits(shl(iadd(k, 1022), 52));  // 2^n as twice a half, for n = 1024
  V r = fma(half, q, half - 0.5);
  return copysign(r + r, x);
}

V log64(V x) {
  V k;
  V f = split_exponent(x, &k) - 1.0;
  return log_specials(x, log_tail(f, k, constant(x, 0)));
}

V log1p64(V x) {
  V u = x + 1.0;
  V k;
  V m = split_exponent(u, &k);
  V c = select(k > 0.0, 1.0 - (u - x), x - (u - 1.0)) / u;
  V near = eq(k, 0.0);
  V f = select(near, x, m - 1.0);
  V r = log_tail(f, k, select(near, constant(x, 0), c));
  r = select(x < kInf, r, x);
  r = select(x < -1.0, nan_like(x), r);
  r = select(eq(x, -1.0), constant(x, -kInf), r);
  return select(eq(x, 0.0), x, r);
}

V tanh64(V x) {
  V a = clamp(fabs(x), 0, 30);
  V t = expm1_64(a + a);
  return copysign(t / (t + 2.0), x);
}

V logistic64(V x) {
  V e = exp64(-fabs(x));
  return select(x < 0.0, e, constant(x, 1)) / (e + 1.0);
}

V erf64(V x) {
  V a = fabs(x);
  V z = x * x;
  V small = fma(poly(z, {0x1.06eba8214db69p-3, -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdep-4,
                         -0x1.b82ce312889c2p-6, 0x1.565bcd0e65195p-8, -0x1.c02db3fef01d6p-11,
                         0x1.f9a326c2d9822p-14, -0x1.f4d2562a1b010p-17, 0x1.b9e6518e61290p-20,
                         -0x1.5f6d9cc1c31e4p-23, 0x1.fc43f063b4a42p-27, -0x1.4e635b40a397fp-30,
                         0x1.7f171f011fd79p-34, -0x1.29e14842f8767p-38}),
                a, a);
  V c = clamp(a, 0, 6.0);
  V t = (c - 2.0) / (c + 2.0);
  V q = poly(
      t, {0x1.058671b52c776p-2, -0x1.b57034efd3f72p-2, 0x1.eeea7dc8a78dfp-3, -0x1.437f0b68c07cdp-4,
          0x1.e94715974f705p-9, 0x1.ca95ed50621bep-8, -0x1.bc25a48b0fd07p-11,
          -0x1.016b5ae11412ep-10, 0x1.6d5fd817fead2p-15, 0x1.6da88c8601120p-13,
          0x1.cda301f026d50p-16, -0x1.ce9eaee17b899p-16, -0x1.d1b9e5311c0e8p-17,
          0x1.80357fb566b07p-20, 0x1.cd3b223e794f0p-19, 0x1.e407a7b0f0cd0p-21});
  V large = 1.0 - exp64(-(c * c)) * q;
  return copysign(select(a < 1.0, small, large), x);
}

V sin64(V x) { return select(eq(x, 0.0), x, sin_cos(x, 0)); }
V cos64(V x) { return sin_cos(x, 1); }
V tan64(V x) {
  V q, hi, lo;
  reduce_pi_2(x, &q, &hi, &lo);
  V s = sin_kernel(hi, lo), c = cos_kernel(hi, lo);
  V odd = ne(iand(q, 1), constant_i(q, 0));
  V r = select(odd, -c, s) / select(odd, s, c);
  return select(eq(x, 0.0), x, r);
}

V asin64(V x) {
  V a = fabs(x);
  V big = a > 0.5;
  V z = select(big, (1.0 - a) * 0.5, a * a);
  V s = select(big, sqrt(z), a);
  V p = fma(s * z, asin_poly(z), s);
  V r = select(big, kPi2Hi - (p + p - kPi2Lo), p);
  return copysign(r, x);  // sqrt made NaN of what is above 1
}
V acos64(V x) {
  V a = fabs(x);
  V big = a > 0.5;
  V z = select(big, (1.0 - a) * 0.5, a * a);
  V s = select(big, sqrt(z), x);
  V t = s * z * asin_poly(z);
  V p = s + t;
  V two = p + p;
  V far = select(x < 0.0, 2 * kPi2Hi - (two - 2 * kPi2Lo), two);
  V near = kPi2Hi - (s - (kPi2Lo - t));
  return select(big, far, near);
}
V atan64(V x) {
  V a = fabs(x);
  V big = a > 1.0;
  V p = atan01(select(big, 1.0 / a, a));
  V r = select(big, kPi2Hi - (p - kPi2Lo), p);
  return copysign(select(is_nan(x), x, r), x);
}
V atan2_64(V y, V x) {
  V ax = fabs(x), ay = fabs(y);
  V swap = ay > ax;
  V num = select(swap, ax, ay), den = select(swap, ay, ax);
  V t = num / den;
  t = select(eq(den, 0.0), constant(t, 0), t);
  t = select(eq(num, kInf), constant(t, 1), t);
  V r = atan01(t);
  r = select(swap, kPi2Hi - (r - kPi2Lo), r);
  V left = fbits(x) < constant_i(fbits(x), 0);
  r = select(left, 2 * kPi2Hi - (r - 2 * kPi2Lo), r);
  r = copysign(r, y);
  return select(is_nan(x) | is_nan(y), nan_like(x), r);
}

V sinh64(V x) {
  V a = fabs(x);
  V t = expm1_64(clamp(a, 0, 40));
  V small = (t + t / (t + 1.0)) * 0.5;
  V w = exp64(a * 0.5);
  return copysign(select(a < 22.0, small, w * 0.5 * w), x);
}
V cosh64(V x) {
  V a = fabs(x);
  V e = exp64(clamp(a, 0, 40));
  V w = exp64(a * 0.5);
  return select(a < 22.0, e * 0.5 + 0.5 / e, w * 0.5 * w);
}
V asinh64(V x) {
  V a = fabs(x);
  V c = clamp(a, 0, 0x1p30);
  V z = c * c;
  V small = log1p64(c + z / (sqrt(z + 1.0) + 1.0));
  return copysign(select(a < 0x1p28, small, log64(a) + kLn2), x);
}
V acosh64(V x) {
  V c = clamp(x, 0, 0x1p30);
  V t = c - 1.0;
  V small = log1p64(t + sqrt(fma(t, t, t + t)));
  V r = select(x < 0x1p28, small, log64(x) + kLn2);
  return select(x < 1.0, nan_like(x), r);
}
V atanh64(V x) {
  V a = fabs(x);
  V two = a + a;
  V u = select(a < 0.5, two + two * a / (1.0 - a), two / (1.0 - a));
  return copysign(log1p64(u) * 0.5, x);
}

V cbrt64(V x) {
  V a = fabs(x);
  V sub = a < 0x1p-1022;
  V huge = a > 0x1p1000;
  V v = select(sub, a * 0x1p54, select(huge, a * 0x1p-54, a));
  // A third of the exponent, from the upper half of the bits.
  V upper = lshr(fbits(v), 32);
  V third = lshr(upper * constant_i(upper, 0x55555556), 32);
  V t = from_bits(shl(iadd(third, 715094163), 32));
  for (int i = 0; i < 2; ++i) {  // Halley: 5, 15, 45 bits
    V t3 = t * t * t;
    t = t * ((t3 + (v + v)) / (t3 + t3 + v));
  }
  V t2 = t * t;
  V t2l = fma(t, t, -t2);
  V c = fma(t2, t, -v) + t2l * t;
  t = t - c / (t2 * 3.0);
  t = select(sub, t * 0x1p-18, select(huge, t * 0x1p18, t));
  t = select((a > 0.0) & (a < kInf), t, a);
  return copysign(t, x);
}

V lgamma64(V x) {
  V a = fabs(x);
  auto p1 = [](V t) {
    return t * poly(t, {-0x1.2788cfc6fb619p-1, 0x1.a51a6625307dep-1,  -0x1.9a4d55beab265p-2,
                        0x1.151322ac7adafp-2,  -0x1.a8b9c17aaf969p-3, 0x1.5b40cb1305836p-3,
                        -0x1.2703a1dacc7bdp-3, 0x1.010b35ea14079p-3,  -0x1.c80670b4261d3p-4,
                        0x1.9a021d0c15da6p-4,  -0x1.748c3af4b606bp-4, 0x1.5565a14d62850p-4,
                        -0x1.3b1bc9bd9ecd8p-4, 0x1.24e64ab171e12p-4,  -0x1.113a73347d26bp-4,
                        0x1.f99392529487fp-5,  -0x1.ddffe292b83a8p-5, 0x1.f4fad2cec9513p-5,
                        -0x1.cec83156d3a7fp-5, 0x1.73dd9bbc262d3p-6,  -0x1.b962e8aa9b099p-6,
                        0x1.11fcbc28f0458p-3,  -0x1.d845f87cea6cdp-4, -0x1.138b4ed93f129p-3,
                        0x1.c92a8083a1ecep-4,  0x1.bed509cb9e709p-3,  -0x1.983fec5bb8a23p-3});
  };
  auto p2 = [](V t) {
    return t * poly(t, {0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa6p-2,   -0x1.13e001a557606p-4,
                        0x1.51322ac7d8481p-6,   -0x1.e404fc218f67cp-8,  0x1.7add6eadb723fp-9,
                        -0x1.38ac5c2bf05cbp-10, 0x1.0b36af85fa4dep-11,  -0x1.d3fd4c7f5e100p-13,
                        0x1.a127b11f22e9fp-14,  -0x1.78de59596934ap-15, 0x1.580dc4d6cd54ap-16,
                        -0x1.3cbd0a092c064p-17, 0x1.25990ea5317bbp-18,  -0x1.11a57c94a82c1p-19,
                        0x1.00438195a6e94p-20,  -0x1.e45d38600e1bfp-22, 0x1.cb5b3a64d1885p-23,
                        -0x1.983c31ea69b6fp-24, 0x1.751f2387b0384p-25,  -0x1.0cbe70900c9dep-25,
                        0x1.16d6c15346b54p-26});
  };
  V log_a = log64(a);
  V tiny = a < 0.5;
  V low = p1(select(tiny, a, a - 1.0));
  low = select(tiny, low - log_a, low);
  // [1.5, 8): down to [1.5, 2.5) by the recurrence.
  V c = clamp(a, 1.5, 8.0);
  V steps = floor_f(c - 1.5);
  V z = c - steps;
  V product = constant(a, 1);
  for (int i = 1; i <= 6; ++i) {
    product = select(steps >= double(i), product * (c - double(i)), product);
  }
  V mid = p2(z - 2.0) + log64(product);
  V r2 = 1.0 / (a * a);
  V series = poly(r2, {0x1.5555555555555p-4, -0x1.6c16c16c16b32p-9, 0x1.a01a019ee9b48p-11,
                       -0x1.38137ecdaedbap-11, 0x1.b94f76d790ba2p-11, -0x1.f600ea87f3745p-10,
                       0x1.96ef59241060cp-8, -0x1.560f6d4969fcep-6});
  V high = fma(a - 0.5, log_a - 1.0, series / a + (0x1.d67f1c864beb5p-1 - 0.5));
  V r = select(a < 1.5, low, select(a < 8.0, mid, high));
  r = select(eq(a, kInf), a, r);
  // Reflection: lgamma(-a) = log(pi / (a |sin(pi a)|)) - lgamma(a).
  V frac = fabs(a - round_even(a));
  V s = sin64(frac * (2 * kPi2Hi));
  V reflected = (0x1.250d048e7a1bdp+0 - log64(s)) - (log_a + r);
  reflected = select(eq(frac, 0.0), constant(x, kInf), reflected);
  r = select(x < 0.0, select(eq(a, kInf), a, reflected), r);
  return select(eq(a, 0.0), constant(x, kInf), r);
}

V hypot64(V x, V y) {
  V ax = fabs(x), ay = fabs(y);
  V m = select(ax > ay, ax, ay);
  V big = m > 0x1p500, small = m < 0x1p-450;
  V scale = select(big, constant(x, 0x1p-600), select(small, constant(x, 0x1p600), constant(x, 1)));
  V back = select(big, constant(x, 0x1p600), select(small, constant(x, 0x1p-600), constant(x, 1)));
  V u = ax * scale, v = ay * scale;
  V r = sqrt(fma(u, u, v * v)) * back;
  return select(eq(ax, kInf) | eq(ay, kInf), constant(x, kInf), r);
}

namespace {
// Sign and special cases of pow, given |x|^y for the rest.
V pow_specials(V x, V y, V r) {
  V a = fabs(x);
  V one = constant(x, 1);
  V up = ~((y > 0.0) ^ (a > 1.0));
  V edge = eq(a, 0.0) | eq(a, kInf) | eq(fabs(y), kInf);
  r = select(edge, select(up, constant(x, kInf), constant(x, 0)), r);
  r = select(eq(a, 1.0), one, r);
  V whole = eq(trunc_f(y), y);
  V half = y * 0.5;
  V odd = whole & ne(trunc_f(half), half);
  V negative = fbits(x) < constant_i(fbits(x), 0);
  r = select(negative & odd, -r, r);
  V wrong = (x < 0.0) & ~whole & (a < kInf);
  r = select(wrong, nan_like(x), r);
  r = select(is_nan(x) | is_nan(y), nan_like(x), r);
  return select(eq(y, 0.0) | eq(x, 1.0), one, r);
}
}  // namespace

V pow64_for_f32(V x, V y) {
  V e = exp64(y * log64(fabs(x)));
  return pow_specials(x, y, e);
}

V pow64(V x, V y) {
  V k;
  V m = split_exponent(fabs(x), &k);
  // log(m) = 2 s + 2/3 s^3 + s^5 h(s^2), s = (m - 1) / (m + 1), the first terms in two parts.
  V f = m - 1.0;
  V d = m + 1.0;
  V dl = m - (d - 1.0);
  V s = f / d;
  V sl = (fma(-s, d, f) - s * dl) / d;
  V z = s * s;
  V zl = fma(s, s, -z) + s * sl * 2.0;
  V s3 = s * z;
  V s3l = fma(s, z, -s3) + (s * zl + sl * z);
  V t = s3 * 0x1.5555555555555p-1;
  V tl =
      fma(s3, 0x1.5555555555555p-1, -t) + (s3 * 0x1.5555555555555p-55 + s3l * 0x1.5555555555555p-1);
  V h = poly(
      z, {0x1.9999999999b32p-2, 0x1.2492492457878p-2, 0x1.c71c722ddaae2p-3, 0x1.745ce9b96bd32p-3,
          0x1.3b1ef3f255ffbp-3, 0x1.0f7f29eb84b2dp-3, 0x1.0e49e0e70cf02p-3});
  V s5 = s3 * z * h;
  auto two_sum = [](V p, V q, V* e) {
    V r = p + q;
    V b = r - p;
    *e = (p - (r - b)) + (q - b);
    return r;
  };
  V e1, e2;
  V a = k * kLn2Hi;  // exact
  V u = two_sum(a, s + s, &e1);
  V w = two_sum(u, t, &e2);
  V low = e1 + e2 + (fma(k, kLn2Lo, sl + sl) + (tl + s5));
  V lh = w + low;
  V ll = low - (lh - w);
  V ph = y * lh;
  V pl = fma(y, lh, -ph) + y * ll;
  V out = ~(fabs(ph) < 800.0);
  ph = select(out, copysign(constant(ph, 800), ph), ph);
  pl = select(out, constant(pl, 0), pl);
  V n = round_product(ph, kLog2e, nullptr);
  V r = reduce_ln2(ph, n) + pl;
  return pow_specials(x, y, scale_by_pow2(expm1_core(r) + 1.0, n));
}

}  // namespace tenfold::cpu
