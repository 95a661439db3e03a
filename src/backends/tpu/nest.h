// Reading a plain loop nest for the chip: index expressions as sums over loop variables, and which
// loop runs along the lanes and which along the sublanes of a vector register.
//
// A leaf (a statement with no loop inside) may have one lane loop and one sublane loop around it;
// all other loops stay loops of the scalar core. Lane loops are those that step through the last
// dimension of what the leaf reads and writes; sublane loops those that step through the dimension
// before it, or through an outer one. A loop that carries a cell from iteration to iteration may be
// chosen when each cell is folded by one associative primitive.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "loop/ir.h"

namespace tenfold::tpu {

// constant + sum of coeff * term; a term is a variable or, where the expression is not linear, any
// other expression.
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<loop::Expr, int64_t>> terms;
  int64_t coeff(const loop::VarDef* v) const;
  // A term other than `v` itself has `v` inside.
  bool tangled(const loop::VarDef* v) const;
};
// Let variables are looked through where `lets` has them.
using Lets = std::unordered_map<const loop::VarDef*, loop::Expr>;
Linear linear(const loop::Expr& e, const Lets& lets);

enum class Role : uint8_t { Scalar, Sublane, Lane };

struct Roles {
  std::unordered_map<const loop::VarDef*, Role> of;  // loop variables; absent: Scalar
  Role role(const loop::VarDef* v) const {
    auto it = of.find(v);
    return it == of.end() ? Role::Scalar : it->second;
  }
};
// (variable, role) pairs that emission found impossible.
using Forbidden = std::set<std::pair<const loop::VarDef*, Role>>;

Roles choose_roles(const loop::Kernel& k, const Forbidden& forbidden);

// The cell folds that a loop makes on buffers allocated outside it; nullopt when it carries
// anything else from one iteration to the next.
struct Fold {
  loop::Buffer cell;
  Prim prim{};
  DType dtype{};
};
std::optional<std::vector<Fold>> folds_of(const loop::Stmt& loop);

// The constant a fold starts from; null: none (the primitive does not fold).
loop::Expr fold_identity(Prim p, DType t);

int64_t extent_of(const loop::Stmt& loop);  // -1: not constant
// Whether the place of some access to the buffer depends on the variable.
bool uses_variable(const loop::Kernel& k, const loop::Buffer& buffer, const loop::VarDef* v);

}  // namespace tenfold::tpu
