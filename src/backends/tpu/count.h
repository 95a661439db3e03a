// How often a loop over tensors runs, where that can be known beforehand.
#pragma once

#include <optional>
#include <unordered_set>

#include "array/literal.h"
#include "graph/ir.h"

namespace tenfold::tpu {

struct CountedLoop {
  int counter = 0;  // the operand that decides
  int64_t rounds = 0;
  bool counter_used = false;    // by more than the count itself
  Literal last;                 // the counter after the loop
  std::optional<int32_t> step;  // what it grows by each round, where that is always the same
  std::unordered_set<const tenfold::Op*>
      only_counter;  // ops of the body that serve the count alone
};

// The condition and the next value of one operand must depend on that operand and constants alone,
// and its first value be a constant: both are then evaluated, round by round. nullopt: not so, or
// more than a million rounds.
std::optional<CountedLoop> count_rounds(const Module& m, const tenfold::Op& loop);

}  // namespace tenfold::tpu
