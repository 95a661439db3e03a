#include "driver/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "graph/evaluator.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool matches(const Literal& a, const Literal& b) {
  return relative_error(a, b) <= allowed_error(b.dtype());
}

// Values of the main function's own block that a compiled program can give as outputs.
std::vector<Value*> candidates(const Function& f) {
  std::vector<Value*> all;
  for (auto& op : f.body.ops) {
    if (op->def->kind == OpKind::Terminator || op->def->kind == OpKind::Constant) continue;
    for (int i = 0; i < op->num_results(); ++i) all.push_back(op->result(i));
  }
  return all;
}

void set_outputs(Function& f, const std::vector<Value*>& values) {
  f.body.terminator()->set_operands(values);
  f.result_names.clear();
  for (size_t i = 0; i < values.size(); ++i) f.result_names.push_back("v" + std::to_string(i));
}

std::string place(const Value& v) {
  const Op* op = v.def();
  std::string s = op->loc.text;
  if (!op->origins.empty() && s.find(op->origins[0]) == std::string::npos)
    s += (s.empty() ? "" : ":") + op->origins[0];
  return s.empty() ? op->name() : s;
}

std::string found(const Value& v, const Literal& got, const Literal& want) {
  double e = relative_error(got, want);
  std::string s = v.def()->name() + " gives " + got.str(8) + ", wanted " + want.str(8);
  if (std::isfinite(e)) s += "; relative error " + std::to_string(e);
  return s;
}

// Compiles the model with the chosen values as its outputs and runs it.
Result<std::vector<Literal>> run_with_outputs(const Module& m, const std::vector<size_t>& which,
                                              const SessionOptions& options,
                                              const std::vector<Literal>& inputs) {
  auto copy = m.clone();
  std::vector<Value*> all = candidates(*copy->main()), chosen;
  for (size_t i : which) chosen.push_back(all[i]);
  set_outputs(*copy->main(), chosen);
  SessionOptions o = options;
  o.per_shape = false;
  TF_ASSIGN(auto session, Session::from_module(*copy, o));
  return session->run(inputs);
}

}  // namespace

double allowed_error(DType t) {
  switch (t) {
    case DType::F32:
    case DType::F64:
    case DType::C64:
    case DType::C128:
      return 1e-4;
    case DType::F16:
      return 0x1p-10;
    case DType::BF16:
      return 0x1p-7;
    case DType::F8E8M0FNU:
      return 1;
    default:
      return is_float(t) ? std::ldexp(1.0, -format_of(t).man_bits) : 0;
  }
}

double relative_error(const Literal& a, const Literal& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return kInf;
  if (!is_float(b.dtype()) && !is_complex(b.dtype())) return a.same(b) ? 0 : kInf;
  double difference = 0, peak = 0;
  auto pair = [&](double x, double y) {
    if (std::isnan(x) != std::isnan(y)) return false;
    if (std::isinf(x) || std::isinf(y)) return x == y || std::isnan(x);
    if (std::isnan(x)) return true;
    difference = std::max(difference, std::abs(x - y));
    peak = std::max(peak, std::abs(y));
    return true;
  };
  for (int64_t i = 0; i < b.size(); ++i) {
    if (is_complex(b.dtype())) {
      auto x = a.as_c128(i), y = b.as_c128(i);
      if (!pair(x.real(), y.real()) || !pair(x.imag(), y.imag())) return kInf;
    } else if (!pair(a.as_f64(i), b.as_f64(i))) {
      return kInf;
    }
  }
  if (difference == 0) return 0;
  return peak > 0 ? difference / peak : kInf;
}

Result<std::vector<Literal>> evaluate_model(const ModelSource& source,
                                            const CompileOptions& options,
                                            const std::vector<Literal>& inputs) {
  TF_ASSIGN(auto module, source.load(options));
  return evaluate(*module, *module->main(), inputs);
}

