// Primitives on complex numbers. Add, Sub, Mul, Neg are the plain formulas, one IEEE operation
// each. The rest is computed in f64: division and modulus in vectors, the functions lane after lane
// by internal functions of the module.
#include "backends/cpu/complex.h"

#include <limits>

#include "backends/cpu/math.h"

namespace tenfold::cpu {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 0x1.921fb54442d18p+1;

struct Z {
  V x, y;
};
Z operator+(Z a, Z b) { return {a.x + b.x, a.y + b.y}; }
Z operator*(Z a, Z b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
Z neg(Z a) { return {-a.x, -a.y}; }
Z times_i(Z a) { return {-a.y, a.x}; }
Z times_minus_i(Z a) { return {a.y, -a.x}; }
Z pick(V c, Z a, Z b) { return {select(c, a.x, b.x), select(c, a.y, b.y)}; }
Z number(Z like, double re, double im) { return {constant(like.x, re), constant(like.x, im)}; }
V is_inf(V v) { return eq(fabs(v), kInf); }
V finite(V v) { return fabs(v) < kInf; }
V sign_one(V v) { return copysign(constant(v, 1), v); }
V unit_if_inf(V v) { return copysign(select(is_inf(v), constant(v, 1), constant(v, 0)), v); }

// 2^-e for |v| in [2^e, 2^(e+1)), e kept within the normal numbers.
V inverse_power(V v) {
  V e = lshr(fbits(fabs(v)), 52);
  V lim = select(e < constant_i(e, 1), constant_i(e, 1), e);
  lim = select(lim > constant_i(e, 2045), constant_i(e, 2045), lim);
  return from_bits(shl(constant_i(e, 2046) - lim, 52));
}

// As annex G of C: scaled by the divisor's exponent, infinities and zero divisors recovered.
Z divide(Z n, Z d) {
  V c = d.x, e = d.y, a = n.x, b = n.y;
  V m = select(fabs(c) > fabs(e), fabs(c), fabs(e));
  V s = inverse_power(m);
  V regular = finite(m) & (m > 0.0);
  s = select(regular, s, constant(s, 1));
  V cs = c * s, es = e * s;
  // The dividend, or its products overflow before the scale is taken back, or lose bits.
  V am = select(fabs(a) > fabs(b), fabs(a), fabs(b));
  V big = (am > 0x1p1000) & finite(am), small = am < 0x1p-900;
  V up = select(big, constant(s, 0x1p-8), select(small, constant(s, 0x1p200), constant(s, 1)));
  V down = select(big, constant(s, 0x1p8), select(small, constant(s, 0x1p-200), constant(s, 1)));
  V as = a * up, bs = b * up;
  V den = cs * cs + es * es;
  V re0 = (as * cs + bs * es) / den, im0 = (bs * cs - as * es) / den;
  // The factor that cannot overflow on its own first.
  V grow = s > 1.0;
  V re = select(grow, re0 * down * s, re0 * s * down);
  V im = select(grow, im0 * down * s, im0 * s * down);
  V lost = is_nan(re) & is_nan(im);
  V zero_den = eq(den, 0.0) & ~(is_nan(a) & is_nan(b));
  V inf_c = copysign(constant(s, kInf), c);
  V ninf = (is_inf(a) | is_inf(b)) & finite(c) & finite(e);
  V ua = unit_if_inf(a), ub = unit_if_inf(b);
  V dinf = (is_inf(c) | is_inf(e)) & finite(a) & finite(b);
  V uc = unit_if_inf(c), ue = unit_if_inf(e);
  V r2 = select(zero_den, inf_c * a,
                select(ninf, (ua * c + ub * e) * kInf, select(dinf, (a * uc + b * ue) * 0.0, re)));
  V i2 = select(zero_den, inf_c * b,
                select(ninf, (ub * c - ua * e) * kInf, select(dinf, (b * uc - a * ue) * 0.0, im)));
  return {select(lost, r2, re), select(lost, i2, im)};
}

V modulus(Z z) { return hypot64(z.x, z.y); }

Z cexp(Z z) {
  V h = exp64(z.x * 0.5);
  V re = h * cos64(z.y) * h, im = h * sin64(z.y) * h;
  V real = eq(z.y, 0.0);
  V e = exp64(z.x);
  V vanish = eq(z.x, -kInf);
  V zero = constant(e, 0);
  re = select(vanish, zero, re);
  im = select(vanish, zero, im);
  return {select(real, e, re), select(real, z.y, im)};
}

V log_modulus(Z z) {
  V ax = fabs(z.x), ay = fabs(z.y);
  V m = select(ax > ay, ax, ay), n = select(ax > ay, ay, ax);
  V mm = m * m, nn = n * n;
  V em = fma(m, m, -mm), en = fma(n, n, -nn);
  // |z|^2 - 1 without cancelling more than is there.
  V t = mm - 1.0;
  V s = t + nn;
  V b = s - t;
  V es = (t - (s - b)) + (nn - b);
  V near = (m > 0.5) & (m < 1.5);
  V far = log64(modulus(z));
  // A modulus that overflows or is subnormal: through scaled parts.
  V huge = m > 0x1p1020;
  V scaled = log64(hypot64(z.x * 0x1p-60, z.y * 0x1p-60)) + 60 * 0x1.62e42fefa39efp-1;
  V tiny = m < 0x1p-1000;
  V scaled_up = log64(hypot64(z.x * 0x1p100, z.y * 0x1p100)) - 100 * 0x1.62e42fefa39efp-1;
  V r = select(near, log1p64(s + (es + em + en)) * 0.5, far);
  r = select(huge & finite(m), scaled, r);
  return select(tiny & (m > 0.0), scaled_up, r);
}
Z clog(Z z) { return {log_modulus(z), atan2_64(z.y, z.x)}; }

Z csqrt(Z z) {
  V m = select(fabs(z.x) > fabs(z.y), fabs(z.x), fabs(z.y));
  V big = m > 0x1p1000, small = m < 0x1p-900;
  V up = select(big, constant(m, 0x1p-40), select(small, constant(m, 0x1p160), constant(m, 1)));
  V back = select(big, constant(m, 0x1p20), select(small, constant(m, 0x1p-80), constant(m, 1)));
  V x = z.x * up, y = z.y * up;
  V t = sqrt((fabs(x) + hypot64(x, y)) * 0.5);
  V o = fabs(y) / (t + t);
  V right = ~(x < 0.0);
  V re = select(right, t, o) * back, im = copysign(select(right, o, t) * back, z.y);
  V zero = eq(m, 0.0);
  re = select(zero, constant(re, 0), re);
  im = select(zero, z.y, im);
  V yinf = is_inf(z.y);
  re = select(yinf, constant(re, kInf), re);
  im = select(yinf, z.y, im);
  V xinf = is_inf(z.x) & ~yinf;
  re = select(xinf,
              select(z.x < 0.0, select(is_nan(z.y), z.y, constant(re, 0)), constant(re, kInf)), re);
  im = select(xinf,
              select(z.x < 0.0, copysign(constant(im, kInf), z.y),
                     select(is_nan(z.y), z.y, copysign(constant(im, 0), z.y))),
              im);
  return {re, im};
}

Z csinh(Z z) {
  V re = sinh64(z.x) * cos64(z.y), im = cosh64(z.x) * sin64(z.y);
  // Where sinh overflows alone.
  V far = (fabs(z.x) > 709.0) & finite(z.x);
  V h = exp64(fabs(z.x) * 0.5);
  re = select(far, copysign(h * cos64(z.y) * 0.5 * h, re), re);
  im = select(far, h * sin64(z.y) * 0.5 * h, im);
  re = select(eq(z.x, 0.0), copysign(constant(re, 0), z.x), re);
  im = select(eq(z.y, 0.0), z.y, im);
  return {re, im};
}
Z ccosh(Z z) {
  V re = cosh64(z.x) * cos64(z.y), im = sinh64(z.x) * sin64(z.y);
  V far = (fabs(z.x) > 709.0) & finite(z.x);
  V h = exp64(fabs(z.x) * 0.5);
  re = select(far, h * cos64(z.y) * 0.5 * h, re);
  im = select(far, copysign(constant(im, 1), z.x) * (h * sin64(z.y) * 0.5 * h), im);
  V zero = eq(z.x, 0.0) | eq(z.y, 0.0);
  V product = sign_one(z.x) * copysign(constant(im, 0), z.y);
  return {re, select(zero, product, im)};
}
Z ctanh(Z z) {
  V t = tan64(z.y);
  V beta = t * t + 1.0;
  V x = select(fabs(z.x) > 22.0, copysign(constant(z.x, 22), z.x), z.x);
  V s = sinh64(x);
  V rho = sqrt(s * s + 1.0);
  V den = beta * s * s + 1.0;
  V re = beta * rho * s / den, im = t / den;
  V tinf = is_inf(t);
  re = select(tinf, rho / s, re);
  im = select(tinf, 1.0 / t, im);
  V far = fabs(z.x) > 22.0;
  V e = exp64(fabs(z.x) * -2.0);
  V sc = sin64(z.y) * cos64(z.y) * 4.0 * e;
  sc = select(is_inf(z.x) & ~finite(z.y), copysign(constant(im, 0), z.y), sc);
  return {select(far, sign_one(z.x), re), select(far, sc, im)};
}

// Kahan's formulas, whose branch cuts follow the signs of zeros.
Z casin(Z z) {
  Z p = csqrt({z.x + 1.0, z.y}), m = csqrt({1.0 - z.x, -z.y});
  V re = atan2_64(z.x, p.x * m.x - p.y * m.y);
  V im = asinh64(m.x * p.y - m.y * p.x);
  return {re, im};
}
Z cacos(Z z) {
  Z p = csqrt({z.x + 1.0, z.y}), m = csqrt({1.0 - z.x, -z.y});
  V re = atan2_64(m.x, p.x) * 2.0;
  V im = asinh64(p.x * m.y - p.y * m.x);
  return {re, im};
}
Z cacosh(Z z) {
  Z p = csqrt({z.x + 1.0, z.y}), m = csqrt({z.x - 1.0, z.y});
  V re = asinh64(m.x * p.x + m.y * p.y);
  V im = atan2_64(m.y, p.x) * 2.0;
  return {re, im};
}
Z catanh(Z z) {
  V ax = fabs(z.x);
  V one_less = 1.0 - ax;
  V den = one_less * one_less + z.y * z.y;
  V re = copysign(log1p64(ax * 4.0 / den) * 0.25, z.x);
  V im = atan2_64(z.y * 2.0, one_less * (ax + 1.0) - z.y * z.y) * 0.5;
  // On the pole the squares vanish first.
  V pole = eq(ax, 1.0) & (fabs(z.y) < 0x1p-100);
  re = select(pole, copysign((0x1.62e42fefa39efp-1 - log64(fabs(z.y))) * 0.5, z.x), re);
  // Far out: 1/z and a quarter turn.
  V far = (ax > 0x1p300) | (fabs(z.y) > 0x1p300);
  V h = hypot64(z.x * 0.5, z.y * 0.5);
  V away = select(is_inf(h), constant(h, 0), ax / h / h * 0.25);
  re = select(far, copysign(away, z.x), re);
  im = select(far, copysign(constant(im, kPi / 2), z.y), im);
  return {re, im};
}

Z cexpm1(Z z) {
  V h = sin64(z.y * 0.5);
  V re = expm1_64(z.x) * cos64(z.y) - h * h * 2.0;
  V im = exp64(z.x) * sin64(z.y);
  Z e = cexp(z);
  V far = ~finite(z.x) | ~finite(z.y) | (fabs(z.x) > 1.0);
  Z r = pick(far, {e.x - 1.0, e.y}, {re, im});
  return pick(eq(z.y, 0.0), {expm1_64(z.x), z.y}, r);
}
Z clog1p(Z z) {
  V xx = z.x * z.x, yy = z.y * z.y;
  V ex = fma(z.x, z.x, -xx), ey = fma(z.y, z.y, -yy);
  V x2 = z.x + z.x;
  V s = x2 + yy;
  V b = s - x2;
  V es = (x2 - (s - b)) + (yy - b);
  s = s + (xx + (es + ex + ey));
  Z near{log1p64(s) * 0.5, atan2_64(z.y, z.x + 1.0)};
  Z r = pick((fabs(z.x) < 0.5) & (fabs(z.y) < 0.5), near, clog({z.x + 1.0, z.y}));
  return pick(eq(z.y, 0.0) & (z.x >= -1.0), {log1p64(z.x), z.y}, r);
}
Z clogistic(Z z) {
  Z one = number(z, 1, 0);
  V right = z.x >= 0.0;
  Z e = cexp(pick(right, neg(z), z));
  Z r = divide(pick(right, one, e), one + e);
  return pick(eq(z.y, 0.0), {logistic64(z.x), z.y}, r);
}
Z ccbrt(Z z) {
  V r = cbrt64(modulus(z)), a = atan2_64(z.y, z.x) / constant(z.x, 3);
  return pick(eq(z.x, 0.0) & eq(z.y, 0.0), z, {r * cos64(a), r * sin64(a)});
}
Z crsqrt(Z z) {
  Z r = divide(number(z, 1, 0), csqrt(z));
  r = pick(is_inf(z.x) | is_inf(z.y), {constant(z.x, 0), -copysign(constant(z.x, 0), z.y)}, r);
  return pick(eq(z.x, 0.0) & eq(z.y, 0.0), number(z, kInf, kNaN), r);
}
Z csign(Z z) {
  V any_inf = is_inf(z.x) | is_inf(z.y);
  Z w = pick(any_inf, {unit_if_inf(z.x), unit_if_inf(z.y)}, z);
  V m = select(fabs(w.x) > fabs(w.y), fabs(w.x), fabs(w.y));
  V s = inverse_power(m);
  // A subnormal needs more than one power.
  V sub = m < 0x1p-1000;
  w = pick(sub, {w.x * 0x1p200, w.y * 0x1p200}, {w.x * s, w.y * s});
  V h = hypot64(w.x, w.y);
  Z r{w.x / h, w.y / h};
  r = pick(eq(z.x, 0.0) & eq(z.y, 0.0), number(z, 0, 0), r);
  return pick(is_nan(z.x) | is_nan(z.y), number(z, kNaN, kNaN), r);
}
Z cpow(Z x, Z y) {
  Z r = cexp(y * clog(x));
  V whole = eq(y.y, 0.0) & eq(trunc_f(y.x), y.x);
  // A small whole power by multiplication.
  V n = fabs(y.x);
  V few = whole & (n <= 16.0);
  Z p = number(x, 1, 0), b = x;
  V left = select(few, n, constant(n, 0));
  for (int i = 0; i < 5; ++i) {
    V half = floor_f(left * 0.5);
    V odd = ne(half + half, left);
    p = pick(odd, p * b, p);
    b = b * b;
    left = half;
  }
  Z inv = divide(number(x, 1, 0), p);
  r = pick(few, pick(y.x < 0.0, inv, p), r);
  V real = eq(x.y, 0.0) & eq(y.y, 0.0) & ((x.x > 0.0) | eq(trunc_f(y.x), y.x));
  r = pick(real, {pow64(x.x, y.x), constant(x.x, 0)}, r);
  V zero = eq(x.x, 0.0) & eq(x.y, 0.0);
  Z at_zero = pick(y.x > 0.0, number(x, 0, 0),
                   pick((y.x < 0.0) & eq(y.y, 0.0), number(x, kInf, 0), number(x, kNaN, kNaN)));
  r = pick(zero, at_zero, r);
  return pick(eq(y.x, 0.0) & eq(y.y, 0.0), number(x, 1, 0), r);
}
Z catan2(Z y, Z x) {
  Z r = csqrt(x * x + y * y);
  Z a = times_minus_i(clog(divide(x + times_i(y), r)));
  return pick(eq(x.y, 0.0) & eq(y.y, 0.0), {atan2_64(y.x, x.x), constant(x.x, 0)}, a);
}

Z function(Prim p, Z z, Z w) {
  switch (p) {
    case Prim::Sign:
      return csign(z);
    case Prim::Sqrt:
      return csqrt(z);
    case Prim::Rsqrt:
      return crsqrt(z);
    case Prim::Cbrt:
      return ccbrt(z);
    case Prim::Exp:
      return cexp(z);
    case Prim::Expm1:
      return cexpm1(z);
    case Prim::Log:
      return clog(z);
    case Prim::Log1p:
      return clog1p(z);
    case Prim::Logistic:
      return clogistic(z);
    case Prim::Sinh:
      return csinh(z);
    case Prim::Cosh:
      return ccosh(z);
    case Prim::Tanh:
      return ctanh(z);
    case Prim::Sin:
      return times_minus_i(csinh(times_i(z)));
    case Prim::Cos:
      return ccosh(times_i(z));
    case Prim::Tan:
      return times_minus_i(ctanh(times_i(z)));
    case Prim::Asin:
      return casin(z);
    case Prim::Acos:
      return cacos(z);
    case Prim::Acosh:
      return cacosh(z);
    case Prim::Atanh:
      return catanh(z);
    case Prim::Asinh:
      return times_minus_i(casin(times_i(z)));
    case Prim::Atan:
      return times_minus_i(catanh(times_i(z)));
    case Prim::Pow:
      return cpow(z, w);
    case Prim::Atan2:
      return catan2(z, w);
    default:
      break;
  }
  TF_CHECK(false, "complex primitive " + std::string(name(p)));
}

// The scalar function of `p`, made once in the module.
llvm::Function* scalar_function(Gen& g, Prim p) {
  const std::string id = "tenfold.complex_" + std::string(name(p));
  if (llvm::Function* f = g.module.getFunction(id)) return f;
  llvm::Type* d = g.f64();
  auto* pair = llvm::StructType::get(g.ctx, {d, d});
  std::vector<llvm::Type*> params(static_cast<size_t>(2 * arity(p)), d);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(pair, params, false),
                                   llvm::Function::InternalLinkage, id, g.module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr("no-builtins");
  const auto saved = g.b.saveIP();
  llvm::Function* caller = saved.getBlock()->getParent();
  f->addFnAttr(caller->getFnAttribute("target-cpu"));
  f->addFnAttr(caller->getFnAttribute("target-features"));
  g.b.SetInsertPoint(llvm::BasicBlock::Create(g.ctx, "entry", f));
  Z z{g.wrap(f->getArg(0)), g.wrap(f->getArg(1))}, w = z;
  if (arity(p) == 2) w = {g.wrap(f->getArg(2)), g.wrap(f->getArg(3))};
  Z r = function(p, z, w);
  llvm::Value* out = llvm::PoisonValue::get(pair);
  out = g.b.CreateInsertValue(out, r.x.v, 0);
  out = g.b.CreateInsertValue(out, r.y.v, 1);
  g.b.CreateRet(out);
  g.b.restoreIP(saved);
  return f;
}

Val call_lanes(Gen& g, Prim p, const std::vector<V>& args) {
  llvm::Function* f = scalar_function(g, p);
  const int n = g.lanes(args[0]);
  V re = g.wrap(llvm::PoisonValue::get(args[0].type())), im = re;
  for (int i = 0; i < n; ++i) {
    std::vector<llvm::Value*> lane;
    for (V a : args) {
      lane.push_back(n == 1 ? a.v : g.b.CreateExtractElement(a.v, static_cast<uint64_t>(i)));
    }
    llvm::Value* r = g.b.CreateCall(f, lane);
    llvm::Value *x = g.b.CreateExtractValue(r, 0), *y = g.b.CreateExtractValue(r, 1);
    if (n == 1) return {g.wrap(x), g.wrap(y)};
    re = g.wrap(g.b.CreateInsertElement(re.v, x, static_cast<uint64_t>(i)));
    im = g.wrap(g.b.CreateInsertElement(im.v, y, static_cast<uint64_t>(i)));
  }
  return {re, im};
}

}  // namespace

Val complex_prim(Gen& g, Prim p, DType t, const std::vector<Val>& args) {
  std::vector<Val> a = args;
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < a.size(); ++i) {
      g.unify(a[0].re, a[i].re);
      g.unify(a[i].re, a[i].im);
      g.unify(a[0].re, a[0].im);
    }
  }
  const V x = a[0].re, y = a[0].im;
  V u, v;
  if (a.size() > 1) {
    u = a[1].re;
    v = a[1].im;
  }
  switch (p) {
    case Prim::Real:
      return Val(x);
    case Prim::Imag:
      return Val(y);
    case Prim::Neg:
      return {-x, -y};
    case Prim::Add:
      return {x + u, y + v};
    case Prim::Sub:
      return {x - u, y - v};
    case Prim::Mul:
      return {x * u - y * v, x * v + y * u};
    case Prim::Fma:
      return {x * u - y * v + a[2].re, x * v + y * u + a[2].im};
    case Prim::Eq:
      return Val(eq(x, u) & eq(y, v));
    case Prim::Ne:
      return Val(ne(x, u) | ne(y, v));
    default:
      break;
  }
  const bool single = t == DType::C64;
  auto wide = [&](V w) { return convert_fp(w, g.f64()); };
  auto back = [&](V w) { return single ? convert_fp(w, g.f32()) : w; };
  if (p == Prim::Abs) return Val(back(hypot64(wide(x), wide(y))));
  if (p == Prim::Div) {
    Z r = divide({wide(x), wide(y)}, {wide(u), wide(v)});
    return {back(r.x), back(r.y)};
  }
  std::vector<V> parts = {wide(x), wide(y)};
  if (a.size() > 1) {
    parts.push_back(wide(u));
    parts.push_back(wide(v));
  }
  Val r = call_lanes(g, p, parts);
  return {back(r.re), back(r.im)};
}

}  // namespace tenfold::cpu
