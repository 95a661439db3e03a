// stablehlo.triangular_solve: linear systems with triangular coefficients.
#include <complex>

#include "ops/attr_util.h"
#include "ops/complex_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

// Everything is solved as m * x = b with one vector of b at a time. m(i, k) is a(k, i) when
// `swapped`; `lower` is the triangle of m.
struct System {
  bool left, unit, swapped, conjugated, lower;
};
System read(const Op& op) {
  System s;
  s.left = op.flag("left_side");
  s.unit = op.flag("unit_diagonal");
  const std::string t = str_or(op, "transpose_a", "NO_TRANSPOSE");
  s.swapped = (t != "NO_TRANSPOSE") == s.left;
  s.conjugated = t == "ADJOINT";
  s.lower = op.flag("lower") != s.swapped;
  return s;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &a = op.operand(0)->type, &b = op.operand(1)->type;
  if (a.dtype != b.dtype || (!is_float(a.dtype) && !is_complex(a.dtype)))
    diag.fail("C1", "wanted two operands of one float or complex type, found " + a.str() + " and " +
                        b.str());
  const int r = a.rank();
  if (r < 2 || b.rank() != r) {
    diag.fail("C2", "wanted matrices of one rank, found " + a.str() + " and " + b.str());
    return {b};
  }
  for (int d = 0; d < r - 2; ++d)
    if (!diag.equal(a.shape[d], b.shape[d]))
      diag.fail("C3", "batch dimension " + std::to_string(d) + " differs: " + a.str() + " and " +
                          b.str());
  const Dim& n = b.shape[op.flag("left_side") ? r - 2 : r - 1];
  if (!diag.equal(a.shape[r - 2], a.shape[r - 1]) || !diag.equal(a.shape[r - 1], n))
    diag.fail("C3", "wanted square coefficients that fit b, found " + a.str() + " and " + b.str());
  const std::string t = str_or(op, "transpose_a", "NO_TRANSPOSE");
  if (t != "NO_TRANSPOSE" && t != "TRANSPOSE" && t != "ADJOINT")
    diag.fail("I6", "transpose_a is " + t + ", wanted NO_TRANSPOSE, TRANSPOSE or ADJOINT");
  return {b};
}

// By elimination: a solved unknown is subtracted from all that remain.
Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal &a = c.args[0], &b = c.args[1];
  const System s = read(*c.op);
  Literal out(b.dtype(), b.dims());
  if (out.size() == 0) return std::vector<Literal>{out};
  const int r = b.rank();
  const int64_t n = a.dims().back();
  const int64_t rows = b.dims()[r - 2], columns = b.dims()[r - 1];
  const int64_t vectors = s.left ? columns : rows;
  const bool complex = is_complex(b.dtype());
  std::vector<std::complex<double>> x(static_cast<size_t>(n));
  for (int64_t batch = 0; batch < b.size() / (rows * columns); ++batch) {
    const auto m = [&](int64_t i, int64_t k) {
      const auto v = a.as_c128(batch * n * n + (s.swapped ? k * n + i : i * n + k));
      return s.conjugated ? std::conj(v) : v;
    };
    for (int64_t v = 0; v < vectors; ++v) {
      const auto at = [&](int64_t i) {
        return batch * rows * columns + (s.left ? i * columns + v : v * columns + i);
      };
      for (int64_t i = 0; i < n; ++i) x[i] = b.as_c128(at(i));
      for (int64_t step = 0; step < n; ++step) {
        const int64_t i = s.lower ? step : n - 1 - step;
        if (!s.unit) x[i] /= m(i, i);
        for (int64_t k = s.lower ? i + 1 : 0; k < (s.lower ? n : i); ++k) x[k] -= m(k, i) * x[i];
      }
      for (int64_t i = 0; i < n; ++i) {
        if (complex)
          out.set_c128(at(i), x[i]);
        else
          out.set_f64(at(i), x[i].real());
      }
    }
  }
  return std::vector<Literal>{out};
}

// By substitution: each unknown is one dot product with those solved before it.
Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const System s = read(*c.op);
  const TensorType& type = c.op->result()->type;
  const DType t = type.dtype, acc_type = wide_type(t);
  const int r = type.rank();
  const Buffer out = c.result_buffer(0);
  std::vector<Expr> outer;
  for (int d = 0; d < r - 2; ++d) outer.push_back(c.dim(type.shape[d]));
  outer.push_back(c.dim(type.shape[s.left ? r - 1 : r - 2]));
  const Expr n = c.dim(c.op->operand(0)->type.shape.back());
  for_rows(b, outer, [&](const std::vector<Expr>& row) {
    const std::vector<Expr> batch(row.begin(), row.end() - 1);
    const auto at = [&](const Expr& i) {
      std::vector<Expr> index = batch;
      index.push_back(s.left ? i : row.back());
      index.push_back(s.left ? row.back() : i);
      return index;
    };
    const auto m = [&](const Expr& i, const Expr& k) {
      std::vector<Expr> index = batch;
      index.push_back(s.swapped ? k : i);
      index.push_back(s.swapped ? i : k);
      const Expr v = cast(c.operand(0, index), acc_type);
      return s.conjugated ? conjugate(v) : v;
    };
    b.for_("step", n, [&](Expr step) {
      const Expr i = s.lower ? step : n - 1 - step;
      const Buffer rest = b.cell("rest", cast(c.operand(1, at(i)), acc_type));
      b.for_("solved", step, [&](Expr solved) {
        const Expr k = s.lower ? solved : n - 1 - solved;
        const Expr product = loop::op(Prim::Mul, {m(i, k), cast(load(out, at(k)), acc_type)});
        b.set(rest, loop::op(Prim::Sub, {b.get(rest), product}));
      });
      Expr x = b.get(rest);
      if (!s.unit) x = loop::op(Prim::Div, {x, m(i, i)});
      b.store(out, at(i), cast(x, t));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_triangular_solve;
const OpDef op_triangular_solve = {
    .name = "stablehlo.triangular_solve",
    .summary = "Solves batches of triangular linear systems",
    .doc =
        "op(a) * x = b, or x * op(a) = b when left_side is false. Reads one triangle of a only, "
        "and not its diagonal when unit_diagonal.",
    .kind = OpKind::Opaque,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"left_side", AttrKind::Bool},
              {"lower", AttrKind::Bool},
              {"unit_diagonal", AttrKind::Bool},
              {"transpose_a", AttrKind::Enum, false, "NO_TRANSPOSE, TRANSPOSE or ADJOINT"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "I6"},
};

}  // namespace tenfold
