// What graph passes share: matching and replacing.
#pragma once

#include <optional>

#include "graph/builder.h"
#include "graph/pass.h"

namespace tenfold {

// A builder whose ops go before `op` and carry its location and origins.
GraphBuilder builder_at(Module& m, Op* op);
// Uses of op's results become `values` (whose origins gain op's); op is erased.
void replace_op(Op* op, const std::vector<Value*>& values);
// The value of a constant op, null otherwise.
const Literal* constant_of(const Value* v);
// A scalar or splat constant of a real type, looking through broadcast_in_dim and reshape.
std::optional<double> splat_of(const Value* v);
// `v` as one number for each index of its dimension `dim`, constant along the others; -1: one
// number in all. Looks through broadcasts and conversions of constants.
std::optional<std::vector<double>> per_index(const Value* v, int dim, int64_t n);
// v's defining op when it is `name`, else null.
Op* def_of(const Value* v, std::string_view name);
// Also only when v has exactly one use.
Op* only_def_of(const Value* v, std::string_view name);
// Elementwise op with this primitive.
Op* prim_of(const Value* v, Prim p);
// transpose(v, perm), taken before `v` was widened (weights of bytes or halves then fold into a
// constant that keeps its size) or padded.
Value* transpose_early(GraphBuilder& b, Value* v, const std::vector<int64_t>& perm);
void merge_origins(std::vector<std::string>& into, const std::vector<std::string>& from);
// Every op of every function's body, nested regions first. The callback may erase the op it is
// given and insert others; erasing further ops of the same block is not safe.
void for_each_op(Module& m, const std::function<void(Op*)>& f);
// Ops without results that matter (bind_symbol, custom calls with side effects ...) are never dead.
bool has_side_effect(const Op& op);
// Erases op and what only it used.
void erase_dead(Op* op);

}  // namespace tenfold
