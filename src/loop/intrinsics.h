// Intrinsics that kernels may call, as a table: a name and the plain loops it stands for. The
// interpreter runs those loops; `tensorize` matches them; a backend maps the name to instructions.
#pragma once

#include <span>
#include <string_view>

#include "loop/ir.h"

namespace tenfold::loop {

struct Intrinsic {
  std::string_view name;
  std::string_view summary;
  // The meaning on these arguments (Load-shaped addresses of the first element, scalars), as
  // statements. Innermost indices are advanced; empty: the arguments do not fit.
  Body (*reference)(const std::vector<Expr>& args);
  // The statement nest that tensorize looks for, over fresh buffers, and the arguments of the call
  // in terms of it. Null: not reachable by tensorize.
  struct Pattern {
    StmtPtr nest;
    std::vector<Expr> args;
  };
  Pattern (*pattern)();
};

std::span<const Intrinsic> all_intrinsics();
const Intrinsic* find_intrinsic(std::string_view name);

}  // namespace tenfold::loop
