// See _check.h.
#include "ops/_check.h"

#include <algorithm>

namespace tenfold::ops {

bool in_set(DType t, TypeSet s) {
  const TypeSet c = t == DType::Bool ? kBool
                    : is_signed(t)   ? kSInt
                    : is_unsigned(t) ? kUInt
                    : is_complex(t)  ? kComplex
                                     : kFloat;
  return (c & s) != 0;
}

std::string describe(TypeSet s) {
  std::vector<std::string> names;
  if (s & kBool) names.push_back("boolean");
  if ((s & kInt) == kInt) {
    names.push_back("integer");
  } else {
    if (s & kSInt) names.push_back("signed integer");
    if (s & kUInt) names.push_back("unsigned integer");
  }
  if (s & kFloat) names.push_back("floating-point");
  if (s & kComplex) names.push_back("complex");
  std::string r;
  for (size_t i = 0; i < names.size(); ++i) {
    r += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return r;
}

std::string str(const Shape& s) {
  std::string r = "[";
  for (size_t i = 0; i < s.size(); ++i) r += (i ? ", " : "") + s[i].str();
  return r + "]";
}
std::string str(const std::vector<int64_t>& s) { return str(to_shape(s)); }

bool may_equal(Diag& diag, const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!diag.equal(a[i], b[i])) return false;
  }
  return true;
}

Shape merge(const Shape& a, const Shape& b) {
  Shape r = a;
  for (size_t i = 0; i < r.size() && i < b.size(); ++i) {
    if (!r[i].is_const() && b[i].is_const()) r[i] = b[i];
  }
  return r;
}

bool check_type(const Op& op, int i, TypeSet s, Diag& diag) {
  const DType t = type(op, i).dtype;
  if (in_set(t, s)) return true;
  diag.fail(fmt::format("I{}", i + 1),
            fmt::format("operand {} has element type {}, wanted {}", i, name(t), describe(s)));
  return false;
}

bool check_dtypes(Diag& diag, std::string_view label, std::string_view what, DType a, DType b) {
  if (a == b) return true;
  diag.fail(label, fmt::format("element types of {} differ: {} and {}", what, name(a), name(b)));
  return false;
}

bool check_shapes(Diag& diag, std::string_view label, std::string_view what, const Shape& a,
                  const Shape& b) {
  if (may_equal(diag, a, b)) return true;
  diag.fail(label, fmt::format("shapes of {} differ: {} and {}", what, str(a), str(b)));
  return false;
}

bool check_range(Diag& diag, std::string_view label, std::string_view what,
                 const std::vector<int64_t>& v, int64_t bound) {
  for (int64_t x : v) {
    if (x >= 0 && x < bound) continue;
    diag.fail(label, fmt::format("{} holds {}, wanted values from 0 to {}", what, x, bound - 1));
    return false;
  }
  return true;
}

bool check_unique(Diag& diag, std::string_view label, std::string_view what,
                  const std::vector<int64_t>& v) {
  for (size_t i = 0; i < v.size(); ++i) {
    if (std::find(v.begin(), v.begin() + i, v[i]) == v.begin() + i) continue;
    diag.fail(label, fmt::format("{} holds {} twice", what, v[i]));
    return false;
  }
  return true;
}

bool check_size(Diag& diag, std::string_view label, std::string_view what, int64_t have,
                int64_t want) {
  if (have == want) return true;
  diag.fail(label, fmt::format("{} has {} values, wanted {}", what, have, want));
  return false;
}

std::vector<TensorType> stated_types(const Op& op) {
  std::vector<TensorType> r;
  for (int i = 0; i < op.num_results(); ++i) r.push_back(op.result(i)->type);
  return r;
}

std::vector<TensorType> check_result(const Op& op, Diag& diag, std::string_view label,
                                     const TensorType& want) {
  if (op.num_results() == 0) return {want};
  const TensorType& have = op.result()->type;
  if (have.dtype != want.dtype || !may_equal(diag, have.shape, want.shape)) {
    diag.fail(label, fmt::format("result is {}, wanted {}", have.str(), want.str()));
    return {want};
  }
  return {{want.dtype, merge(have.shape, want.shape)}};
}

