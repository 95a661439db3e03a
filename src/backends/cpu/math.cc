// Which implementation serves which primitive and type; powers of two; remainders.
#include "backends/cpu/math.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <limits>

namespace tenfold::cpu {

V round_product(V x, double c, V* as_int) {
  const bool d = x.bits() == 64;
  const double magic = d ? 0x1.8p52 : 0x1.8p23;
  V t = fma(x, c, constant(x, magic));
  if (as_int) *as_int = fbits(t);
  return t - magic;
}

V scale_by_pow2(V y, V n) {
  Gen& g = *y.g;
  const bool d = y.bits() == 64;
  const int lanes = g.lanes(y);
  const int full = d ? 8 : 16;
  if (g.machine.avx512 && lanes >= full / 4 && lanes <= 2 * full) {
    // The instruction rounds once as well.
    auto one = [&](V a, V b) {
      const int w = g.lanes(a);
      llvm::Intrinsic::ID id = d ? (w == 8   ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                                    : w == 4 ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                                             : llvm::Intrinsic::x86_avx512_mask_scalef_pd_128)
                                 : (w == 16  ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                    : w == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                             : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128);
      llvm::Type* mask = g.int_type(std::max(8, w));
      std::vector<llvm::Value*> args = {a.v, b.v, llvm::PoisonValue::get(a.type()),
                                        llvm::Constant::getAllOnesValue(mask)};
      if (w == full) args.push_back(g.b.getInt32(4));
      return g.wrap(g.b.CreateIntrinsic(id, {}, args));
    };
    g.unify(y, n);
    if (lanes <= full) return one(y, n);
    std::vector<int> lo, hi, all;
    for (int i = 0; i < full; ++i) {
      lo.push_back(i);
      hi.push_back(full + i);
    }
    for (int i = 0; i < 2 * full; ++i) all.push_back(i);
    auto part = [&](V v, const std::vector<int>& m) {
      return g.wrap(g.b.CreateShuffleVector(v.v, m));
    };
    V a = one(part(y, lo), part(n, lo)), b = one(part(y, hi), part(n, hi));
    return g.wrap(g.b.CreateShuffleVector(a.v, b.v, all));
  }
  const double magic = d ? 0x1.8p52 : 0x1.8p23;
  V t = fbits(n + magic);
  V k = t - fbits(constant(y, magic));
  const int man = d ? 52 : 23;
  const int64_t bias = d ? 1023 : 127;
  V half = ashr(k, 1);
  V rest = k - half;
  V p = from_bits(shl(iadd(half, bias), man));
  V q = from_bits(shl(iadd(rest, bias), man));
  return y * p * q;
}

// C's fmod. While the quotient is small it is cut and multiplied back exactly; otherwise long
// division, lane after lane.
namespace {

llvm::Function* long_division(Gen& g, bool d) {
  const char* name = d ? "tenfold.fmod64" : "tenfold.fmod32";
  if (llvm::Function* f = g.module.getFunction(name)) return f;
  llvm::Type* t = d ? g.f64() : g.f32();
  auto* f = llvm::Function::Create(llvm::FunctionType::get(t, {t, t}, false),
                                   llvm::Function::InternalLinkage, name, g.module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr(llvm::Attribute::NoInline);
  const auto saved = g.b.saveIP();
  llvm::Function* caller = saved.getBlock()->getParent();
  f->addFnAttr(caller->getFnAttribute("target-cpu"));
  f->addFnAttr(caller->getFnAttribute("target-features"));
  f->addFnAttr("no-builtins");
  auto* entry = llvm::BasicBlock::Create(g.ctx, "entry", f);
  auto* loop = llvm::BasicBlock::Create(g.ctx, "loop", f);
  auto* done = llvm::BasicBlock::Create(g.ctx, "done", f);
  g.b.SetInsertPoint(entry);
  // |x| >= |y| > 0, both finite. Mantissas as integers with their leading bit in one place.
  const int man = d ? 52 : 23;
  V x = g.wrap(f->getArg(0)), y = g.wrap(f->getArg(1));
  V bx = fbits(fabs(x)), by = fbits(fabs(y));
  const int spare = d ? 11 : 8;  // bits above a full mantissa
  auto leading = [&](V v) {
    return g.wrap(
        g.b.CreateIntrinsic(llvm::Intrinsic::ctlz, {v.type()}, {v.v, g.b.getInt1(false)}));
  };
  auto unpack = [&](V b, V* e) {
    V raw = lshr(b, man);
    V sub = eq(raw, constant_i(raw, 0));
    V m = iand(b, (int64_t{1} << man) - 1);
    V up = iadd(leading(m), -spare);
    *e = select(sub, constant_i(raw, 1) - up, raw);
    return select(sub, shl(m, up), ior(m, int64_t{1} << man));
  };
  V ex, ey;
  V mx = unpack(bx, &ex), my = unpack(by, &ey);
  g.b.CreateBr(loop);
  g.b.SetInsertPoint(loop);
  auto* m = g.b.CreatePHI(mx.type(), 2);
  auto* e = g.b.CreatePHI(mx.type(), 2);
  m->addIncoming(mx.v, entry);
  e->addIncoming(ex.v, entry);
  V mv = g.wrap(m), ev = g.wrap(e);
  V r = select(ult(mv, my), mv, mv - my);
  V more = ev > ey;
  V m2 = shl(r, 1);
  V e2 = iadd(ev, -1);
  m->addIncoming(m2.v, loop);
  e->addIncoming(e2.v, loop);
  g.b.CreateCondBr(more.v, loop, done);
  g.b.SetInsertPoint(done);
  // r in units of y's last place: exact, for a subnormal y its lowest bits are zero.
  V below = constant_i(ey, 1) - ey;
  V is_below = below > constant_i(ey, 0);
  r = select(is_below, lshr(r, select(is_below, below, constant_i(ey, 0))), r);
  V e1 = select(is_below, constant_i(ey, 1), ey);
  V shift = iadd(leading(r), -spare);  // to a full mantissa
  V room = iadd(e1, -1);
  V by_n = select(shift < room, shift, room);
  V norm = shl(r, by_n);
  V exp = e1 - by_n;
  V full = ne(iand(norm, int64_t{1} << man), constant_i(norm, 0));
  V bits = iand(norm, (int64_t{1} << man) - 1) | select(full, shl(exp, man), constant_i(norm, 0));
  g.b.CreateRet(copysign(from_bits(bits), x).v);
  g.b.restoreIP(saved);
  return f;
}

}  // namespace

V math_fmod(Gen& g, V x, V y) {
  g.unify(x, y);
  const bool d = x.bits() == 64;
  const int n = g.lanes(x);
  V ax = fabs(x), ay = fabs(y);
  V small = ax < ay;
  V q = trunc_f(ax / ay);
  V r = fma(-q, ay, ax);
  r = select(r < 0.0, r + ay, r);
  V inf = constant(x, std::numeric_limits<double>::infinity());
  V regular = (ax < inf) & (ay > 0.0) & (ay < inf);
  // Within this the quotient is off by one at the most.
  V hard = regular & ~small & ~(q < (d ? 0x1p52 : 0x1p23));
  V result = select(small & regular, x, copysign(r, x));
  result = select((ax < inf) & eq(ay, inf), x, result);
  V nan = constant(x, std::numeric_limits<double>::quiet_NaN());
  V bad = ~(ax < inf) | eq(ay, 0.0) | is_nan(y);
  result = select(bad, nan, result);
  return g.if_then(any(hard), result, [&] {
    llvm::Function* f = long_division(g, d);
    if (n == 1) return g.wrap(g.b.CreateCall(f, {x.v, y.v}));
    V sx = select(hard, x, constant(x, 1)), sy = select(hard, y, constant(y, 1));
    V all = result;
    for (int i = 0; i < n; ++i) {
      llvm::Value* a = g.b.CreateExtractElement(sx.v, uint64_t(i));
      llvm::Value* c = g.b.CreateExtractElement(sy.v, uint64_t(i));
      all = g.wrap(g.b.CreateInsertElement(all.v, g.b.CreateCall(f, {a, c}), uint64_t(i)));
    }
    return select(hard, all, result);
  });
}

V math_unary(Gen& g, Prim p, V x) {
  const bool single = x.bits() == 32;
  if (single) {
    switch (p) {
      case Prim::Exp:
        return exp32(x);
      case Prim::Expm1:
        return expm1_32(x);
      case Prim::Log:
        return log32(x);
      case Prim::Tanh:
        return tanh32(x);
      case Prim::Logistic:
        return logistic32(x);
      case Prim::Erf:
        return erf32(x);
      case Prim::Sin:
        return sin32(x);
      case Prim::Cos:
        return cos32(x);
      default:
        break;
    }
    return convert_fp(math_unary(g, p, convert_fp(x, g.f64())), g.f32());
  }
  switch (p) {
    case Prim::Exp:
      return exp64(x);
    case Prim::Expm1:
      return expm1_64(x);
    case Prim::Log:
      return log64(x);
    case Prim::Log1p:
      return log1p64(x);
    case Prim::Tanh:
      return tanh64(x);
    case Prim::Logistic:
      return logistic64(x);
    case Prim::Erf:
      return erf64(x);
    case Prim::Sin:
      return sin64(x);
    case Prim::Cos:
      return cos64(x);
    case Prim::Tan:
      return tan64(x);
    case Prim::Asin:
      return asin64(x);
    case Prim::Acos:
      return acos64(x);
    case Prim::Atan:
      return atan64(x);
    case Prim::Sinh:
      return sinh64(x);
    case Prim::Cosh:
      return cosh64(x);
    case Prim::Asinh:
      return asinh64(x);
    case Prim::Acosh:
      return acosh64(x);
    case Prim::Atanh:
      return atanh64(x);
    case Prim::Cbrt:
      return cbrt64(x);
    case Prim::Lgamma:
      return lgamma64(x);
    default:
      break;
  }
  TF_CHECK(false, "no code for " + std::string(name(p)));
}

V math_pow(Gen& g, V x, V y) {
  g.unify(x, y);
  if (x.bits() == 64) return pow64(x, y);
  return convert_fp(pow64_for_f32(convert_fp(x, g.f64()), convert_fp(y, g.f64())), g.f32());
}
V math_atan2(Gen& g, V y, V x) {
  g.unify(x, y);
  if (x.bits() == 64) return atan2_64(y, x);
  return convert_fp(atan2_64(convert_fp(y, g.f64()), convert_fp(x, g.f64())), g.f32());
}

}  // namespace tenfold::cpu
