// Prints modules as StableHLO's MLIR text. Functions, constants, calls, returns and plain
// elementwise ops in the pretty form, all else in the generic one. parse(print(m)) is m: names,
// locations, origins and symbols with their bounds are written where they are not the default.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "graph/text.h"
#include "graph/text_ops.h"

namespace tenfold {
namespace text {
namespace {

bool is_number(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A name as MLIR takes it after '%'.
std::string plain(std::string_view name) {
  std::string s;
  for (char c : name) {
    const bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '_' || c == '$' || c == '.';
    s += ok ? c : '_';
  }
  if (!s.empty() && s[0] >= '0' && s[0] <= '9') s = "_" + s;
  return s;
}

std::string symbol_ref(std::string_view name) {
  const bool ok = !name.empty() && plain(name) == name && name[0] != '$' && name[0] != '.';
  return "@" + (ok ? std::string(name) : quote(name));
}

class Printer {
 public:
  std::string module(const Module& m) {
    out_ = "module ";
    if (!m.name.empty()) out_ += symbol_ref(m.name) + " ";
    if (const std::string s = symbol_table(m); !s.empty()) {
      out_ += "attributes {tenfold.symbols = {" + s + "}} ";
    }
    out_ += "{\n";
    for (auto& f : m.functions) function(*f);
    out_ += "}\n";
    return std::move(out_);
  }

  std::string one(const Op& op) {
    print_op(op, 0);
    while (!out_.empty() && out_.back() == '\n') out_.pop_back();
    return std::move(out_);
  }

 private:
  static std::string symbol_table(const Module& m) {
    std::map<std::string, SymbolRef> symbols;
    auto add_dim = [&](const Dim& d) {
      std::vector<SymbolRef> used;
      if (!d.is_const()) d.collect_symbols(used);
      for (auto& s : used) symbols.try_emplace(s->name, s);
    };
    auto add_args = [&](const Block& b) {
      for (auto& a : b.args) {
        for (const Dim& d : a->type.shape) add_dim(d);
      }
    };
    for (auto& f : m.functions) {
      add_args(f->body);
      walk(f->body, [&](const Op* op) {
        for (int i = 0; i < op->num_regions(); ++i) add_args(*op->region(i));
        for (int i = 0; i < op->num_results(); ++i) {
          for (const Dim& d : op->result(i)->type.shape) add_dim(d);
        }
        for (auto& [k, a] : op->attrs) {
          if (auto* dims = std::get_if<std::vector<Dim>>(&a.v)) {
            for (const Dim& d : *dims) add_dim(d);
          }
        }
      });
    }
    std::string s;
    for (auto& [name, sym] : symbols) {
      s += (s.empty() ? "" : ", ") + (plain(name) == name ? name : quote(name)) + " = [" +
           std::to_string(sym->min) + ", " + std::to_string(sym->max) + "]";
    }
    return s;
  }

  // --- names: unique in the function, dropped when a region is left, as MLIR has them ---
  const std::string& name_value(const Value* v, const std::string& stem) {
    std::string base = stem;
    if (base.empty()) {
      do base = std::to_string(next_number_++);
      while (taken_.contains(base));
    } else {
      for (int i = 0; taken_.contains(base); ++i) base = stem + "_" + std::to_string(i);
    }
    taken_.insert(base);
    order_.push_back(base);
    return names_[v] = "%" + base;
  }
  std::string name_of(const Value* v) {
    if (!v) return "%<none>";
    auto it = names_.find(v);
    if (it != names_.end()) return it->second;
    return "%" + (v->name.empty() ? std::string(v->block() ? "<arg>" : "<value>") : plain(v->name));
  }
  struct Scope {
    size_t mark;
    int next;
  };
  Scope enter() const { return {order_.size(), next_number_}; }
  void leave(Scope s) {
    for (; order_.size() > s.mark; order_.pop_back()) taken_.erase(order_.back());
    next_number_ = s.next;
  }

  void name_argument(Value* a) {
    std::string stem = plain(a->name);
    if (stem.empty()) {
      for (stem = "arg" + std::to_string(next_arg_++); taken_.contains(stem);) {
        stem = "arg" + std::to_string(next_arg_++);
      }
    }
    name_value(a, stem);
  }
  // The name to write beside the value when reading it back would not give it.
  bool needs_name(const Value* v) { return name_of(v) != "%" + v->name; }

  // --- structure ---
  void function(const Function& f) {
    names_.clear();
    taken_.clear();
    order_.clear();
    next_number_ = next_arg_ = 0;
    out_ += std::string("  func.func ") + (f.is_public ? "public " : "private ") +
            symbol_ref(f.name) + "(";
    for (size_t i = 0; i < f.body.args.size(); ++i) {
      Value* a = f.body.args[i].get();
      name_argument(a);
      out_ += (i ? ", " : "") + name_of(a) + ": " + type_text(a->type);
      if (needs_name(a)) out_ += " {tenfold.name = " + quote(a->name) + "}";
    }
    out_ += ")";
    const bool ended = !f.body.ops.empty() && f.body.ops.back()->def->kind == OpKind::Terminator;
    if (ended && f.body.ops.back()->num_operands() > 0) {
      out_ += " -> (";
      const auto& results = f.body.ops.back()->operands();
      for (size_t i = 0; i < results.size(); ++i) {
        out_ += (i ? ", " : "") + (results[i] ? type_text(results[i]->type) : "<none>");
        if (f.result_names.size() == results.size()) {
          out_ += " {jax.result_info = " + quote(f.result_names[i]) + "}";
        }
      }
      out_ += ")";
    }
    out_ += " {\n";
    for (auto& op : f.body.ops) print_op(*op, 2);
    out_ += "  }\n";
  }

  void region(const Block& b, int indent) {
    const Scope scope = enter();
    out_ += "{\n";
    if (!b.args.empty()) {
      out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + "^bb0(";
      for (size_t i = 0; i < b.args.size(); ++i) {
        name_argument(b.args[i].get());
        out_ += (i ? ", " : "") + name_of(b.args[i].get()) + ": " + type_text(b.args[i]->type);
        if (needs_name(b.args[i].get()) && !b.args[i]->name.empty()) {
          out_ += " loc(" + quote(b.args[i]->name) + ")";
        }
      }
      out_ += "):\n";
    }
    for (auto& op : b.ops) print_op(*op, indent + 1);
    out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + "}";
    leave(scope);
  }

  void results(const Op& op) {
    const int n = op.num_results();
    if (n == 0) return;
    bool named = false;
    for (int i = 0; i < n; ++i) named |= !plain(op.result(i)->name).empty();
    if (n > 1 && !named) {
      const std::string base = name_value(op.result(0), "");
      for (int i = 0; i < n; ++i) names_[op.result(i)] = base + "#" + std::to_string(i);
      out_ += base + ":" + std::to_string(n) + " = ";
      return;
    }
    for (int i = 0; i < n; ++i) {
      out_ += (i ? ", " : "") + name_value(op.result(i), plain(op.result(i)->name));
    }
    out_ += " = ";
  }

  // {tenfold.names = [...]} when the names as printed do not say them.
  std::string extra_names(const Op& op) {
    bool needed = false;
    for (int i = 0; i < op.num_results(); ++i) {
      const std::string& n = op.result(i)->name;
      needed |= n.empty() ? !is_number(base_name(op.result(i))) : needs_name(op.result(i));
    }
    if (!needed) return {};
    std::string s = "tenfold.names = [";
    for (int i = 0; i < op.num_results(); ++i) s += (i ? ", " : "") + quote(op.result(i)->name);
    return s + "]";
  }
  std::string base_name(const Value* v) {
    const std::string n = name_of(v).substr(1);
    return n.substr(0, n.find('#'));
  }

  std::string operands(const Op& op) {
    std::string s;
    for (int i = 0; i < op.num_operands(); ++i) s += (i ? ", " : "") + name_of(op.operand(i));
    return s;
  }
  static std::string operand_types(const Op& op) {
    std::string s;
    for (int i = 0; i < op.num_operands(); ++i) {
      s += (i ? ", " : "") + (op.operand(i) ? type_text(op.operand(i)->type) : "<none>");
    }
    return s;
  }
  static std::string signature(const Op& op) {
    std::string s = "(" + operand_types(op) + ") -> ";
    if (op.num_results() == 1) return s + type_text(op.result()->type);
    s += "(";
    for (int i = 0; i < op.num_results(); ++i) s += (i ? ", " : "") + type_text(op.result(i)->type);
    return s + ")";
  }

  static bool same_types(const Op& op) {
    for (Value* v : op.operands()) {
      if (!v || !(v->type == op.result()->type)) return false;
    }
    return true;
  }

  void print_op(const Op& op, int indent) {
    out_ += std::string(static_cast<size_t>(indent) * 2, ' ');
    // Operands first: the results' names must not hide theirs.
    const std::string args = operands(op);
    results(op);
    const std::string names = extra_names(op);
    const std::string braces = names.empty() ? "" : " {" + names + "}";
    const std::string& n = op.name();
    if (op.def->kind == OpKind::Terminator && op.attrs.empty()) {
      out_ += n == "func.return" ? "return" : n;
      if (op.num_operands()) out_ += " " + args + " : " + operand_types(op);
    } else if (n == "stablehlo.constant" && names.empty() && op.attr("value")) {
      out_ += n + " " + literal_text(op.lit("value"));
    } else if (n == "func.call") {
      out_ += "func.call " + symbol_ref(op.attr("callee") ? op.str("callee") : "") + "(" + args +
              ")" + braces + " : " + signature(op);
    } else if (op.def->kind == OpKind::Elementwise && op.def->prim && op.attrs.empty() &&
               n.starts_with("stablehlo.") && op.num_results() == 1 && op.num_operands() > 0 &&
               op.num_operands() < 3 && same_types(op)) {
      out_ += n + " " + args + braces + " : " + type_text(op.result()->type);
    } else {
      generic(op, args, names, indent);
    }
    location(op);
    out_ += "\n";
  }

  void generic(const Op& op, const std::string& args, const std::string& names, int indent) {
    out_ += quote(op.name()) + "(" + args + ")";
    std::string properties, discardable = names;
    for (const std::string& a : attribute_texts(op)) {
      // Names with a dot are no properties of the op.
      const bool foreign = a.substr(0, a.find(' ')).find('.') != std::string::npos;
      std::string& to = foreign ? discardable : properties;
      to += (to.empty() ? "" : ", ") + a;
    }
    if (!properties.empty()) out_ += " <{" + properties + "}>";
    if (op.num_regions()) {
      out_ += " (";
      for (int i = 0; i < op.num_regions(); ++i) {
        if (i) out_ += ", ";
        region(*op.region(i), indent);
      }
      out_ += ")";
    }
    if (!discardable.empty()) out_ += " {" + discardable + "}";
    out_ += " : " + signature(op);
  }

  void location(const Op& op) {
    const std::string place = op.loc.empty() ? "unknown" : quote(op.loc.text);
    if (op.origins.empty()) {
      out_ += " loc(" + place + ")";
      return;
    }
    out_ += " loc(fused<[";
    for (size_t i = 0; i < op.origins.size(); ++i) out_ += (i ? ", " : "") + quote(op.origins[i]);
    out_ += "]>[" + place + "])";
  }

  std::string out_;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> order_;
  int next_number_ = 0;
  int next_arg_ = 0;
};

}  // namespace
}  // namespace text

std::string print(const Module& m) { return text::Printer().module(m); }
std::string print(const Op& op) { return text::Printer().one(op); }

}  // namespace tenfold
