// The graph's rules, checked in one walk: structure, dominance, terminators, symbols, and what each
// op's infer() says against the types it states.
#include <algorithm>
#include <set>
#include <unordered_set>

#include "graph/check.h"
#include "graph/text.h"

namespace tenfold {
namespace {

constexpr size_t kMaxErrors = 50;

class Verifier {
 public:
  explicit Verifier(const Module& m) : module_(m) {}

  Status run() {
    std::set<std::string_view> names;
    for (auto& f : module_.functions) {
      if (f->name.empty()) fail("verify-function", "a function has no name", {});
      if (!names.insert(f->name).second) {
        fail("verify-function", "two functions are called @" + f->name, {});
      }
      if (f->module != &module_) fail("verify-function", "@" + f->name + " is not owned here", {});
    }
    for (auto& f : module_.functions) {
      function_ = f.get();
      symbols_.clear();
      block(f->body);
      defined_.clear();
    }
    calls();
    if (errors_.empty()) return ok_status();
    return std::move(errors_);
  }

 private:
  void fail(std::string id, std::string message, const Location& loc) {
    if (errors_.size() < kMaxErrors) {
      errors_.push_back({std::move(id), std::move(message), loc, {}});
    }
  }
  void fail(const Op& op, std::string id, std::string message) {
    if (errors_.size() >= kMaxErrors) return;
    Error e{std::move(id), op.name() + ": " + std::move(message), op.loc, {}};
    for (auto& o : op.origins) e.notes.push_back("from node " + o);
    errors_.push_back(std::move(e));
  }

  // --- symbols ---
  void bind(const Symbol& s, const Location& loc) {
    same_bounds(s, loc);
    symbols_.insert(s.name);
    scope_.push_back(s.name);
  }
  // A name means one symbol in the whole module.
  void same_bounds(const Symbol& s, const Location& loc) {
    auto [it, fresh] = bounds_.try_emplace(s.name, s.min, s.max);
    if (!fresh && it->second != std::pair(s.min, s.max)) {
      fail("verify-symbol",
           "symbol " + s.name + " has bounds [" + std::to_string(s.min) + ", " +
               std::to_string(s.max) + "] here and others elsewhere",
           loc);
    }
  }
  void check_dim(const Dim& d, const Location& loc, const std::string& where) {
    if (d.is_const()) return;
    std::vector<SymbolRef> used;
    d.collect_symbols(used);
    for (auto& s : used) {
      same_bounds(*s, loc);
      if (!symbols_.contains(s->name)) {
        fail("verify-symbol",
             where + ": the size " + d.str() + " uses the symbol " + s->name +
                 ", which is not bound here",
             loc);
      }
    }
  }
  void check_shape(const TensorType& t, const Location& loc, const std::string& where) {
    for (const Dim& d : t.shape) {
      if (d.is_const() && d.value() < 0) {
        fail("verify-type", where + " has a negative size: " + t.str(), loc);
      }
      check_dim(d, loc, where);
    }
  }

  // --- blocks and ops ---
  void block(const Block& b) {
    const size_t symbol_mark = scope_.size();
    const size_t value_mark = order_.size();
    const Location loc = b.parent_op() ? b.parent_op()->loc : Location{};
    const std::string owner = b.parent_op() ? b.parent_op()->name() : "@" + function_->name;
    for (auto& a : b.args) {
      for (const Dim& d : a->type.shape) {
        const SymbolRef s = d.as_symbol();
        if (s && !symbols_.contains(s->name)) bind(*s, loc);
      }
      define(a.get());
    }
    for (auto& a : b.args) {
      check_shape(a->type, loc, "argument " + std::to_string(a->index()) + " of " + owner);
    }
    const bool in_function = b.parent_function() != nullptr;
    if (b.ops.empty() || b.ops.back()->def->kind != OpKind::Terminator) {
      fail("verify-terminator", owner + ": a block must end with a return", loc);
    }
    for (auto& op : b.ops) {
      if (op->parent() != &b) fail(*op, "verify-owner", "is not owned by the block it stands in");
      if (op->def->kind == OpKind::Terminator) {
        if (op != b.ops.back()) fail(*op, "verify-terminator", "only the last op may return");
        if (op->is("func.return") != in_function) {
          fail(*op, "verify-terminator",
               in_function ? "a function ends with func.return"
                           : "a region ends with "
                             "stablehlo.return");
        }
      }
      check_op(*op);
    }
    for (; order_.size() > value_mark; order_.pop_back()) defined_.erase(order_.back());
    for (; scope_.size() > symbol_mark; scope_.pop_back()) symbols_.erase(scope_.back());
  }

