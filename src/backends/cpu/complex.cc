// Primitives on complex numbers. Add, Sub, Mul, Neg are the plain formulas, one IEEE operation each.
#include "backends/cpu/complex.h"

namespace tenfold::cpu {

Val complex_prim(Gen& g, Prim p, DType, const std::vector<Val>& args) {
  std::vector<Val> a = args;
  for (size_t i = 0; i + 1 < a.size(); ++i) {
    g.unify(a[i].re, a[i + 1].re);
    g.unify(a[i].im, a[i + 1].im);
  }
  const V x = a[0].re, y = a[0].im;
  V u, v;
  if (a.size() > 1) {
    u = a[1].re;
    v = a[1].im;
  }
  switch (p) {
    case Prim::Real: return Val(x);
    case Prim::Imag: return Val(y);
    case Prim::Neg: return {-x, -y};
    case Prim::Add: return {x + u, y + v};
    case Prim::Sub: return {x - u, y - v};
    case Prim::Mul: return {x * u - y * v, x * v + y * u};
    case Prim::Fma: return {x * u - y * v + a[2].re, x * v + y * u + a[2].im};
    case Prim::Eq: return Val(eq(x, u) & eq(y, v));
    case Prim::Ne: return Val(ne(x, u) | ne(y, v));
    default: break;
  }
  TF_CHECK(false, "complex primitive " + std::string(name(p)));
}

}  // namespace tenfold::cpu
