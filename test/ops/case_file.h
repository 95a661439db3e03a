// Reads test/ops/*.test: literal cases of single ops, one a line (a line that starts with a space
// continues the one before; # starts a comment line).
//
//   OP [{attr = value, ...}] (operand, ...) -> result, ...      bit for bit (NaN equals NaN)
//   OP (operand, ...) -> ~1e-6 result, ...                      within a relative tolerance
//   OP (operand, ...) -> !LABEL [type, ...]                     infer() reports constraint LABEL
//   OP (operand, ...) -> @ID                                    evaluation fails with error ID
//   OP (type, ...) -> : type, ...                               inferred types only
//
// An operand or result is a type and values: `f32[2,2] 1 2 nan -inf`, `i32 7`, `c64[1] (1,2)`,
// `f32[100] *0` (all the same), `f32[8] iota`, `f16[2] #7e00 #0001` (bits). Dimensions may be
// symbols: `f32[n,4]` (then without values). `const` before an operand makes it a constant op.
// Regions are given as attributes `body = stablehlo.add(f32, f32)` in order; see make_region().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace tenfold::testing {

struct Case {
  std::string where;  // file:line
  std::string text;
  std::string op;
  std::unique_ptr<Module> module;  // main: the operands that are no constants -> the op's results
  Op* subject = nullptr;
  Errors build_errors;
  std::vector<Literal> args;
  bool has_values = true;  // of all arguments

  enum class Want { Results, Label, EvalError, Types } want = Want::Results;
  std::vector<Literal> results;
  std::vector<TensorType> types;
  std::optional<double> rtol;
  std::string label;
};

// Cases of a file, or the first syntax error.
Result<std::vector<Case>> read_cases(const std::string& path);
// The lines of a file that are cases, without building them: (where, text).
Result<std::vector<std::pair<std::string, std::string>>> case_lines(const std::string& path);
Result<Case> parse_case(const std::string& text, const std::string& where);

}  // namespace tenfold::testing