  void define(const Value* v) {
    defined_.insert(v);
    order_.push_back(v);
  }

  void check_op(const Op& op) {
    bool sound = true;
    for (int i = 0; i < op.num_operands(); ++i) {
      if (op.operand(i) && defined_.contains(op.operand(i))) continue;
      fail(op, "verify-dominance",
           "operand " + std::to_string(i) +
               (op.operand(i) ? " is not defined before it is used" : " is missing"));
      sound = false;
    }
    Diag diag(op);
    check_structure(op, diag);
    sound = sound && diag.ok() && op.def != &kUnknownOp;
    for (auto& [key, a] : op.attrs) {
      if (auto* dims = std::get_if<std::vector<Dim>>(&a.v)) {
        for (const Dim& d : *dims) check_dim(d, op.loc, op.name() + " " + key);
      }
    }
    // Regions before infer(), which looks into them.
    const size_t before = errors_.size();
    for (int i = 0; i < op.num_regions(); ++i) block(*op.region(i));
    sound = sound && errors_.size() == before;
    if (sound) check_results(op, diag);
    for (auto& e : diag.take()) {
      if (errors_.size() < kMaxErrors) errors_.push_back(std::move(e));
    }
    if (op.is("tenfold.bind_symbol") && op.attr("symbol")) {
      const Symbol s{op.str("symbol"), op.i64("min"), op.i64("max")};
      if (symbols_.contains(s.name)) {
        fail(op, "verify-symbol", "the symbol " + s.name + " is bound already");
      } else {
        bind(s, op.loc);
      }
    }
    if (const Attr* a = op.attr("bound_symbols")) {
      const auto& names = a->as<std::vector<std::string>>();
      for (int i = 0; i < op.num_results(); ++i) {
        for (const Dim& d : op.result(i)->type.shape) {
          const SymbolRef s = d.as_symbol();
          if (!s || symbols_.contains(s->name)) continue;
          if (std::find(names.begin(), names.end(), s->name) != names.end()) bind(*s, op.loc);
        }
      }
    }
    for (int i = 0; i < op.num_results(); ++i) {
      check_shape(op.result(i)->type, op.loc, op.name());
      define(op.result(i));
    }
  }

  void check_results(const Op& op, Diag& diag) {
    if (!op.def->infer) return;
    const std::vector<TensorType> inferred = op.def->infer(op, diag);
    if (!diag.ok()) return;
    std::vector<TensorType> stated;
    for (int i = 0; i < op.num_results(); ++i) stated.push_back(op.result(i)->type);
    bool same = inferred.size() == stated.size();
    for (size_t i = 0; same && i < stated.size(); ++i) same = may_be_same(inferred[i], stated[i]);
    if (!same) {
      diag.fail("results", "gives " + type_list(inferred) + ", stated are " + type_list(stated));
    }
  }

  // Functions must not call themselves, straight or through others.
  void calls() {
    enum class State : uint8_t { New, Open, Done };
    std::unordered_map<const Function*, std::vector<const Function*>> callees;
    std::unordered_map<const Function*, State> state;
    for (auto& f : module_.functions) {
      walk(f->body, [&](const Op* op) {
        for (const AttrSpec& spec : op->def->attrs) {
          if (spec.kind != AttrKind::Func || !op->attr(spec.name)) continue;
          const Function* callee = module_.find(op->str(spec.name));
          if (callee) callees[f.get()].push_back(callee);
        }
      });
    }
    struct Step {
      const Function* f;
      size_t next;
    };
    for (auto& f : module_.functions) {
      if (state[f.get()] != State::New) continue;
      std::vector<Step> stack = {{f.get(), 0}};
      state[f.get()] = State::Open;
      while (!stack.empty()) {
        const auto& cs = callees[stack.back().f];
        if (stack.back().next == cs.size()) {
          state[stack.back().f] = State::Done;
          stack.pop_back();
          continue;
        }
        const Function* c = cs[stack.back().next++];
        if (state[c] == State::Open) {
          fail("verify-recursion", "function @" + c->name + " calls itself", {});
          state[c] = State::Done;
        } else if (state[c] == State::New) {
          state[c] = State::Open;
          stack.push_back({c, 0});
        }
      }
    }
  }

  const Module& module_;
  const Function* function_ = nullptr;
  Errors errors_;
  std::unordered_set<const Value*> defined_;
  std::vector<const Value*> order_;
  std::set<std::string, std::less<>> symbols_;
  std::vector<std::string> scope_;
  std::unordered_map<std::string, std::pair<int64_t, int64_t>> bounds_;
};

}  // namespace

Status verify(const Module& m) { return Verifier(m).run(); }

}  // namespace tenfold
