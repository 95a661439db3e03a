// Scalar primitives: the closed vocabulary of arithmetic that graph ops, the loop level, its
// interpreter and every backend share. One row each; semantics in prim.cc, held by literal tests.
//
// Rules: IEEE per operation; Max/Min propagate NaN and order -0 < +0; float-to-integer is Cast's
// (saturating, NaN -> 0); integer Div cuts towards zero, x/0 = -1 (all ones), MIN/-1 = MIN;
// Rem has the dividend's sign, x%0 = x, MIN%-1 = 0; integer Add/Sub/Mul/Neg/Abs wrap; shifts by
// >= width or negative give 0 (ShrA: the sign). Narrow floats compute in f32 and round once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "array/dtype.h"
#include "array/literal.h"

namespace tenfold {

// name, arity, text spelling
// clang-format off
#define TENFOLD_PRIMS(X)                                                                       \
  X(Neg, 1, "neg") X(Abs, 1, "abs") X(Sign, 1, "sign") X(Not, 1, "not")                        \
  X(Floor, 1, "floor") X(Ceil, 1, "ceil") X(RoundEven, 1, "round_even")                        \
  X(RoundAfz, 1, "round_afz") X(Sqrt, 1, "sqrt") X(Rsqrt, 1, "rsqrt") X(Cbrt, 1, "cbrt")       \
  X(Exp, 1, "exp") X(Expm1, 1, "expm1") X(Log, 1, "log") X(Log1p, 1, "log1p")                  \
  X(Logistic, 1, "logistic") X(Sin, 1, "sin") X(Cos, 1, "cos") X(Tan, 1, "tan")                \
  X(Asin, 1, "asin") X(Acos, 1, "acos") X(Atan, 1, "atan") X(Sinh, 1, "sinh")                  \
  X(Cosh, 1, "cosh") X(Tanh, 1, "tanh") X(Asinh, 1, "asinh") X(Acosh, 1, "acosh")              \
  X(Atanh, 1, "atanh") X(Erf, 1, "erf") X(Lgamma, 1, "lgamma")                                 \
  X(IsFinite, 1, "is_finite") X(IsNan, 1, "is_nan") X(IsInf, 1, "is_inf")                      \
  X(Popcnt, 1, "popcnt") X(Clz, 1, "clz") X(Real, 1, "real") X(Imag, 1, "imag")                \
  X(Add, 2, "add") X(Sub, 2, "sub") X(Mul, 2, "mul") X(Div, 2, "div") X(Rem, 2, "rem")         \
  X(FloorDiv, 2, "floordiv") X(FloorMod, 2, "floormod")                                        \
  X(Pow, 2, "pow") X(Max, 2, "max") X(Min, 2, "min") X(Atan2, 2, "atan2")                      \
  X(And, 2, "and") X(Or, 2, "or") X(Xor, 2, "xor")                                             \
  X(Shl, 2, "shl") X(ShrL, 2, "shrl") X(ShrA, 2, "shra") X(Complex, 2, "complex")              \
  X(NextAfter, 2, "nextafter")                                                                 \
  X(Eq, 2, "eq") X(Ne, 2, "ne") X(Lt, 2, "lt") X(Le, 2, "le") X(Gt, 2, "gt") X(Ge, 2, "ge")    \
  X(TotalLt, 2, "total_lt")                                                                    \
  X(Fma, 3, "fma") X(Select, 3, "select")
// clang-format on

enum class Prim : uint8_t {
#define X(n, a, s) n,
  TENFOLD_PRIMS(X)
#undef X
};

std::string_view name(Prim p);
int arity(Prim p);
std::optional<Prim> prim_from_name(std::string_view s);
// Result dtype for operand dtype `t` (Select: of its 2nd and 3rd operand): Bool for comparisons
// and the Is*; real part type for Real, Imag, and Abs of complex; complex for Complex; else t.
DType result_dtype(Prim p, DType t);
// Whether the primitive is defined on operand type `t` (Erf on integers is not).
bool supports(Prim p, DType t);

// out[i] = p(args[k][i * stride[k]]...) for i < n. `t` is the operands' storage type (Select:
// args[0] is Bool). Strides are in elements, 0 broadcasts. Buffers as Literal stores them.
void apply(Prim p, DType t, const void* const* args, const int64_t* strides, void* out, int64_t n);
// Element conversion, same rules as convert().
void cast(DType from, DType to, const void* in, void* out, int64_t n);

}  // namespace tenfold
