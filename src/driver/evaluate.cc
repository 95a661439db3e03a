#include "driver/evaluate.h"

#include <algorithm>

#include "base/text.h"
#include "graph/evaluator.h"

namespace tenfold {

void learn_from(CompileOptions& options, const std::vector<NamedLiteral>& given) {
  for (const auto& g : given) {
    if (g.name.empty()) continue;
    options.override_defaults.push_back(g.name);
    // NAME.3 is an item of a sequence, or a name like any other; the importer asks by NAME.
    size_t dot = g.name.rfind('.');
    if (dot == std::string::npos || dot + 1 == g.name.size()) continue;
    std::string index = g.name.substr(dot + 1);
    if (!std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; }) ||
        index.size() > 6)
      continue;
    int64_t& n = options.sequence_lengths[g.name.substr(0, dot)];
    n = std::max<int64_t>(n, std::stoll(index) + 1);
  }
}

Result<std::unique_ptr<Module>> load_with(const ModelSource& source, CompileOptions& options,
                                          const std::vector<NamedLiteral>& given,
                                          std::set<std::string>* fixed) {
  learn_from(options, given);
  ModelNeeds needs;
  auto first = source.load(options, &needs);
  if (first.ok() || given.empty()) return first;
  const Errors* errors = &first.errors();
  auto says = [&](std::string_view id) {
    return std::any_of(errors->begin(), errors->end(), [&](const Error& e) { return e.id == id; });
  };
  CompileOptions with = options;
  std::set<std::string> sizes;
  // Each round fixes what the last one asked for and the inputs tell; later nodes may ask for more.
  Result<std::unique_ptr<Module>> module = Errors{};
  for (int round = 0; round < 8; ++round) {
    bool learnt = false, rank = says("onnx-unknown-rank"), shape = says("onnx-needs-shape");
    for (const auto& g : given) {
      if (g.name.empty()) continue;
      if (needs.values.count(g.name) && !with.values.count(g.name)) {
        Literal own = g.value;
        own.mutable_bytes();  // what is given may be borrowed for this call only
        with.values.emplace(g.name, std::move(own));
        learnt = true;
      }
      if (rank)
        learnt |= with.shapes.try_emplace(g.name, g.value.dims().size(), -1).second;
      else if (shape && needs.shapes.count(g.name))
        learnt |= sizes.insert(g.name).second;
      if (sizes.count(g.name)) with.shapes[g.name] = g.value.dims();
    }
    if (!learnt) break;
    ModelNeeds next;
    module = source.load(with, &next);
    if (module.ok()) {
      options = std::move(with);
      if (fixed) *fixed = std::move(sizes);
      return module;
    }
    errors = &module.errors();
    needs = std::move(next);
  }
  return first;
}

Result<std::vector<NamedLiteral>> evaluate_named(const ModelSource& source, CompileOptions options,
                                                 const std::vector<NamedLiteral>& inputs) {
  TF_ASSIGN(auto module, load_with(source, options, inputs));
  const Function& f = *module->main();
  std::vector<std::string> names;
  for (auto& a : f.body.args) names.push_back(a->name);
  bool by_place = std::all_of(inputs.begin(), inputs.end(),
                              [](const NamedLiteral& n) { return n.name.empty(); });
  std::vector<Literal> args;
  if (by_place && !inputs.empty()) {
    if (inputs.size() != names.size())
      return Error{"input-count",
                   "the model takes " + std::to_string(names.size()) + " inputs, got " +
                       std::to_string(inputs.size()),
                   {source.path},
                   {}};
    for (const auto& i : inputs) args.push_back(i.value);
  } else {
    TF_ASSIGN(args, order_by_name(inputs, names, source.path));
  }
  TF_ASSIGN(std::vector<Literal> outputs, evaluate(*module, f, args));
  std::vector<NamedLiteral> named;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string name = i < f.result_names.size() ? f.result_names[i] : "";
    if (name.empty()) name = "result" + std::to_string(i);
    named.push_back({std::move(name), std::move(outputs[i])});
  }
  return named;
}

Result<std::vector<Literal>> order_by_name(const std::vector<NamedLiteral>& given,
                                           const std::vector<std::string>& names,
                                           const std::string& where) {
  Errors errors;
  auto fail = [&](std::string id, std::string message) {
    errors.push_back({std::move(id), std::move(message), {where}, {}});
  };
  std::vector<Literal> ordered(names.size());
  std::vector<bool> have(names.size());
  for (const auto& g : given) {
    auto it = std::find(names.begin(), names.end(), g.name);
    if (it == names.end()) {
      std::string near = nearest(g.name, names);
      fail("unknown-input",
           "found a value for input `" + g.name + "`, the model has " +
               (names.empty() ? "no inputs" : "the inputs " + join(names, ", ")) +
               (near.empty() ? "; leave it out" : "; did you mean `" + near + "`?"));
      continue;
    }
    size_t i = static_cast<size_t>(it - names.begin());
    if (have[i]) fail("repeated-input", "found two values for input `" + g.name + "`; give one");
    have[i] = true;
    ordered[i] = g.value;
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (!have[i]) fail("missing-input", "found no value for input `" + names[i] + "`; give one");
  if (!errors.empty()) return errors;
  return ordered;
}

}  // namespace tenfold
