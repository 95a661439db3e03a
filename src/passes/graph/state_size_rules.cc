// What ops need of sizes and types do not prove becomes `tenfold.require` before the op. Later
// passes may then rewrite or drop the op: the demand stays. A rule is stated once on the way to any
// op: a block's own and those of the blocks around it hold.
#include <set>

#include "graph/check.h"
#include "passes/rewrite.h"

namespace tenfold {
namespace {

using Stated = std::set<std::string>;

bool state(Module& m, Block& b, Stated stated) {
  bool changed = false;
  for (auto it = b.ops.begin(); it != b.ops.end(); ++it) {
    Op* op = it->get();
    if (op->is("tenfold.require")) {
      const SizeRule r = rule_of(*op);
      stated.insert(r.str());
      continue;
    }
    for (const SizeRule& r : size_rules(*op)) {
      if (!stated.insert(r.str()).second) continue;
      builder_at(m, op).require(r, op->name());
      changed = true;
    }
    // The bodies of reducers, comparators and the like work on scalars.
    if (op->def->kind != OpKind::Region) continue;
    for (int i = 0; i < op->num_regions(); ++i) changed |= state(m, *op->region(i), stated);
  }
  return changed;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  for (auto& f : m.functions) changed |= state(m, f->body, {});
  return changed;
}

}  // namespace

extern const GraphPass pass_state_size_rules;
const GraphPass pass_state_size_rules = {
    .name = "state_size_rules",
    .summary = "Demands on sizes that only the run can show become ops.",
    .why_here = "first, while every op that the user wrote is there",
    .run = run,
};

}  // namespace tenfold
