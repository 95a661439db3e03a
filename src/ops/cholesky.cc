// stablehlo.cholesky: a = l * l^H for batches of positive definite matrices.
#include <complex>

#include "ops/attr_util.h"
#include "ops/complex_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& a = op.operand()->type;
  if (!is_float(a.dtype) && !is_complex(a.dtype))
    diag.fail("C1", "wanted floats or complex numbers, found " + a.str());
  if (a.rank() < 2)
    diag.fail("C2", "wanted a matrix, found " + a.str());
  else if (!diag.equal(a.shape[a.rank() - 2], a.shape[a.rank() - 1]))
    diag.fail("C3", "wanted square matrices, found " + a.str());
  return {a};
}

// Column by column with updates of the trailing matrix, in double.
Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& a = c.args[0];
  const bool lower = c.op->flag("lower");
  Literal out(a.dtype(), a.dims());
  if (out.size() == 0) return std::vector<Literal>{out};
  const int64_t n = a.dims().back();
  const bool complex = is_complex(a.dtype());
  std::vector<std::complex<double>> m(static_cast<size_t>(n * n));
  for (int64_t base = 0; base < a.size(); base += n * n) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        m[i * n + j] = lower ? a.as_c128(base + i * n + j) : std::conj(a.as_c128(base + j * n + i));
    for (int64_t k = 0; k < n; ++k) {
      const double root = std::sqrt(m[k * n + k].real());
      m[k * n + k] = root;
      for (int64_t i = k + 1; i < n; ++i) m[i * n + k] /= root;
      for (int64_t j = k + 1; j < n; ++j)
        for (int64_t i = j; i < n; ++i) m[i * n + j] -= m[i * n + k] * std::conj(m[j * n + k]);
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t at = base + (lower ? i * n + j : j * n + i);
        const std::complex<double> v = lower ? m[i * n + j] : std::conj(m[i * n + j]);
        if (complex)
          out.set_c128(at, v);
        else
          out.set_f64(at, v.real());
      }
  }
  return std::vector<Literal>{out};
}

// Row by row, each element one dot product of finished rows; the factor is kept in the result.
Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const TensorType& type = c.op->operand()->type;
  const bool lower = c.op->flag("lower");
  const DType t = type.dtype, acc_type = wide_type(t);
  const Buffer out = c.result_buffer(0);
  std::vector<Expr> batch;
  for (int d = 0; d < type.rank() - 2; ++d) batch.push_back(c.dim(type.shape[d]));
  const Expr n = c.dim(type.shape.back());
  for_rows(b, batch, [&](const std::vector<Expr>& row) {
    const auto at = [&](const Expr& i, const Expr& j) {
      std::vector<Expr> index = row;
      index.push_back(lower ? i : j);
      index.push_back(lower ? j : i);
      return index;
    };
    // Element (i, j) of the lower factor.
    const auto factor = [&](const Expr& i, const Expr& j) {
      const Expr v = cast(load(out, at(i, j)), acc_type);
      return lower ? v : conjugate(v);
    };
    b.for_("i", n, [&](Expr i) {
      b.for_("j", i + 1, [&](Expr j) {
        const Expr x = cast(c.operand(0, at(i, j)), acc_type);
        const Buffer rest = b.cell("rest", lower ? x : conjugate(x));
        b.for_("k", j, [&](Expr k) {
          const Expr product = loop::op(Prim::Mul, {factor(i, k), conjugate(factor(j, k))});
          b.set(rest, loop::op(Prim::Sub, {b.get(rest), product}));
        });
        b.if_(
            eq(i, j),
            [&] {
              Expr v = b.get(rest);
              if (is_complex(t)) {
                const Expr root = loop::op(Prim::Sqrt, {loop::op(Prim::Real, {v})});
                v = loop::op(Prim::Complex, {root, zero(root->dtype)});
              } else {
                v = loop::op(Prim::Sqrt, {v});
              }
              b.store(out, at(i, j), cast(v, t));
            },
            [&] {
              const Expr v = loop::op(Prim::Div, {b.get(rest), factor(j, j)});
              b.store(out, at(i, j), cast(lower ? v : conjugate(v), t));
            });
      });
      b.for_range("j", i + 1, n - i - 1, [&](Expr j) { b.store(out, at(i, j), zero(t)); });
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_cholesky;
const OpDef op_cholesky = {
    .name = "stablehlo.cholesky",
    .summary = "Cholesky decomposition of a batch of matrices",
    .doc =
        "Reads the lower (or upper) triangle and returns the lower (upper) factor with zeros in "
        "the other triangle. A matrix that is not positive definite gives NaN from the first "
        "element that cannot be computed on.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"lower", AttrKind::Bool, false, "default false"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3"},
};

}  // namespace tenfold
