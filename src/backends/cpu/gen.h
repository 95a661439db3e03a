// The vocabulary that primitives and vector mathematics are written in: V is an LLVM value, scalar
// or vector, with operators that pick the instruction by its type. The same code makes the scalar
// and the vector form of a function, so both give the same bits.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "array/dtype.h"
#include "array/prim.h"
#include "base/result.h"

namespace tenfold::cpu {

// What code generation has to know of the machine beyond what LLVM decides by itself.
struct Machine {
  enum class Arch : uint8_t { X86, AArch64, RiscV };
  Arch arch = Arch::X86;
  bool avx512 = false;
  bool half_convert = false;   // f32 <-> f16 in hardware, vectors too
  bool masked_memory = false;  // masked loads and stores cost about as much as plain ones
  bool gather = false;
  bool vnni = false;     // x86: vpdpbusd
  bool dotprod = false;  // Arm: sdot, udot
  int vector_bytes = 16;
};

class Gen;

struct V {
  Gen* g = nullptr;
  llvm::Value* v = nullptr;
  llvm::Type* type() const { return v->getType(); }
  llvm::Type* scalar_type() const { return v->getType()->getScalarType(); }
  bool is_vector() const { return v->getType()->isVectorTy(); }
  bool is_fp() const { return v->getType()->isFPOrFPVectorTy(); }
  unsigned bits() const { return scalar_type()->getPrimitiveSizeInBits().getFixedValue(); }
  explicit operator bool() const { return v != nullptr; }
};

class Gen {
 public:
  Gen(llvm::LLVMContext& c, llvm::Module& m, const Machine& mach, bool fast);
  llvm::LLVMContext& ctx;
  llvm::Module& module;
  const Machine& machine;
  llvm::IRBuilder<> b;
  bool fast_math;

  V wrap(llvm::Value* v) { return {this, v}; }
  llvm::Type* int_type(int bits) { return llvm::IntegerType::get(ctx, bits); }
  llvm::Type* f32() { return llvm::Type::getFloatTy(ctx); }
  llvm::Type* f64() { return llvm::Type::getDoubleTy(ctx); }
  // `scalar` with the number of lanes of `like`.
  llvm::Type* shaped(llvm::Type* scalar, V like);
  llvm::Type* vec(llvm::Type* scalar, int lanes) {
    return lanes > 1 ? llvm::FixedVectorType::get(scalar, lanes) : scalar;
  }
  V splat(V x, int lanes);
  int lanes(V x);
  void unify(V& a, V& b);                               // splats the scalar one
  V call(llvm::Intrinsic::ID id, std::vector<V> args);  // overloaded on the first one's type
  // Runs `f` under a branch on scalar i1 `c`; result is f's value, else `other`.
  template <class F>
  V if_then(V c, V other, F&& f);
};

// Constants shaped like `like`.
V constant(V like, double v);
V constant_i(V like, int64_t v);

V operator+(V a, V b);
V operator-(V a, V b);
V operator*(V a, V b);
V operator/(V a, V b);  // floating point
V operator+(V a, double c);
V operator-(V a, double c);
V operator*(V a, double c);
V operator-(double c, V a);
V operator*(double c, V a);
V operator/(double c, V a);
V operator-(V a);
V operator&(V a, V b);
V operator|(V a, V b);
V operator^(V a, V b);
V operator~(V a);
V iand(V a, int64_t c);
V ior(V a, int64_t c);
V iadd(V a, int64_t c);
V shl(V a, int c);
V lshr(V a, int c);
V ashr(V a, int c);
V shl(V a, V b);
V lshr(V a, V b);
// Ordered on floats (false with NaN); signed on integers.
V operator<(V a, V b);
V operator>(V a, V b);
V operator<=(V a, V b);
V operator>=(V a, V b);
V eq(V a, V b);
V ne(V a, V b);  // unordered or not equal on floats
V ult(V a, V b);
V operator<(V a, double c);
V operator>(V a, double c);
V operator<=(V a, double c);
V operator>=(V a, double c);
V eq(V a, double c);
V is_nan(V a);
V select(V c, V a, V b);
V fma(V a, V b, V c);
V fma(V a, double b, V c);
V fma(V a, V b, double c);
V fabs(V a);
V sqrt(V a);
V copysign(V mag, V sign);
V trunc_f(V a);
V floor_f(V a);
V ceil_f(V a);
V round_even(V a);
V fbits(V a);                           // float -> integer of the same width
V from_bits(V a);                       // and back
V convert_fp(V a, llvm::Type* scalar);  // between f32 and f64
V to_int_sat(V a, int bits, bool is_signed);
V int_to_fp(V a, llvm::Type* scalar, bool is_signed);
V resize(V a, int bits, bool is_signed);    // integer width
V any(V mask);                              // i1 of lanes -> scalar i1
V poly(V x, const std::vector<double>& c);  // c[0] + c[1] x + ..., by Horner with fma

template <class F>
V Gen::if_then(V c, V other, F&& f) {
  llvm::Function* fn = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* then_bb = llvm::BasicBlock::Create(ctx, "then", fn);
  auto* join = llvm::BasicBlock::Create(ctx, "join", fn);
  b.CreateCondBr(c.v, then_bb, join);
  b.SetInsertPoint(then_bb);
  V t = f();
  llvm::BasicBlock* then_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  llvm::PHINode* phi = b.CreatePHI(other.type(), 2);
  phi->addIncoming(t.v, then_end);
  phi->addIncoming(other.v, from);
  return wrap(phi);
}

// A value of the loop level. Registers hold: Bool i1; integers their width, sub-byte ones i8
// wrapped; narrow floats an f32 that the format can represent; complex two parts.
struct Val {
  V re, im;
  Val() = default;
  Val(V r) : re(r) {}  // NOLINT: implicit by design
  Val(V r, V i) : re(r), im(i) {}
};

// prims.cc
Val emit_prim(Gen& g, Prim p, DType t, const std::vector<Val>& args);
Val emit_cast(Gen& g, Val x, DType from, DType to);
Val emit_const(Gen& g, DType t, int64_t i, double f, double f2);  // scalar
Val emit_bitcast(Gen& g, Val x, DType from, DType to);
Val select_val(V c, Val a, Val b);
// narrow.cc
V narrow_decode(Gen& g, DType t, V bits);  // i8/i16 -> f32
V narrow_encode(Gen& g, DType t, V x);     // f32 or f64 -> i8/i16, rounding once
V narrow_round(Gen& g, DType t, V x);      // f32 -> the nearest f32 that `t` has
V f64_to_f32_odd(V x);
// The integer or float type of a stored element (of one part of a complex one).
llvm::Type* memory_type(Gen& g, DType t);
llvm::Type* register_type(Gen& g, DType t);
V to_memory(Gen& g, DType t, V x);
V from_memory(Gen& g, DType t, V x);

// math*.cc: real functions on f32 or f64, by the element type of x.
V math_unary(Gen& g, Prim p, V x);
V math_pow(Gen& g, V x, V y);
V math_atan2(Gen& g, V y, V x);
V math_fmod(Gen& g, V x, V y);

}  // namespace tenfold::cpu
