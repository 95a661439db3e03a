// Decides, block by block, which ops are computed together.
//
// A group becomes one kernel. Its root is the op whose result is stored. Members are inlined into
// the root's element expression. A group may have one hero: an op with its own loop nest
// (contraction, reduction, sort ...); then the elementwise members between hero and root are the
// hero's epilogue, applied as it stores, and all other members are inlined into the hero's or the
// epilogue's reads.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/op_def.h"

namespace tenfold {

struct Group {
  Op* root = nullptr;
  Op* hero = nullptr;                     // == root when nothing follows it; null: pure elementwise
  std::vector<Op*> epilogue;              // hero (exclusive) to root (inclusive), in order
  std::unordered_set<const Op*> members;  // everything inlined, epilogue and hero included
};

struct BlockPlan {
  std::vector<Group> groups;  // in order of their roots
  // Root op -> its group. Ops that are neither roots nor members (pure inlines of scalars and
  // constants, control flow) have no entry.
  std::unordered_map<const Op*, int> group_of_root;
};

struct FusionOptions {
  bool fuse = true;
  // Arithmetic may be inlined where a concatenate or pad reads under a condition. A target that
  // computes whole vectors would compute it for every piece.
  bool inline_under_guards = true;
};

BlockPlan plan_fusion(const Block& b, const FusionOptions& options);

// Whether the op's result can be computed at any index without a buffer of its own.
bool is_elemental(const Op& op);
// Control flow and binding ops that the program builder handles itself.
bool is_structural(const Op& op);
// A scalar or splat constant, cheap to write as an immediate.
bool is_immediate(const Op& op);
// A conversion that loses nothing and makes its operand larger.
bool is_widening(const Op& op);
// True for ops whose element() reads operands under a guard (pad, concatenate).
bool guards_operands(const Op& op);

}  // namespace tenfold
