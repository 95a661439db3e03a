// Models on the graph evaluator, by the names of their inputs and outputs.
#pragma once

#include <vector>

#include "driver/session.h"

namespace tenfold {

// Inputs by name, or all without names in the model's order.
Result<std::vector<NamedLiteral>> evaluate_named(const ModelSource& source, CompileOptions options,
                                                 const std::vector<NamedLiteral>& inputs);

// What inputs at hand say about a model that leaves things open: lengths of sequences, which
// defaults are replaced. Used by Session::open too.
void learn_from(CompileOptions& options, const std::vector<NamedLiteral>& given);
// Loads a model; where it states no rank, with the inputs'; where it cannot be compiled for all
// sizes, for the inputs' sizes alone, which sets `fixed` and options.shapes.
Result<std::unique_ptr<Module>> load_with(const ModelSource& source, CompileOptions& options,
                                          const std::vector<NamedLiteral>& given,
                                          bool* fixed = nullptr);

}  // namespace tenfold
