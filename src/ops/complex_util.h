// Loop-level helpers for ops defined on real and complex numbers alike.
#pragma once

#include "loop/ir.h"

namespace tenfold {

inline loop::Expr conjugate(const loop::Expr& x) {
  if (!is_complex(x->dtype)) return x;
  using loop::op;
  return op(Prim::Complex, {op(Prim::Real, {x}), op(Prim::Neg, {op(Prim::Imag, {x})})});
}
// f32 for narrow floats, the type itself otherwise.
inline DType wide_type(DType t) { return is_float(t) && t != DType::F64 ? DType::F32 : t; }

}  // namespace tenfold
