// The simplifier's rules, as rows: which primitive, what it says, and the function that applies it.
// A rule gets the simplified operands and returns the replacement, or null where it does not apply.
#pragma once

#include <span>

#include "loop/rules/algebra.h"

namespace tenfold::loop {

struct Rule {
  const char* name;
  const char* says;
  Expr (*fire)(Algebra& g, const Expr& a, const Expr& b);
};

// The rules of one primitive on I64 operands, in the order they are tried.
std::span<const Rule> rules_of(Prim p);

std::span<const Rule> floor_div_rules();
std::span<const Rule> floor_mod_rules();
std::span<const Rule> min_rules();
std::span<const Rule> max_rules();
std::span<const Rule> compare_rules(Prim p);

}  // namespace tenfold::loop
