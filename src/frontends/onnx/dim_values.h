// What is known at import of values that steer shapes: an analysis over the graph built so far.
// Integer tensors become lists of dimension expressions by following shape arithmetic; tensors
// that depend on constants alone are computed by the evaluator under a budget.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/builder.h"

namespace tenfold::onnx {

class DimValues {
 public:
  explicit DimValues(int64_t budget_bytes) : budget_(budget_bytes) {}

  // One entry per element, row-major; an unknown element is nothing. Nothing at all: not an
  // integer or bool tensor, not of static shape, or too large.
  using Elements = std::vector<std::optional<Dim>>;
  const Elements* elements(const Value* v);
  std::optional<Literal> constant(const Value* v);
  // The one-element tensor `v` was bound to the symbol `d` in `block`; remembered when that is
  // the block `v` lives in, so that everyone who sees `v` later sees the symbol too.
  void note_bound(const Value* v, const Dim& d, const Block* block);
  void clear();

 private:
  Elements compute(const Value* v);
  std::unordered_map<const Value*, std::optional<Elements>> elements_;
  std::unordered_map<const Value*, std::optional<Literal>> constants_;
  int64_t budget_;
  int depth_ = 0;
};

}  // namespace tenfold::onnx
