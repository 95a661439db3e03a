// Primitives of array/prim.h as LLVM IR. Bit for bit what prim.cc computes, apart from the
// transcendental functions, whose error docs state.
#include "array/floats.h"
#include "backends/cpu/complex.h"
#include "backends/cpu/gen.h"

namespace tenfold::cpu {

using llvm::Intrinsic::ID;
using P = llvm::CmpInst;

namespace {

bool is_narrow(DType t) { return is_float(t) && t != DType::F32 && t != DType::F64; }

// Sub-byte integers: back into their range.
V wrap_int(DType t, V x) {
  const int bits = bit_width(t);
  if (bits >= 8) return x;
  return is_signed(t) ? ashr(shl(x, 8 - bits), 8 - bits) : iand(x, (1 << bits) - 1);
}

V cmp(V a, V b, P::Predicate p) {
  a.g->unify(a, b);
  return a.g->wrap(a.is_fp() ? a.g->b.CreateFCmp(p, a.v, b.v) : a.g->b.CreateICmp(p, a.v, b.v));
}

// Constant of all lanes, if it is one.
const llvm::Constant* splat_constant(V x) {
  auto* c = llvm::dyn_cast<llvm::Constant>(x.v);
  if (c && c->getType()->isVectorTy()) return c->getSplatValue();
  return c;
}

// Cut division. No trap: a divisor of 0 becomes 1 first, MIN / -1 is kept away.
V int_div(DType t, V a, V b, bool remainder) {
  Gen& g = *a.g;
  const bool sign = is_signed(t);
  const int bits = static_cast<int>(a.bits());
  g.unify(a, b);
  auto plain = [&](V x, V y) -> V {
    const bool constant = splat_constant(y) != nullptr;
    if (x.is_vector() && !constant && bits <= 32) {
      // Exact: the quotient of integers this small is at least one unit of rounding away from the
      // next whole number, or it is whole.
      llvm::Type* ft = bits <= 16 ? g.f32() : g.f64();
      V q = int_to_fp(x, ft, sign) / int_to_fp(y, ft, sign);
      llvm::Type* it = g.shaped(g.int_type(bits <= 16 ? 32 : 64), x);
      V qi = g.wrap(sign ? g.b.CreateFPToSI(q.v, it) : g.b.CreateFPToUI(q.v, it));
      qi = resize(qi, bits, sign);
      return remainder ? x - qi * y : qi;
    }
    if (remainder) return g.wrap(sign ? g.b.CreateSRem(x.v, y.v) : g.b.CreateURem(x.v, y.v));
    return g.wrap(sign ? g.b.CreateSDiv(x.v, y.v) : g.b.CreateUDiv(x.v, y.v));
  };
  if (auto* c = llvm::dyn_cast_or_null<llvm::ConstantInt>(splat_constant(b));
      c && !c->isZero() && !(sign && c->isMinusOne())) {
    return plain(a, b);
  }
  V zero = eq(b, constant_i(b, 0));
  V bad = zero;
  V minus_one;
  if (sign) {
    minus_one = eq(b, constant_i(b, -1));
    bad = bad | minus_one;
  }
  V r = plain(a, select(bad, constant_i(b, 1), b));
  if (remainder) {
    if (sign) r = select(minus_one, constant_i(r, 0), r);
    return select(zero, a, r);
  }
  if (sign) r = select(minus_one, -a, r);
  return select(zero, constant_i(r, -1), r);
}

V int_pow(DType t, V a, V e) {
  Gen& g = *a.g;
  g.unify(a, e);
  const int bits = bit_width(t);
  llvm::Function* fn = g.b.GetInsertBlock()->getParent();
  auto* from = g.b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(g.ctx, "pow", fn);
  auto* done = llvm::BasicBlock::Create(g.ctx, "pow.end", fn);
  V k0 = bits < 8 ? iand(e, (1 << bits) - 1) : e;
  V one = constant_i(a, 1), zero = constant_i(a, 0);
  g.b.CreateBr(loop);
  g.b.SetInsertPoint(loop);
  llvm::PHINode* r = g.b.CreatePHI(a.type(), 2);
  llvm::PHINode* x = g.b.CreatePHI(a.type(), 2);
  llvm::PHINode* k = g.b.CreatePHI(a.type(), 2);
  r->addIncoming(one.v, from);
  x->addIncoming(a.v, from);
  k->addIncoming(k0.v, from);
  V rv = g.wrap(r), xv = g.wrap(x), kv = g.wrap(k);
  V r2 = select(ne(iand(kv, 1), zero), rv * xv, rv);
  V x2 = xv * xv;
  V k2 = lshr(kv, 1);
  r->addIncoming(r2.v, loop);
  x->addIncoming(x2.v, loop);
  k->addIncoming(k2.v, loop);
  g.b.CreateCondBr(any(ne(k2, zero)).v, loop, done);
  g.b.SetInsertPoint(done);
  V result = r2;
  if (is_signed(t)) {
    V minus = constant_i(a, -1);
    V odd = ne(iand(e, 1), zero);
    V inverse = select(eq(a, one), one, select(eq(a, minus), select(odd, minus, one), zero));
    result = select(e < zero, inverse, result);
  }
  return wrap_int(t, result);
}

V shift(Prim p, DType t, V a, V b) {
  Gen& g = *a.g;
  g.unify(a, b);
  const int bits = bit_width(t);
  V in = ult(b, constant_i(b, bits));
  V zero = constant_i(a, 0);
  V by = select(in, b, constant_i(b, 0));
  switch (p) {
    case Prim::Shl:
      return select(in, wrap_int(t, shl(a, by)), zero);
    case Prim::ShrL: {
      V x = bits < 8 ? iand(a, (1 << bits) - 1) : a;
      return select(in, wrap_int(t, lshr(x, by)), zero);
    }
    default:
      break;
  }
  V x = a;
  if (bits < 8) x = ashr(shl(a, 8 - bits), 8 - bits);  // the top bit is the sign
  by = select(in, b, constant_i(b, bits - 1));
  return wrap_int(t, g.wrap(g.b.CreateAShr(x.v, by.v)));
}

V int_prim(Prim p, DType t, const std::vector<V>& a) {
  Gen& g = *a[0].g;
  const bool sign = is_signed(t);
  const int bits = bit_width(t);
  V x = a[0];
  V y = a.size() > 1 ? a[1] : V{};
  V zero = constant_i(x, 0);
  auto w = [&](V v) { return wrap_int(t, v); };
  auto pick = [&](P::Predicate s, P::Predicate u) { return cmp(x, y, sign ? s : u); };
  switch (p) {
    case Prim::Neg:
      return w(-x);
    case Prim::Abs:
      return sign ? w(select(x < zero, -x, x)) : x;
    case Prim::Sign: {
      V one = constant_i(x, 1);
      V positive = select(ne(x, zero), one, zero);
      return sign ? select(x < zero, constant_i(x, -1), positive) : w(positive);
    }
    case Prim::Not:
      return w(~x);
    case Prim::Popcnt: {
      V m = bits < 8 ? iand(x, (1 << bits) - 1) : x;
      return w(g.call(llvm::Intrinsic::ctpop, {m}));
    }
    case Prim::Clz: {
      V m = bits < 8 ? iand(x, (1 << bits) - 1) : x;
      V r =
          g.wrap(g.b.CreateIntrinsic(llvm::Intrinsic::ctlz, {m.type()}, {m.v, g.b.getInt1(false)}));
      return w(bits < 8 ? iadd(r, bits - 8) : r);
    }
    case Prim::Add:
      return w(x + y);
    case Prim::Sub:
      return w(x - y);
    case Prim::Mul:
      return w(x * y);
    case Prim::Div:
      return w(int_div(t, x, y, false));
    case Prim::Rem:
      return int_div(t, x, y, true);
    case Prim::FloorDiv: {
      V q = w(int_div(t, x, y, false));
      if (!sign) return q;
      V r = int_div(t, x, y, true);
      V fix = ne(y, zero) & ne(r, zero) & ((x ^ y) < zero);
      return w(select(fix, iadd(q, -1), q));
    }
    case Prim::FloorMod: {
      V r = int_div(t, x, y, true);
      if (!sign) return r;
      V fix = ne(y, zero) & ne(r, zero) & ((r ^ y) < zero);
      return select(fix, r + y, r);
    }
    case Prim::Pow:
      return int_pow(t, x, y);
    case Prim::Max:
      return g.call(sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, {x, y});
    case Prim::Min:
      return g.call(sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, {x, y});
    case Prim::And:
      return x & y;
    case Prim::Or:
      return x | y;
    case Prim::Xor:
      return x ^ y;
    case Prim::Shl:
    case Prim::ShrL:
    case Prim::ShrA:
      return shift(p, t, x, y);
    case Prim::Eq:
      return cmp(x, y, P::ICMP_EQ);
    case Prim::Ne:
      return cmp(x, y, P::ICMP_NE);
    case Prim::Lt:
    case Prim::TotalLt:
      return pick(P::ICMP_SLT, P::ICMP_ULT);
    case Prim::Le:
      return pick(P::ICMP_SLE, P::ICMP_ULE);
    case Prim::Gt:
      return pick(P::ICMP_SGT, P::ICMP_UGT);
    case Prim::Ge:
      return pick(P::ICMP_SGE, P::ICMP_UGE);
    case Prim::Fma:
      return w(x * y + a[2]);
    default:
      break;
  }
  TF_CHECK(false, "integer primitive " + std::string(name(p)));
}

V bool_prim(Prim p, const std::vector<V>& a) {
  V x = a[0];
  V y = a.size() > 1 ? a[1] : V{};
  switch (p) {
    case Prim::Not:
      return ~x;
    case Prim::And:
    case Prim::Min:
    case Prim::Mul:
      return x & y;
    case Prim::Or:
    case Prim::Max:
    case Prim::Add:
      return x | y;
    case Prim::Xor:
    case Prim::Ne:
      return x ^ y;
    case Prim::Eq:
      return ~(x ^ y);
    case Prim::Lt:
    case Prim::TotalLt:
      return ~x & y;
    case Prim::Le:
      return ~x | y;
    case Prim::Gt:
      return x & ~y;
    case Prim::Ge:
      return x | ~y;
    default:
      break;
  }
  TF_CHECK(false, "Bool primitive " + std::string(name(p)));
}

// NaN wins, -0 < +0. Against a constant one comparison is enough; its predicate puts NaN and equal
// zeros on the right side.
V float_max_min(Prim p, V a, V b) {
  Gen& g = *a.g;
  const bool max = p == Prim::Max;
  g.unify(a, b);
  const llvm::Constant *ca = splat_constant(a), *cb = splat_constant(b);
  if (ca && !cb) {
    std::swap(a, b);
    cb = ca;
  }
  if (auto* c = llvm::dyn_cast_or_null<llvm::ConstantFP>(cb); c && !c->isNaN()) {
    const bool neg_zero = c->isZero() && c->isNegative();
    P::Predicate p1 = max ? (neg_zero ? P::FCMP_UGE : P::FCMP_UGT)
                          : (c->isZero() && !neg_zero ? P::FCMP_ULE : P::FCMP_ULT);
    return select(cmp(a, b, p1), a, b);
  }
  if (g.machine.arch == Machine::Arch::X86) {
    // maxps(x, y) is x > y ? x : y. With the operands ordered by sign bit, the one that is wanted
    // among equal zeros comes second; a NaN in the first place is put back.
    V first_neg = fbits(a) < constant_i(fbits(a), 0);
    V x = select(first_neg, max ? a : b, max ? b : a);
    V y = select(first_neg, max ? b : a, max ? a : b);
    V r = select(max ? x > y : x < y, x, y);
    return select(is_nan(x), x, r);
  }
  return g.call(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, {a, b});
}

V total_order(V x) {  // integer that orders as IEEE totalOrder
  V i = fbits(x);
  const int bits = static_cast<int>(i.bits());
  V flip = lshr(ashr(i, bits - 1), 1);
  return i ^ flip;
}

V next_after(V a, V b) {
  V x = fbits(a), y = fbits(b);
  V zero = constant_i(x, 0), one = constant_i(x, 1);
  V sign = constant_i(x, static_cast<int64_t>(uint64_t{1} << (x.bits() - 1)));
  V up = (a < b);
  V away = ~(up ^ (a > 0.0));
  V step = select(away, x + one, x - one);
  V from_zero = one | (y & sign);
  V r = select(eq(a, 0.0), from_zero, step);
  V same = eq(a, b);
  r = select(same, y, r);
  (void)zero;
  V nan = fbits(a + b);
  return from_bits(select(is_nan(a) | is_nan(b), nan, r));
}

V round_afz(V x) {
  // trunc(|x| + 0.5) is wrong just below a half; compare the fraction instead.
  V m = fabs(x);
  V t = trunc_f(m);
  V r = select(m - t >= 0.5, t + 1.0, t);
  return copysign(r, x);
}

V float_prim(Prim p, const std::vector<V>& a) {
  Gen& g = *a[0].g;
  V x = a[0];
  V y = a.size() > 1 ? a[1] : V{};
  switch (p) {
    case Prim::Neg:
      return -x;
    case Prim::Abs:
      return fabs(x);
    case Prim::Sign:
      return select(x > 0.0, constant(x, 1), select(x < 0.0, constant(x, -1), x));
    case Prim::Floor:
      return floor_f(x);
    case Prim::Ceil:
      return ceil_f(x);
    case Prim::RoundEven:
      return round_even(x);
    case Prim::RoundAfz:
      return round_afz(x);
    case Prim::Sqrt:
      return sqrt(x);
    case Prim::Rsqrt:
      return 1.0 / sqrt(x);
    case Prim::Real:
      return x;
    case Prim::Imag:
      return constant(x, 0);
    case Prim::IsFinite:
      return fabs(x) < std::numeric_limits<double>::infinity();
    case Prim::IsNan:
      return is_nan(x);
    case Prim::IsInf:
      return eq(fabs(x), std::numeric_limits<double>::infinity());
    case Prim::Add:
      return x + y;
    case Prim::Sub:
      return x - y;
    case Prim::Mul:
      return x * y;
    case Prim::Div:
      return x / y;
    case Prim::Rem:
      return math_fmod(g, x, y);
    case Prim::FloorDiv:
      return floor_f(x / y);
    case Prim::FloorMod: {
      V r = math_fmod(g, x, y);
      V other = cmp(r, constant(r, 0), P::FCMP_OLT) ^ cmp(y, constant(y, 0), P::FCMP_OLT);
      return select(eq(r, 0.0), copysign(r, y), select(other, r + y, r));
    }
    case Prim::Pow:
      return math_pow(g, x, y);
    case Prim::Atan2:
      return math_atan2(g, x, y);
    case Prim::Max:
    case Prim::Min:
      return float_max_min(p, x, y);
    case Prim::NextAfter:
      return next_after(x, y);
    case Prim::Eq:
      return cmp(x, y, P::FCMP_OEQ);
    case Prim::Ne:
      return cmp(x, y, P::FCMP_UNE);
    case Prim::Lt:
      return cmp(x, y, P::FCMP_OLT);
    case Prim::Le:
      return cmp(x, y, P::FCMP_OLE);
    case Prim::Gt:
      return cmp(x, y, P::FCMP_OGT);
    case Prim::Ge:
      return cmp(x, y, P::FCMP_OGE);
    case Prim::TotalLt:
      return cmp(total_order(x), total_order(y), P::ICMP_SLT);
    case Prim::Fma:
      return fma(x, y, a[2]);
    default:
      return math_unary(g, p, x);
  }
}

// The neighbour in the narrow format itself, on codes; see prim.cc.
V narrow_next_after(Gen& g, DType t, V x, V y) {
  V a = resize(narrow_encode(g, t, x), 32, false), b = resize(narrow_encode(g, t, y), 32, false);
  V one = constant_i(a, 1);
  V up = x < y;
  V code;
  if (t == DType::F8E8M0FNU) {
    code = select(up, a + one, a - one);
  } else {
    const FloatFormat f = format_of(t);
    V sign = constant_i(a, int64_t{1} << f.sign_shift());
    V away = ~(up ^ (x > 0.0));
    code = select(away, a + one, a - one);
    if (f.nan == FloatFormat::Nan::NegZero) code = select(eq(code, sign), constant_i(a, 0), code);
    code = select(eq(x, 0.0), select(y > 0.0, one, sign | one), code);
  }
  code = select(is_nan(y) | eq(x, y), b, code);
  code = select(is_nan(x), a, code);
  return narrow_decode(g, t, resize(code, 8 * byte_size(t), false));
}

bool gives_bool(Prim p) { return result_dtype(p, DType::F32) == DType::Bool; }

bool exact_on_narrow(Prim p, DType t) {
  const auto nan = format_of(t).nan;
  if (t == DType::F8E8M0FNU ||
      (nan != FloatFormat::Nan::Ieee && nan != FloatFormat::Nan::AllOnes)) {
    return p == Prim::Max || p == Prim::Min || p == Prim::Real;
  }
  return p == Prim::Neg || p == Prim::Abs || p == Prim::Max || p == Prim::Min || p == Prim::Real;
}

}  // namespace

Val select_val(V c, Val a, Val b) {
  Val r(select(c, a.re, b.re));
  if (a.im) r.im = select(c, a.im, b.im);
  return r;
}

Val emit_prim(Gen& g, Prim p, DType t, const std::vector<Val>& args) {
  if (p == Prim::Select) return select_val(args[0].re, args[1], args[2]);
  if (is_complex(t)) return complex_prim(g, p, t, args);
  std::vector<V> a;
  for (const Val& v : args) a.push_back(v.re);
  if (p == Prim::Complex) {
    g.unify(a[0], a[1]);
    return {a[0], a[1]};
  }
  if (t == DType::Bool) return Val(bool_prim(p, a));
  if (!is_float(t)) {
    for (size_t i = 1; i < a.size(); ++i) g.unify(a[0], a[i]);
    for (size_t i = 1; i < a.size(); ++i) g.unify(a[0], a[i]);
    return Val(int_prim(p, t, a));
  }
  for (size_t i = 1; i < a.size(); ++i) g.unify(a[0], a[i]);
  for (size_t i = 1; i < a.size(); ++i) g.unify(a[0], a[i]);
  if (is_narrow(t)) {
    if (p == Prim::NextAfter) return Val(narrow_next_after(g, t, a[0], a[1]));
    V r = float_prim(p, a);
    return Val(gives_bool(p) || exact_on_narrow(p, t) ? r : narrow_round(g, t, r));
  }
  return Val(float_prim(p, a));
}

Val emit_const(Gen& g, DType t, int64_t i, double f, double f2) {
  if (is_complex(t)) {
    llvm::Type* r = memory_type(g, t);
    return {g.wrap(llvm::ConstantFP::get(r, f)), g.wrap(llvm::ConstantFP::get(r, f2))};
  }
  llvm::Type* r = register_type(g, t);
  if (is_float(t)) return Val(g.wrap(llvm::ConstantFP::get(r, f)));
  if (t == DType::Bool) i = i != 0;
  V v = g.wrap(llvm::ConstantInt::get(r, static_cast<uint64_t>(i), true));
  return Val(t == DType::Bool ? v : wrap_int(t, v));
}

Val emit_cast(Gen& g, Val x, DType from, DType to) {
  if (from == to) return x;
  if (is_complex(from)) {
    if (is_complex(to)) {
      llvm::Type* r = memory_type(g, to);
      return {convert_fp(x.re, r), convert_fp(x.im, r)};
    }
    if (to == DType::Bool) {
      return Val(ne(x.re, constant(x.re, 0)) | ne(x.im, constant(x.im, 0)));
    }
    return emit_cast(g, Val(x.re), real_of(from), to);
  }
  if (is_complex(to)) {
    V re = emit_cast(g, x, from, real_of(to)).re;
    return {re, constant(re, 0)};
  }
  V v = x.re;
  const bool wide_from = !is_narrow(from);
  if (is_float(from)) {
    if (to == DType::Bool) return Val(ne(v, constant(v, 0)));
    if (is_float(to)) {
      if (is_narrow(to)) {
        V bits = narrow_encode(g, to, v);
        return Val(narrow_decode(g, to, bits));
      }
      return Val(convert_fp(v, register_type(g, to)));
    }
    (void)wide_from;
    const int bits = bit_width(to);
    if (bits >= 8) {
      // Vectors of narrow results: saturate at 32 bits first, where the machine converts.
      if (bits < 32 && !(g.machine.arch == Machine::Arch::X86 && v.is_vector())) {
        V w = to_int_sat(v, 32, true);
        const int64_t lo = is_signed(to) ? -(int64_t{1} << (bits - 1)) : 0;
        const int64_t hi = (int64_t{1} << (bits - is_signed(to))) - 1;
        w = g.call(llvm::Intrinsic::smax, {w, constant_i(w, lo)});
        w = g.call(llvm::Intrinsic::smin, {w, constant_i(w, hi)});
        return Val(resize(w, bits, true));
      }
      return Val(to_int_sat(v, bits, is_signed(to)));
    }
    V w = to_int_sat(v, 32, true);
    const int64_t lo = is_signed(to) ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t hi = (int64_t{1} << (bits - is_signed(to))) - 1;
    w = g.call(llvm::Intrinsic::smax, {w, constant_i(w, lo)});
    w = g.call(llvm::Intrinsic::smin, {w, constant_i(w, hi)});
    return Val(resize(w, 8, true));
  }
  // From Bool or an integer.
  const bool sign = is_signed(from);
  if (to == DType::Bool) return Val(ne(v, constant_i(v, 0)));
  if (is_float(to)) {
    if (!is_narrow(to)) return Val(int_to_fp(v, register_type(g, to), sign));
    if (bit_width(from) <= 16) return Val(narrow_round(g, to, int_to_fp(v, g.f32(), sign)));
    if (bit_width(from) == 64) {
      // To odd at 52 bits, so that the double holds it and the second rounding is the only one.
      V negative = v < constant_i(v, 0);
      V m = sign ? select(negative, -v, v) : v;
      V sticky =
          select(ne(iand(m, 0xfff), constant_i(m, 0)), constant_i(m, 0x1000), constant_i(m, 0));
      V big = iand(m, ~int64_t{0xfff}) | sticky;
      m = select(ult(m, constant_i(m, int64_t{1} << 53)), m, big);
      V d = int_to_fp(m, g.f64(), false);
      if (sign) d = select(negative, -d, d);
      V bits = narrow_encode(g, to, d);
      return Val(narrow_decode(g, to, bits));
    }
    V bits = narrow_encode(g, to, int_to_fp(v, g.f64(), sign));
    return Val(narrow_decode(g, to, bits));
  }
  V r = resize(v, 8 * byte_size(to), sign && from != DType::Bool);
  return Val(wrap_int(to, r));
}

Val emit_bitcast(Gen& g, Val x, DType from, DType to) {
  if (from == to) return x;
  if (is_complex(from) && is_complex(to)) return x;
  V m = to_memory(g, from, x.re);
  llvm::Type* mt = memory_type(g, to);
  if (m.scalar_type() != mt) m = g.wrap(g.b.CreateBitCast(m.v, g.shaped(mt, m)));
  V r = from_memory(g, to, m);
  if (!is_float(to) && to != DType::Bool) r = wrap_int(to, r);
  return Val(r);
}

}  // namespace tenfold::cpu
