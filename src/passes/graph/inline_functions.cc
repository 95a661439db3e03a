// Replaces calls by the called function's ops, and composites either by the native op of the same
// name or by their decomposition. After it the module is one function.
#include <algorithm>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

using SymbolMap = std::unordered_map<std::string, Dim>;

Dim substituted(const Dim& d, const SymbolMap& map) {
  return d.substitute([&](const Symbol& s) -> std::optional<Dim> {
    auto it = map.find(s.name);
    if (it == map.end()) return std::nullopt;
    return it->second;
  });
}

void substitute_symbols(Op& op, const SymbolMap& map) {
  auto rename = [&](std::string& name) {
    if (auto it = map.find(name); it != map.end())
      if (SymbolRef s = it->second.as_symbol()) name = s->name;
  };
  if (op.is("tenfold.bind_symbol")) {
    std::string name = op.str("symbol");
    rename(name);
    op.set_attr("symbol", Attr{name});
  }
  if (const Attr* a = op.attr("bound_symbols")) {
    auto names = a->as<std::vector<std::string>>();
    for (auto& n : names) rename(n);
    op.set_attr("bound_symbols", Attr{names});
  }
  for (int i = 0; i < op.num_results(); ++i)
    for (auto& d : op.result(i)->type.shape) d = substituted(d, map);
  for (auto& [n, a] : op.attrs)
    if (auto* dims = std::get_if<std::vector<Dim>>(&a.v))
      for (auto& d : *dims) d = substituted(d, map);
  for (int r = 0; r < op.num_regions(); ++r) {
    for (auto& a : op.region(r)->args)
      for (auto& d : a->type.shape) d = substituted(d, map);
    for (auto& o : op.region(r)->ops) substitute_symbols(*o, map);
  }
}

// Symbols that `b` binds below its arguments, under names of their own: the function may be called
// again, and the caller may use the same names.
void rename_bound(const Module& m, const Block& b, SymbolMap& map) {
  auto fresh = [&](const Symbol& s) {
    if (!map.contains(s.name))
      map.emplace(s.name, Dim::symbol(m.unique_symbol_name(s.name), s.min, s.max));
  };
  for (auto& op : b.ops) {
    if (op->is("tenfold.bind_symbol")) fresh({op->str("symbol"), op->i64("min"), op->i64("max")});
    if (op->attr("bound_symbols"))
      for (int i = 0; i < op->num_results(); ++i)
        for (auto& d : op->result(i)->type.shape)
          if (auto s = d.as_symbol()) fresh(*s);
    for (int r = 0; r < op->num_regions(); ++r) {
      for (auto& a : op->region(r)->args)
        for (auto& d : a->type.shape)
          if (auto s = d.as_symbol()) fresh(*s);
      rename_bound(m, *op->region(r), map);
    }
  }
}

std::vector<Value*> inline_body(const Module& m, const Function& f, Op* at) {
  std::unordered_map<const Value*, Value*> map;
  SymbolMap symbols;
  for (size_t i = 0; i < f.body.args.size(); ++i) {
    const Value* formal = f.body.args[i].get();
    Value* actual = at->operand(static_cast<int>(i));
    map[formal] = actual;
    for (size_t d = 0; d < formal->type.shape.size(); ++d)
      if (auto s = formal->type.shape[d].as_symbol())
        symbols.try_emplace(s->name, actual->type.shape[d]);
  }
  rename_bound(m, f.body, symbols);
  for (auto& op : f.body.ops) {
    if (op->def->kind == OpKind::Terminator) break;
    std::unique_ptr<Op> copy = clone_op(*op, map);
    if (!symbols.empty()) substitute_symbols(*copy, symbols);
    merge_origins(copy->origins, at->origins);
    if (copy->loc.empty()) copy->loc = at->loc;
    at->parent()->insert_before(at, std::move(copy));
  }
  std::vector<Value*> out;
  for (Value* v : f.body.results()) {
    auto it = map.find(v);
    out.push_back(it == map.end() ? v : it->second);
  }
  return out;
}

// The op that computes the composite natively, if there is one and its attributes fit.
Op* native(Module& m, Op* op) {
  const OpDef* d = find_op(op->str("name"));
  if (!d || (!d->emit && !d->element && !d->prim)) return nullptr;
  AttrDict attrs;
  if (const Attr* a = op->attr("composite_attributes"); a && a->as<std::shared_ptr<AttrDict>>())
    attrs = *a->as<std::shared_ptr<AttrDict>>();
  for (const auto& [n, v] : attrs)
    if (std::none_of(d->attrs.begin(), d->attrs.end(),
                     [&, name = std::string_view(n)](const AttrSpec& s) { return s.name == name; }))
      return nullptr;
  GraphBuilder b = builder_at(m, op);
  std::vector<TensorType> types;
  if (d->explicit_results)
    for (int i = 0; i < op->num_results(); ++i) types.push_back(op->result(i)->type);
  Op* n = b.create(op->str("name"), op->operands(), attrs, types);
  if (b.errors.empty() && n->num_results() == op->num_results()) return n;
  op->parent()->erase(n);
  return nullptr;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  Function* main = m.main();
  if (!main) return false;
  // Depth is bounded by the number of functions: a deeper chain calls itself.
  size_t depth = m.functions.size() + 1;
  for (bool more = true; more;) {
    more = false;
    std::vector<Op*> calls;
    auto collect = [&](auto&& self, Block& b) -> void {
      for (auto& op : b.ops) {
        if (op->is("func.call") || op->is("stablehlo.composite")) calls.push_back(op.get());
        for (int i = 0; i < op->num_regions(); ++i) self(self, *op->region(i));
      }
    };
    collect(collect, main->body);
    if (calls.empty()) break;
    if (depth-- == 0)
      return Error{"recursive-function",
                   "functions call themselves; recursion is not supported",
                   calls[0]->loc,
                   {}};
    for (Op* op : calls) {
      std::vector<Value*> values;
      if (op->is("stablehlo.composite")) {
        if (Op* n = native(m, op)) {
          for (int i = 0; i < n->num_results(); ++i) values.push_back(n->result(i));
          replace_op(op, values);
          changed = more = true;
          continue;
        }
      }
      const Function* f = m.find(op->str(op->is("func.call") ? "callee" : "decomposition"));
      TF_CHECK(f, "verified: call target exists");
      values = inline_body(m, *f, op);
      replace_op(op, values);
      changed = more = true;
    }
  }
  size_t before = m.functions.size();
  std::erase_if(m.functions, [&](const std::unique_ptr<Function>& f) { return f.get() != main; });
  return changed || m.functions.size() != before;
}

}  // namespace

extern const GraphPass pass_inline_functions;
const GraphPass pass_inline_functions = {
    .name = "inline_functions",
    .summary = "Calls and composites become ops of one function.",
    .why_here = "every later pass sees whole patterns and needs no calling convention",
    .run = run,
};

}  // namespace tenfold
