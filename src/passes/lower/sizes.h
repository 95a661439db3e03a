// Symbolic sizes as the runtime's postfix expressions.
#pragma once

#include <functional>
#include <optional>

#include "array/dim.h"
#include "loop/ir.h"
#include "runtime/program.h"

namespace tenfold {

using SymbolRegister = std::function<int32_t(const std::string& name)>;

rt::SizeExpr size_expr(const Dim& d, const SymbolRegister& reg);
// Index arithmetic over a kernel's symbol variables; nothing for anything else (a size computed in
// floating point, or read from memory).
std::optional<rt::SizeExpr> size_expr(const loop::Expr& e, const SymbolRegister& reg);

}  // namespace tenfold
