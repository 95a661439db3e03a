// Random graphs of many ops for differential tests, and what may differ between two ways to compute
// them.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "array/literal.h"
#include "array/prim.h"
#include "graph/ir.h"

namespace tenfold::testing {

struct RandomGraph {
  std::unique_ptr<Module> module;  // main takes `args`
  std::vector<Literal> args;
  bool symbolic = false;  // some argument has an open dimension
};

// The graph of a seed; the same on every machine.
RandomGraph random_graph(uint64_t seed);

// Computed to the same bits everywhere: no transcendental function.
bool exact_prim(Prim p);

// How far a value may stray.
struct Bound {
  // Elementwise arithmetic, views and integers all the way: the same bits however computed.
  bool exact = true;
  // The same with transcendental functions: the same bits at every optimisation level, within
  // `error` of the evaluator.
  bool elementwise = true;
  double error = 0;            // absolute
  double peak = 0, least = 0;  // of the value's magnitudes in the evaluator, finite ones
};

struct Reference {
  std::vector<Literal> results;
  std::vector<Bound> bounds;  // of the results
};
// Evaluates main and follows rounding errors through it.
Result<Reference> reference(const Module& m, const std::vector<Literal>& args);

// "" when `got` is `want` within `error` (0: bit for bit), else where it is not.
std::string difference(const Literal& got, const Literal& want, double error);

// `m` with the arguments in `which` (bits) replaced by constants. Sizes must be fixed.
std::unique_ptr<Module> fold_arguments(const Module& m, const std::vector<Literal>& args,
                                       uint64_t which);

// A smaller graph for which `fails` still holds: single results, then values cut to arguments.
RandomGraph shrink(const RandomGraph& g, const std::function<bool(const RandomGraph&)>& fails,
                   double seconds);

}  // namespace tenfold::testing
