// Forward error analysis: what rounding may do to each value of a graph (see random_graph.h). The
// bounds are loose by small factors and tight enough that a wrong element stands out.
#include <algorithm>
#include <cmath>

#include "graph/evaluator.h"
#include "graph/op_def.h"
#include "random_graph.h"

namespace tenfold::testing {
namespace {

double epsilon(DType t) {
  switch (real_of(t)) {
    case DType::F64:
      return 0x1p-52;
    case DType::F32:
      return 0x1p-23;
    case DType::F16:
      return 0x1p-10;
    case DType::BF16:
      return 0x1p-7;
    default:
      return is_float(t) ? 0.5 : 0;
  }
}

struct Sizes {
  std::vector<int64_t> result;
  std::vector<std::vector<int64_t>> operands;
};

class Analysis {
 public:
  explicit Analysis(std::unordered_map<const Value*, Literal>& values) : values_(values) {}
  std::unordered_map<const Value*, Bound> bounds;

  Bound& seen(const Value* v) {
    Bound& b = bounds[v];
    const Literal& l = values_.at(v);
    b.least = INFINITY;
    for (int64_t i = 0; i < l.size(); ++i) {
      const double m = is_complex(l.dtype()) ? std::abs(l.as_c128(i))
                       : is_float(l.dtype()) ? std::abs(l.as_f64(i))
                                             : std::abs(static_cast<double>(l.as_i64(i)));
      if (!std::isfinite(m)) continue;
      b.peak = std::max(b.peak, m);
      b.least = std::min(b.least, m);
    }
    return b;
  }

  void visit(const Op& op) {
    if (op.def->kind == OpKind::Terminator) return;
    for (int r = 0; r < op.num_results(); ++r) {
      const Value* v = op.result(r);
      const DType t = v->type.dtype;
      std::vector<Bound> in;
      for (const Value* o : op.operands()) in.push_back(bounds.at(o));
      Bound& b = seen(v);
      for (const Bound& i : in) {
        b.exact &= i.exact;
        b.elementwise &= i.elementwise;
        b.error = std::max(b.error, i.error);
      }
      if (!is_float(t) && !is_complex(t)) continue;
      const double eps = epsilon(t);
      if (op.def->prim) {
        elementwise(*op.def->prim, in, b, eps);
      } else {
        structured(op, in, b, eps);
      }
      if (!b.exact && b.error < 2 * eps * b.peak) b.error = 2 * eps * b.peak;
    }
  }

 private:
  static void elementwise(Prim p, const std::vector<Bound>& in, Bound& b, double eps) {
    const bool fresh = !exact_prim(p);
    if (fresh) b.exact = false;
    if (b.exact) return;
    const double e0 = in[0].error, e1 = in.size() > 1 ? in[1].error : 0;
    switch (p) {
      case Prim::Add:
      case Prim::Sub:
        b.error = e0 + e1;
        break;
      case Prim::Mul:
        b.error = e0 * in[1].peak + e1 * in[0].peak + e0 * e1;
        break;
      case Prim::Div: {
        const double least = in[1].least - e1;
        b.error = least > 0 ? e0 / least + in[0].peak * e1 / (least * least) : INFINITY;
        if (e1 == 0 && e0 == 0) b.error = 0;
        break;
      }
      case Prim::Exp:
      case Prim::Expm1:
        b.error = e0 == 0 ? 0 : (b.peak + 1) * std::expm1(e0);
        break;
      case Prim::Sinh:
      case Prim::Cosh:
        b.error = e0 == 0 ? 0 : (b.peak + 1) * 2 * std::expm1(e0);
        break;
      case Prim::Sqrt:
      case Prim::Rsqrt:
      case Prim::Log:
      case Prim::Log1p:
      case Prim::Cbrt:
      case Prim::Asin:
      case Prim::Acos: {
        const double least = in[0].least - e0;
        if (e0 == 0) {
          b.error = 0;
        } else if (!(least > 0) || p == Prim::Asin || p == Prim::Acos || p == Prim::Log1p) {
          b.error = INFINITY;
        } else if (p == Prim::Rsqrt) {
          b.error = e0 / (least * std::sqrt(least));
        } else {
          b.error = e0 / std::min(least, std::sqrt(least));
        }
        break;
      }
      default:
        b.error = 2 * std::max(e0, e1);
    }
    b.error += (fresh ? 8 : 1) * eps * b.peak;
  }

