// Two ops that compute the same from the same operands become one.
#include <unordered_map>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

size_t mix(size_t h, size_t v) { return h * 0x9e3779b97f4a7c15ull + v + (h >> 29); }

size_t hash_of(const Op& op) {
  size_t h = std::hash<const void*>()(op.def);
  for (const Value* v : op.operands()) h = mix(h, std::hash<const void*>()(v));
  for (const auto& [n, a] : op.attrs) {
    h = mix(h, a.v.index());
    if (auto* l = std::get_if<Literal>(&a.v)) {
      h = mix(h, static_cast<size_t>(l->size()));
      std::string_view head(reinterpret_cast<const char*>(l->bytes()),
                            std::min<size_t>(l->byte_count(), 64));
      h = mix(h, std::hash<std::string_view>()(head));
    } else if (auto* v = std::get_if<std::vector<int64_t>>(&a.v)) {
      for (int64_t x : *v) h = mix(h, static_cast<size_t>(x));
    }
  }
  return h;
}

bool equal_ops(const Op& a, const Op& b) {
  if (a.def != b.def || a.operands() != b.operands() || !(a.attrs == b.attrs)) return false;
  for (int i = 0; i < a.num_results(); ++i)
    if (!(a.result(i)->type == b.result(i)->type)) return false;
  return a.num_results() == b.num_results();
}

// Ops seen in enclosing blocks may serve nested ones, not the reverse.
using Scope = std::unordered_multimap<size_t, Op*>;

bool visit(Block& b, std::vector<Scope>& scopes) {
  bool changed = false;
  scopes.emplace_back();
  for (auto it = b.ops.begin(); it != b.ops.end();) {
    Op* op = it->get();
    ++it;
    if (op->num_regions() || op->num_results() == 0 || has_side_effect(*op) ||
        op->is("stablehlo.rng") || op->is("stablehlo.custom_call")) {
      for (int r = 0; r < op->num_regions(); ++r) changed |= visit(*op->region(r), scopes);
      continue;
    }
    size_t h = hash_of(*op);
    Op* same = nullptr;
    for (auto& s : scopes) {
      auto [lo, hi] = s.equal_range(h);
      for (auto k = lo; k != hi && !same; ++k)
        if (equal_ops(*k->second, *op)) same = k->second;
    }
    if (!same) {
      scopes.back().emplace(h, op);
      continue;
    }
    std::vector<Value*> values;
    for (int i = 0; i < same->num_results(); ++i) values.push_back(same->result(i));
    replace_op(op, values);
    changed = true;
  }
  scopes.pop_back();
  return changed;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  for (auto& f : m.functions) {
    std::vector<Scope> scopes;
    changed |= visit(f->body, scopes);
  }
  return changed;
}

}  // namespace

extern const GraphPass pass_share_common_subexpressions;
const GraphPass pass_share_common_subexpressions = {
    .name = "share_common_subexpressions",
    .summary = "Two ops that compute the same from the same operands become one.",
    .run = run,
};

}  // namespace tenfold
