// Random valid modules of one op, for differential tests over the op table: shapes with sizes 0
// and 1 among them, element types, attributes, and fitting arguments.
#pragma once

#include <memory>
#include <optional>

#include "base/rng.h"
#include "graph/builder.h"

namespace tenfold {

struct SampleOptions {
  bool special_values = true;  // NaN, infinities, -0, extreme integers among the arguments
  int64_t max_dim = 9;
  int max_rank = 4;
  // Element types to draw from; empty: all that the op takes.
  std::vector<DType> dtypes = {};
};

struct OpSample {
  std::unique_ptr<Module> module;  // main: the arguments -> the op's results
  std::vector<Literal> args;
  Op* op = nullptr;
};

// The sample of a seed; the same on every machine. nullopt for ops that are not sampled: control
// flow, collectives, and those whose operands need a meaning that a random draw does not give.
std::optional<OpSample> sample_op(const OpDef& def, uint64_t seed,
                                  const SampleOptions& options = {});

// Random values of a type.
Literal sample_literal(Rng& rng, DType t, std::vector<int64_t> dims, bool special_values);

}  // namespace tenfold