  void structured(const Op& op, const std::vector<Bound>& in, Bound& b, double eps) {
    const auto& name = op.name();
    const auto size = [&](int i) {
      return static_cast<double>(std::max<int64_t>(values_.at(op.operand(i)).size(), 1));
    };
    const double out = static_cast<double>(std::max<int64_t>(values_.at(op.result()).size(), 1));
    const auto loose = [&] { b.exact = b.elementwise = false; };
    const auto sum = [&](double n) {
      loose();
      b.error = n * b.error + eps * n * n * std::max(in[0].peak, in.back().peak);
    };
    if (name == "stablehlo.dot_general" || name == "stablehlo.convolution") {
      loose();
      double k = 1;
      if (name == "stablehlo.dot_general") {
        for (int64_t d : op.i64s("lhs_contracting_dimensions")) {
          k *= static_cast<double>(values_.at(op.operand(0)).dims()[d]);
        }
      } else {
        const auto& d = values_.at(op.operand(1)).dims();
        k = size(1) /
            static_cast<double>(std::max<int64_t>(1, d[op.i64("kernel_output_feature_dimension")]));
      }
      b.error = k * (in[0].error * in[1].peak + in[1].error * in[0].peak) +
                eps * (k + 2) * k * in[0].peak * in[1].peak;
    } else if (name == "stablehlo.reduce" || name == "stablehlo.reduce_window" ||
               name == "tenfold.cumulative") {
      bool adds = name == "tenfold.cumulative" && op.str("prim") == "add";
      for (int r = 0; r < op.num_regions(); ++r) {
        walk(*op.region(r), [&](const Op* o) { adds |= o->is("stablehlo.add"); });
      }
      double n = name == "tenfold.cumulative"
                     ? static_cast<double>(values_.at(op.operand(0)).dims()[op.i64("axis")])
                     : size(0) / out + 2;
      if (name == "stablehlo.reduce_window") n = 82;
      if (adds) sum(n);
    } else if (name == "tenfold.softmax") {
      loose();
      b.error = 2 * in[0].error + 32 * eps * (b.peak + in[0].peak + 1);
    } else if (name == "tenfold.layer_norm" || name == "tenfold.rms_norm") {
      loose();
      const double scale = in.size() > 1 ? std::max(1.0, in[1].peak) : 1;
      b.error = 16 * in[0].error * scale * (1 + in[0].peak) +
                64 * eps * (scale * (in[0].peak + 1) * (in[0].peak + 1) + b.peak);
    } else if (op.is("stablehlo.convert")) {
      if (!b.exact) b.error += eps * b.peak;
    } else if (op.def->kind != OpKind::View && op.def->kind != OpKind::Constant &&
               op.def->kind != OpKind::Sort && op.def->kind != OpKind::GatherScatter &&
               op.def->kind != OpKind::Region) {
      loose();
      b.error += 1024 * eps * std::max(b.peak, in.empty() ? 0 : in[0].peak);
    }
  }

  std::unordered_map<const Value*, Literal>& values_;
};

}  // namespace

bool exact_prim(Prim p) {
  switch (p) {
    case Prim::Neg:
    case Prim::Abs:
    case Prim::Sign:
    case Prim::Not:
    case Prim::Floor:
    case Prim::Ceil:
    case Prim::RoundEven:
    case Prim::RoundAfz:
    case Prim::Sqrt:
    case Prim::IsFinite:
    case Prim::IsNan:
    case Prim::IsInf:
    case Prim::Popcnt:
    case Prim::Clz:
      return true;
    default:
      return arity(p) > 1 && p != Prim::Pow && p != Prim::Atan2;
  }
}

Result<Reference> reference(const Module& m, const std::vector<Literal>& args) {
  std::unordered_map<const Value*, Literal> values;
  EvalOptions options;
  options.observe = [&](const Value& v, const Literal& l) { values[&v] = l; };
  options.max_while_iterations = 1000;
  Reference r;
  const Function& f = *m.main();
  TF_ASSIGN(r.results, evaluate(m, f, args, options));
  for (size_t i = 0; i < args.size(); ++i) values[f.body.args[i].get()] = args[i];
  Analysis a(values);
  for (const auto& v : f.body.args) a.seen(v.get());
  for (const auto& op : f.body.ops) a.visit(*op);
  for (const Value* v : f.body.results()) r.bounds.push_back(a.bounds.at(v));
  return r;
}

std::string difference(const Literal& got, const Literal& want, double error) {
  if (got.type() != want.type()) return got.type().str() + " instead of " + want.type().str();
  if (got.same(want)) return "";
  if (error > 0) {
    bool ok = true;
    for (int64_t i = 0; i < want.size() && ok; ++i) {
      if (is_complex(want.dtype())) {
        ok = !(std::abs(got.as_c128(i) - want.as_c128(i)) > error);
        continue;
      }
      const double x = got.as_f64(i), y = want.as_f64(i);
      ok = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= error;
    }
    if (ok) return "";
  }
  const Difference d = compare(got, want, 0, error);
  return std::to_string(d.mismatches) + " of " + std::to_string(want.size()) +
         " elements differ, the first at " + std::to_string(d.first) + ", by up to " +
         std::to_string(d.max_abs) + " (allowed " + std::to_string(error) + ")\n  got  " +
         got.str(24) + "\n  want " + want.str(24);
}

}  // namespace tenfold::testing
