// Implementation of the V vocabulary.
#include "backends/cpu/gen.h"

#include <algorithm>
#include <cmath>

namespace tenfold::cpu {

using llvm::Intrinsic::ID;

Gen::Gen(llvm::LLVMContext& c, llvm::Module& m, const Machine& mach, bool fast)
    : ctx(c), module(m), machine(mach), b(c), fast_math(fast) {}

llvm::Type* Gen::shaped(llvm::Type* scalar, V like) {
  if (auto* vt = llvm::dyn_cast<llvm::FixedVectorType>(like.type())) {
    return llvm::FixedVectorType::get(scalar, vt->getNumElements());
  }
  return scalar;
}
int Gen::lanes(V x) {
  auto* vt = llvm::dyn_cast<llvm::FixedVectorType>(x.type());
  return vt ? static_cast<int>(vt->getNumElements()) : 1;
}
V Gen::splat(V x, int n) {
  if (n <= 1 || x.is_vector()) return x;
  return wrap(b.CreateVectorSplat(n, x.v));
}
void Gen::unify(V& x, V& y) {
  if (x.is_vector() && !y.is_vector())
    y = splat(y, lanes(x));
  else if (y.is_vector() && !x.is_vector())
    x = splat(x, lanes(y));
}
V Gen::call(ID id, std::vector<V> args) {
  int n = 1;
  for (V a : args) n = std::max(n, lanes(a));
  std::vector<llvm::Value*> vs;
  for (V a : args) vs.push_back(splat(a, n).v);
  return wrap(b.CreateIntrinsic(id, {vs[0]->getType()}, vs));
}

V constant(V like, double c) { return like.g->wrap(llvm::ConstantFP::get(like.type(), c)); }
V constant_i(V like, int64_t c) {
  return like.g->wrap(llvm::ConstantInt::get(like.type(), static_cast<uint64_t>(c), true));
}

namespace {
template <class FOp, class IOp>
V binary(V a, V b, FOp f, IOp i) {
  a.g->unify(a, b);
  return a.g->wrap(a.is_fp() ? f(a.g->b, a.v, b.v) : i(a.g->b, a.v, b.v));
}
V compare(V a, V b, llvm::CmpInst::Predicate f, llvm::CmpInst::Predicate i) {
  a.g->unify(a, b);
  return a.g->wrap(a.is_fp() ? a.g->b.CreateFCmp(f, a.v, b.v) : a.g->b.CreateICmp(i, a.v, b.v));
}
V number(V like, double c) {
  return like.is_fp() ? constant(like, c) : constant_i(like, static_cast<int64_t>(c));
}
}  // namespace

#define TF_BIN(sym, F, I)                                          \
  V operator sym(V a, V b) {                                       \
    return binary(                                                 \
        a, b, [](auto& B, auto* x, auto* y) { return B.F(x, y); }, \
        [](auto& B, auto* x, auto* y) { return B.I(x, y); });      \
  }
TF_BIN(+, CreateFAdd, CreateAdd)
TF_BIN(-, CreateFSub, CreateSub)
TF_BIN(*, CreateFMul, CreateMul)
TF_BIN(/, CreateFDiv, CreateSDiv)
TF_BIN(&, CreateAnd, CreateAnd)
TF_BIN(|, CreateOr, CreateOr)
TF_BIN(^, CreateXor, CreateXor)
#undef TF_BIN
V operator+(V a, double c) { return a + number(a, c); }
V operator-(V a, double c) { return a - number(a, c); }
V operator*(V a, double c) { return a * number(a, c); }
V operator-(double c, V a) { return number(a, c) - a; }
V operator*(double c, V a) { return number(a, c) * a; }
V operator/(double c, V a) { return number(a, c) / a; }
V operator-(V a) { return a.g->wrap(a.is_fp() ? a.g->b.CreateFNeg(a.v) : a.g->b.CreateNeg(a.v)); }
V operator~(V a) { return a.g->wrap(a.g->b.CreateNot(a.v)); }
V iand(V a, int64_t c) { return a & constant_i(a, c); }
V ior(V a, int64_t c) { return a | constant_i(a, c); }
V iadd(V a, int64_t c) { return a + constant_i(a, c); }
V shl(V a, int c) { return a.g->wrap(a.g->b.CreateShl(a.v, static_cast<uint64_t>(c))); }
V lshr(V a, int c) { return a.g->wrap(a.g->b.CreateLShr(a.v, static_cast<uint64_t>(c))); }
V ashr(V a, int c) { return a.g->wrap(a.g->b.CreateAShr(a.v, static_cast<uint64_t>(c))); }
V shl(V a, V b) {
  a.g->unify(a, b);
  return a.g->wrap(a.g->b.CreateShl(a.v, b.v));
}
V lshr(V a, V b) {
  a.g->unify(a, b);
  return a.g->wrap(a.g->b.CreateLShr(a.v, b.v));
}

using P = llvm::CmpInst;
V operator<(V a, V b) { return compare(a, b, P::FCMP_OLT, P::ICMP_SLT); }
V operator>(V a, V b) { return compare(a, b, P::FCMP_OGT, P::ICMP_SGT); }
V operator<=(V a, V b) { return compare(a, b, P::FCMP_OLE, P::ICMP_SLE); }
V operator>=(V a, V b) { return compare(a, b, P::FCMP_OGE, P::ICMP_SGE); }
V eq(V a, V b) { return compare(a, b, P::FCMP_OEQ, P::ICMP_EQ); }
V ne(V a, V b) { return compare(a, b, P::FCMP_UNE, P::ICMP_NE); }
V ult(V a, V b) { return compare(a, b, P::FCMP_ULT, P::ICMP_ULT); }
V operator<(V a, double c) { return a < number(a, c); }
V operator>(V a, double c) { return a > number(a, c); }
V operator<=(V a, double c) { return a <= number(a, c); }
V operator>=(V a, double c) { return a >= number(a, c); }
V eq(V a, double c) { return eq(a, number(a, c)); }
V is_nan(V a) { return a.g->wrap(a.g->b.CreateFCmpUNO(a.v, a.v)); }

V select(V c, V a, V b) {
  a.g->unify(a, b);
  if (c.is_vector() && !a.is_vector()) {
    a = a.g->splat(a, a.g->lanes(c));
    b = b.g->splat(b, b.g->lanes(c));
  }
  return a.g->wrap(a.g->b.CreateSelect(c.v, a.v, b.v));
}
V fma(V a, V b, V c) { return a.g->call(llvm::Intrinsic::fma, {a, b, c}); }
V fma(V a, double b, V c) { return fma(a, constant(a, b), c); }
V fma(V a, V b, double c) { return fma(a, b, constant(a, c)); }
V fabs(V a) { return a.g->call(llvm::Intrinsic::fabs, {a}); }
V sqrt(V a) { return a.g->call(llvm::Intrinsic::sqrt, {a}); }
V copysign(V m, V s) { return m.g->call(llvm::Intrinsic::copysign, {m, s}); }
V trunc_f(V a) {
  // LLVM's vector form of trunc on RISC-V trips an assertion of QEMU 7.2; the floor of the
  // magnitude is the same number.
  if (a.g->machine.arch == Machine::Arch::RiscV && a.is_vector()) {
    return copysign(floor_f(fabs(a)), a);
  }
  return a.g->call(llvm::Intrinsic::trunc, {a});
}
V floor_f(V a) { return a.g->call(llvm::Intrinsic::floor, {a}); }
V ceil_f(V a) { return a.g->call(llvm::Intrinsic::ceil, {a}); }
V round_even(V a) {
  // RISC-V and x86 have no scalar roundeven instruction name of their own in LLVM 19; rint in the
  // default rounding mode is the same function.
  return a.g->call(a.g->machine.arch == Machine::Arch::AArch64 ? llvm::Intrinsic::roundeven
                                                               : llvm::Intrinsic::rint,
                   {a});
}
V fbits(V a) {
  return a.g->wrap(a.g->b.CreateBitCast(a.v, a.g->shaped(a.g->int_type(a.bits()), a)));
}
V from_bits(V a) {
  llvm::Type* t = a.bits() == 64 ? a.g->f64() : a.g->f32();
  return a.g->wrap(a.g->b.CreateBitCast(a.v, a.g->shaped(t, a)));
}
V convert_fp(V a, llvm::Type* t) {
  if (a.scalar_type() == t) return a;
  llvm::Type* to = a.g->shaped(t, a);
  return a.g->wrap(t->isDoubleTy() ? a.g->b.CreateFPExt(a.v, to) : a.g->b.CreateFPTrunc(a.v, to));
}
namespace {

// LLVM takes saturating conversions of vectors apart on x86. Here the value is clamped first, so
// that the machine's own conversion serves: with the bounds themselves where the float has them,
// else with the float next to the bound, and the bound put in afterwards.
V to_int_clamped(V a, int bits, bool is_signed) {
  Gen& g = *a.g;
  const int size = a.bits() == 64 ? 53 : 24;
  const int width = bits - is_signed;
  const double end = std::ldexp(1.0, width);
  const bool exact = width <= size;
  const double low = is_signed ? -end : 0,
               high = exact ? end - 1 : end - std::ldexp(1.0, width - size);
  V x = select(a > constant(a, low), a, constant(a, low));  // NaN: low
  x = select(x < constant(a, high), x, constant(a, high));
  llvm::Type* to = g.shaped(g.int_type(std::max(bits, 32)), a);
  // Fewer than 32 unsigned bits are signed ones in 32.
  const bool sign = is_signed || bits < 32;
  V r = g.wrap(sign ? g.b.CreateFPToSI(x.v, to) : g.b.CreateFPToUI(x.v, to));
  if (!exact) r = select(a < constant(a, end), r, constant_i(r, static_cast<int64_t>(end - 1)));
  if (is_signed || !exact) r = select(is_nan(a), constant_i(r, 0), r);
  return bits < 32 ? resize(r, bits, true) : r;
}

}  // namespace

V to_int_sat(V a, int bits, bool is_signed) {
  if (a.g->machine.arch == Machine::Arch::X86 && a.is_vector() && bits <= 32)
    return to_int_clamped(a, bits, is_signed);
  llvm::Type* to = a.g->shaped(a.g->int_type(bits), a);
  return a.g->wrap(
      a.g->b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                             {to, a.type()}, {a.v}));
}
V int_to_fp(V a, llvm::Type* t, bool is_signed) {
  llvm::Type* to = a.g->shaped(t, a);
  return a.g->wrap(is_signed ? a.g->b.CreateSIToFP(a.v, to) : a.g->b.CreateUIToFP(a.v, to));
}
V resize(V a, int bits, bool is_signed) {
  llvm::Type* to = a.g->shaped(a.g->int_type(bits), a);
  return a.g->wrap(is_signed ? a.g->b.CreateSExtOrTrunc(a.v, to)
                             : a.g->b.CreateZExtOrTrunc(a.v, to));
}
V any(V mask) {
  if (!mask.is_vector()) return mask;
  return mask.g->wrap(mask.g->b.CreateOrReduce(mask.v));
}
V poly(V x, const std::vector<double>& c) {
  V r = constant(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) r = fma(r, x, c[i]);
  return r;
}

}  // namespace tenfold::cpu
