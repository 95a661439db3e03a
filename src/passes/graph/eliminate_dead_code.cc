// Removes ops whose results nobody reads. Symbol bindings stay while a type mentions the symbol, or
// where one value alone is allowed: such a binding is a demand on the run, not a name for a size.
#include <unordered_set>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

void used_symbols(const Block& b, std::unordered_set<std::string>& out) {
  auto add = [&](const Dim& d) {
    std::vector<SymbolRef> s;
    d.collect_symbols(s);
    for (auto& r : s) out.insert(r->name);
  };
  for (auto& op : b.ops) {
    for (int i = 0; i < op->num_results(); ++i)
      for (auto& d : op->result(i)->type.shape) add(d);
    for (auto& [n, a] : op->attrs)
      if (auto* dims = std::get_if<std::vector<Dim>>(&a.v))
        for (auto& d : *dims) add(d);
    for (int r = 0; r < op->num_regions(); ++r) {
      for (auto& a : op->region(r)->args)
        for (auto& d : a->type.shape) add(d);
      used_symbols(*op->region(r), out);
    }
  }
}

bool sweep(Block& b, const std::unordered_set<std::string>& symbols) {
  bool changed = false;
  for (auto it = b.ops.end(); it != b.ops.begin();) {
    --it;
    Op* op = it->get();
    for (int r = 0; r < op->num_regions(); ++r) changed |= sweep(*op->region(r), symbols);
    bool used = op->def->kind == OpKind::Terminator;
    for (int i = 0; i < op->num_results(); ++i) used |= op->result(i)->has_users();
    if (op->is("tenfold.bind_symbol"))
      used |= symbols.count(op->str("symbol")) > 0 || op->i64("min") == op->i64("max");
    else if (has_side_effect(*op))
      used = true;
    if (used) continue;
    auto next = std::next(it);
    b.erase(op);
    it = next;
    changed = true;
  }
  return changed;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  for (auto& f : m.functions) {
    std::unordered_set<std::string> symbols;
    used_symbols(f->body, symbols);
    changed |= sweep(f->body, symbols);
  }
  return changed;
}

}  // namespace

extern const GraphPass pass_eliminate_dead_code;
const GraphPass pass_eliminate_dead_code = {
    .name = "eliminate_dead_code",
    .summary = "Removes ops whose results nobody reads.",
    .run = run,
};

}  // namespace tenfold