Result<VerifyReport> verify_outputs(const Session& session, const std::vector<Literal>& inputs,
                                    const std::vector<Literal>& outputs) {
  if (!session.compiled()) {
    return Error{"verify-needs-model",
                 "found a compiled model, --verify wants the one it was made from",
                 {session.name()},
                 {}};
  }
  TF_ASSIGN(auto module, session.source().load(session.options().compile));
  Function& f = *module->main();
  TF_ASSIGN(std::vector<Literal> wanted, evaluate(*module, f, inputs));
  VerifyReport report;
  for (size_t i = 0; i < wanted.size(); ++i) {
    VerifyReport::Output o{session.outputs()[i].name, relative_error(outputs[i], wanted[i]), true};
    o.ok = o.error <= allowed_error(wanted[i].dtype());
    report.ok = report.ok && o.ok;
    report.outputs.push_back(std::move(o));
  }
  if (report.ok) return report;

  // First everything at once: one compilation, and mostly the answer.
  std::vector<Value*> values = candidates(f);
  std::unordered_map<const Value*, Literal> truth;
  EvalOptions watch;
  watch.observe = [&](const Value& v, const Literal& l) {
    if (v.def() && v.def()->parent() == &f.body) truth[&v] = l;
  };
  TF_ASSIGN(wanted, evaluate(*module, f, inputs, watch));
  std::vector<size_t> all(values.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  auto say = [&](size_t i, const Literal& got) {
    report.node = place(*values[i]);
    report.detail = found(*values[i], got, truth.at(values[i]));
  };
  auto got = run_with_outputs(*module, all, session.options(), inputs);
  if (got.ok()) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (!truth.count(values[i]) || matches((*got)[i], truth.at(values[i]))) continue;
      say(i, (*got)[i]);
      return report;
    }
  }
  // Giving every value out changed what is fused, and the difference went away: look for the
  // shortest beginning of the model that shows it.
  size_t low = 0, high = values.size();
  while (low < high) {
    size_t middle = (low + high) / 2;
    auto one = run_with_outputs(*module, {middle}, session.options(), inputs);
    if (!one.ok() || !truth.count(values[middle]) || matches((*one)[0], truth.at(values[middle]))) {
      low = middle + 1;
      continue;
    }
    say(middle, (*one)[0]);
    high = middle;
  }
  if (report.node.empty())
    report.detail = "the difference shows in the whole model only; try --bisect";
  return report;
}

Result<BisectReport> bisect_passes(const Session& session, const std::vector<Literal>& inputs) {
  if (!session.compiled()) {
    return Error{"verify-needs-model",
                 "found a compiled model, --bisect wants the one it was made from",
                 {session.name()},
                 {}};
  }
  TF_ASSIGN(auto wanted, evaluate_model(session.source(), session.options().compile, inputs));
  BisectReport report;
  int level = session.options().compile.pipeline.opt_level;
  auto wrong = [&](int passes, int lowering) -> Result<bool> {
    ++report.tried;
    SessionOptions o = session.options();
    o.per_shape = false;
    o.compile.pipeline.max_passes = passes;
    o.compile.lower_level = lowering;
    TF_ASSIGN(auto module, session.source().load(o.compile));
    TF_ASSIGN(auto s, Session::from_module(*module, o));
    TF_ASSIGN(auto got, s->run(inputs));
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!matches(got[i], wanted[i])) return true;
    return false;
  };
  TF_ASSIGN(bool any, wrong(-1, -1));
  if (!any) return report;
  report.differs = true;
  TF_ASSIGN(bool without_passes, wrong(0, -1));
  if (without_passes) {
    for (int l = 0; l <= level; ++l) {
      TF_ASSIGN(bool bad, wrong(0, l));
      if (!bad) continue;
      static const char* const what[] = {"plain code, without fusion", "fusion", "schedules",
                                         "schedules"};
      report.culprit =
          "lowering at -O" + std::to_string(l) + " (" + what[std::clamp(l, 0, 3)] + ")";
      return report;
    }
    report.culprit = "lowering";
    return report;
  }
  int low = 1, high = static_cast<int>(session.compiled()->report.passes.size());
  while (low < high) {
    int middle = (low + high) / 2;
    TF_ASSIGN(bool bad, wrong(middle, -1));
    if (bad)
      high = middle;
    else
      low = middle + 1;
  }
  report.passes = low;
  if (low > 0 && static_cast<size_t>(low) <= session.compiled()->report.passes.size())
    report.culprit = session.compiled()->report.passes[static_cast<size_t>(low) - 1].name;
  return report;
}

}  // namespace tenfold
