#include "backends/cpu/gen.h"
namespace tenfold::cpu {
bool has_math(Prim p, DType t) {
  if (is_complex(t)) {
    switch (p) {
      case Prim::Add: case Prim::Sub: case Prim::Mul: case Prim::Neg: case Prim::Real:
      case Prim::Imag: case Prim::Eq: case Prim::Ne: case Prim::Fma: case Prim::Select: return true;
      default: return false;
    }
  }
  if (!is_float(t)) return true;
  switch (p) {
    case Prim::Cbrt: case Prim::Exp: case Prim::Expm1: case Prim::Log: case Prim::Log1p:
    case Prim::Logistic: case Prim::Sin: case Prim::Cos: case Prim::Tan: case Prim::Asin:
    case Prim::Acos: case Prim::Atan: case Prim::Sinh: case Prim::Cosh: case Prim::Tanh:
    case Prim::Asinh: case Prim::Acosh: case Prim::Atanh: case Prim::Erf: case Prim::Lgamma:
    case Prim::Pow: case Prim::Atan2: case Prim::Rem: case Prim::FloorMod: return false;
    default: return true;
  }
}
V math_unary(Gen&, Prim p, V) { TF_CHECK(false, std::string(name(p))); }
V math_pow(Gen&, V, V) { TF_CHECK(false, "pow"); }
V math_atan2(Gen&, V, V) { TF_CHECK(false, "pow"); }
V math_fmod(Gen&, V, V) { TF_CHECK(false, "pow"); }
}
