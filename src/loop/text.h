// Words of the loop level's text form, shared by printer and parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "loop/ir.h"

namespace tenfold::loop {

std::string_view name(Scope s);  // "param", "stack" ...
std::optional<Scope> scope_from_name(std::string_view s);
std::string_view name(LoopKind k);  // "for", "parallel", "vectorized" ...
std::optional<LoopKind> loop_kind_from_name(std::string_view s);

// Infix spelling of a primitive and its binding strength (higher binds tighter); empty: a call.
struct Infix {
  std::string_view text;
  int strength = 0;
};
Infix infix(Prim p);
std::optional<Prim> prim_from_infix(std::string_view text);
constexpr int kUnaryStrength = 60;

bool plain_name(std::string_view s);  // may stand without quotes
std::string quote(std::string_view s);

}  // namespace tenfold::loop
