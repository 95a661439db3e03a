// Scalar regions (reducers, comparators, update computations) for evaluators.
//
// A region of elementwise ops on its arguments and constants is translated once into a list of
// primitives; any other region goes through EvalContext::run_region for each call.
#pragma once

#include "graph/op_def.h"

namespace tenfold {

// The primitive when the region is exactly `return prim(arg0, arg1)` (also with the arguments
// swapped where the primitive commutes). Comparisons count, total-order ones do not.
std::optional<Prim> region_prim(const Block& region);
// Whether the region returns its argument `i` (for one-result regions).
bool region_returns_arg(const Block& region, int i);
// The identity element of Add, Mul, Max, Min, And, Or on `t`; nullopt for other primitives.
std::optional<Literal> identity_of(Prim p, DType t);
// The value of an op that is a constant (possibly broadcast scalar) feeding `v`; null otherwise.
const Literal* constant_of(const Value& v);

class ScalarRegion {
 public:
  ScalarRegion(EvalContext& c, const Block& region);
  // `args`: one element of each block argument's type; `outs` receive one element of each result.
  Status call(const std::vector<const std::byte*>& args, const std::vector<std::byte*>& outs);
  DType arg_dtype(int i) const { return region_->args[i]->type.dtype; }
  DType result_dtype(int i) const { return region_->results()[i]->type.dtype; }

 private:
  struct alignas(16) Cell {
    std::byte bytes[16];
  };
  struct Step {
    std::optional<Prim> prim;  // absent: a cast
    DType from, to;
    int args[3];
    int out;
  };
  bool translate();
  EvalContext* c_;
  const Block* region_;
  std::vector<Cell> cells_;
  std::vector<Step> steps_;
  std::vector<int> results_;
  bool translated_;
};

// Checks that `region` takes `args` scalars and returns `results` scalars of the wanted types,
// where an absent type means any. Reports under `label`.
void check_scalar_region(const Block& region, const std::vector<std::optional<DType>>& args,
                         const std::vector<std::optional<DType>>& results, std::string_view label,
                         std::string_view what, Diag& diag);

}  // namespace tenfold
