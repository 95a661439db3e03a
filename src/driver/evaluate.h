// Models on the graph evaluator, by the names of their inputs and outputs.
#pragma once

#include <set>
#include <vector>

#include "driver/session.h"

namespace tenfold {

// Inputs by name, or all without names in the model's order.
Result<std::vector<NamedLiteral>> evaluate_named(const ModelSource& source, CompileOptions options,
                                                 const std::vector<NamedLiteral>& inputs);

// What inputs at hand say about a model that leaves things open: lengths of sequences, which
// defaults are replaced. Used by Session::open too.
void learn_from(CompileOptions& options, const std::vector<NamedLiteral>& given);
// Loads a model; what it must know of its inputs and does not say is taken from `given` and noted
// in `options`: ranks, values of inputs that steer it, and sizes of inputs, those by name in
// `fixed`.
Result<std::unique_ptr<Module>> load_with(const ModelSource& source, CompileOptions& options,
                                          const std::vector<NamedLiteral>& given,
                                          std::set<std::string>* fixed = nullptr);

}  // namespace tenfold