namespace {

std::optional<std::vector<Dim>> shape_value(const Value* v, int depth) {
  using Dims = std::vector<Dim>;
  const Op* op = v->def();
  if (!op || depth == 0 || v->type.rank() > 1) return std::nullopt;
  if (!is_integer(v->type.dtype)) return std::nullopt;
  auto arg = [&](int i) { return shape_value(op->operand(i), depth - 1); };
  if (op->is("stablehlo.constant")) {
    const Literal& l = op->lit("value");
    if (l.size() > 64) return std::nullopt;
    Dims r;
    for (int64_t i = 0; i < l.size(); ++i) r.push_back(l.as_i64(i));
    return r;
  }
  if (op->is("tenfold.dims")) return op->dims("dims");
  if (op->is("stablehlo.get_dimension_size")) {
    return Dims{op->operand()->type.shape[op->i64("dimension")]};
  }
  if (op->is("stablehlo.convert") || op->is("stablehlo.reshape")) return arg(0);
  if (op->is("stablehlo.broadcast_in_dim")) {
    auto x = arg(0);
    if (!x || !v->type.is_static()) return std::nullopt;
    const int64_t n = v->type.rank() == 0 ? 1 : v->type.shape[0].value();
    if (static_cast<int64_t>(x->size()) == n) return x;
    if (x->size() != 1 || n > 64) return std::nullopt;
    return Dims(n, x->front());
  }
  if (op->is("stablehlo.concatenate")) {
    Dims r;
    for (int i = 0; i < op->num_operands(); ++i) {
      auto x = arg(i);
      if (!x) return std::nullopt;
      r.insert(r.end(), x->begin(), x->end());
    }
    return r;
  }
  if (op->is("stablehlo.slice")) {
    auto x = arg(0);
    const Dim &s = op->dims("start_indices")[0], &e = op->dims("limit_indices")[0];
    if (!x || !s.is_const() || !e.is_const()) return std::nullopt;
    Dims r;
    const auto n = static_cast<int64_t>(x->size());
    for (int64_t i = s.value(); i >= 0 && i < e.value() && i < n; i += op->i64s("strides")[0]) {
      r.push_back((*x)[i]);
    }
    return r;
  }
  if (op->num_operands() == 2 && op->def->prim) {
    auto a = arg(0), b = a ? arg(1) : std::nullopt;
    if (!a || !b || a->size() != b->size()) return std::nullopt;
    Dims r;
    for (size_t i = 0; i < a->size(); ++i) {
      const Dim &x = (*a)[i], &y = (*b)[i];
      switch (*op->def->prim) {
        case Prim::Add:
          r.push_back(x + y);
          break;
        case Prim::Sub:
          r.push_back(x - y);
          break;
        case Prim::Mul:
          r.push_back(x * y);
          break;
        case Prim::Max:
          r.push_back(max(x, y));
          break;
        case Prim::Min:
          r.push_back(min(x, y));
          break;
        default:
          return std::nullopt;
      }
    }
    return r;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Dim>> shape_value(const Value* v) { return shape_value(v, 32); }

std::optional<std::vector<Dim>> known_shape(const Op& op, int operand, Diag& diag) {
  auto r = shape_value(op.operand(operand));
  if (!r) {
    diag.fail("dynamic", fmt::format("operand {} must be computed from constants and dimension "
                                     "sizes only; read a run-time size with tenfold.bind_symbol",
                                     operand));
  }
  return r;
}

std::vector<loop::Expr> dims_of(EmitContext& ctx, const Shape& s) {
  std::vector<loop::Expr> r;
  for (const Dim& d : s) r.push_back(ctx.dim(d));
  return r;
}

loop::Expr const_expr(const Literal& l, int64_t i) {
  const DType t = l.dtype();
  if (is_complex(t)) {
    const auto c = l.as_c128(i);
    return loop::complex_const(c.real(), c.imag(), t);
  }
  if (is_float(t)) return loop::float_const(l.as_f64(i), t);
  if (t == DType::Bool) return loop::bool_const(l.as_i64(i) != 0);
  return loop::int_const(l.as_i64(i), t);
}

Status same_dims(const EvalContext& ctx, std::string_view what, const std::vector<int64_t>& a,
                 const std::vector<int64_t>& b) {
  if (a == b) return ok_status();
  return ctx.error("shape-mismatch",
                   fmt::format("shapes of {} differ at run time: {} and {}", what, str(a), str(b)));
}

}  // namespace tenfold::ops
