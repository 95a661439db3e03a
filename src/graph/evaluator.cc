// The oracle's driver: runs a function op by op through OpDef::eval. Plain on purpose: no fusion,
// no reordering. It binds symbols, keeps a value only until its last use, checks that every result
// has the type the graph states, and locates errors.
#include "graph/evaluator.h"

#include <unistd.h>

#include <unordered_set>

#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

constexpr int kMaxCallDepth = 200;

// What to forget after each op of a block: values of this block whose last use (in it or in the
// regions below it) that op is.
using BlockPlan = std::unordered_map<const Op*, std::vector<const Value*>>;

void collect_uses(const Op& op, std::vector<const Value*>& out) {
  for (Value* v : op.operands()) out.push_back(v);
  for (int i = 0; i < op.num_regions(); ++i) {
    for (auto& inner : op.region(i)->ops) collect_uses(*inner, out);
  }
}

BlockPlan plan_of(const Block& b) {
  std::unordered_set<const Value*> mine;
  for (auto& a : b.args) mine.insert(a.get());
  for (auto& op : b.ops) {
    for (int i = 0; i < op->num_results(); ++i) mine.insert(op->result(i));
  }
  BlockPlan plan;
  std::vector<const Value*> uses;
  for (auto it = b.ops.rbegin(); it != b.ops.rend(); ++it) {
    const Op& op = **it;
    uses.clear();
    collect_uses(op, uses);
    for (int i = 0; i < op.num_results(); ++i) uses.push_back(op.result(i));
    for (const Value* v : uses) {
      if (mine.erase(v)) plan[&op].push_back(v);
    }
  }
  return plan;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

// One activation of a function.
struct Frame {
  std::unordered_map<const Value*, Literal> values;
  std::unordered_map<std::string, int64_t> symbols;
  std::vector<std::string> bound;  // in order, so that leaving a region can undo

  std::optional<int64_t> eval(const Dim& d) const {
    if (d.is_const()) return d.value();
    return d.eval([&](const Symbol& s) -> std::optional<int64_t> {
      auto it = symbols.find(s.name);
      if (it == symbols.end()) return std::nullopt;
      return it->second;
    });
  }
  void bind(const std::string& name, int64_t v) {
    symbols[name] = v;
    bound.push_back(name);
  }
  void unbind_to(size_t mark) {
    while (bound.size() > mark) {
      symbols.erase(bound.back());
      bound.pop_back();
    }
  }
};

class Machine {
 public:
  Machine(const Module& m, const EvalOptions& options) : module_(m), options_(options) {}
  Result<std::vector<Literal>> call(const Function& f, std::vector<Literal> args);
  Result<std::vector<Literal>> run_block(const Block& b, Frame& frame, std::vector<Literal> args,
                                         const Location& loc);
  const Module& module() const { return module_; }
  const EvalOptions& options() const { return options_; }

 private:
  Status enter(const Block& b, Frame& frame, const std::vector<Literal>& args, const Location& loc);
  Status run_op(const Op& op, Frame& frame, const BlockPlan& plan);
  std::vector<Literal> take_operands(const Op& op, Frame& frame, const BlockPlan& plan);
  Status check_sizes(const Op& op, const Frame& frame);
  Status check_rules(const Op& op, const Frame& frame);
  Status bind_results(const Op& op, Frame& frame, const std::vector<Literal>& results);
  Status check_results(const Op& op, const Frame& frame, const std::vector<Literal>& results);
  void observe(const Value& v, const Literal& l) {
    if (options_.observe) options_.observe(v, l);
  }

  const Module& module_;
  const EvalOptions& options_;
  std::unordered_map<const Block*, BlockPlan> plans_;
  std::unordered_map<const Op*, std::vector<SizeRule>> rules_;
  int depth_ = 0;
  const int64_t memory_ = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
};

class Context final : public EvalContext {
 public:
  Context(Machine& machine, Frame& frame, const Op& o) : machine_(machine), frame_(frame) {
    op = &o;
  }
  int64_t dim(const Dim& d) const override {
    const std::optional<int64_t> v = frame_.eval(d);
    if (!v) unknown_ = d.str();
    return v.value_or(0);
  }
  Result<std::vector<Literal>> run_region(const Block& b, std::vector<Literal> a) override {
    return machine_.run_block(b, frame_, std::move(a), op->loc);
  }
  Result<std::vector<Literal>> run_function(std::string_view fn, std::vector<Literal> a) override {
    const Function* f = machine_.module().find(fn);
    if (!f) return error("eval-no-function", "no function is called @" + std::string(fn));
    auto r = machine_.call(*f, std::move(a));
    if (r.ok() || op->loc.empty()) return r;
    Errors es = r.take_errors();
    for (auto& e : es) e.notes.push_back("called from " + op->loc.text);
    return es;
  }
  void bind_symbol(const Symbol& s, int64_t value) override { frame_.bind(s.name, value); }
  int64_t max_while_iterations() const override { return machine_.options().max_while_iterations; }
  // A dimension that could not be evaluated, empty if none was met.
  const std::string& unknown() const { return unknown_; }

 private:
  Machine& machine_;
  Frame& frame_;
  mutable std::string unknown_;
};

Result<std::vector<Literal>> Machine::call(const Function& f, std::vector<Literal> args) {
  if (depth_ >= kMaxCallDepth) {
    return Error{"eval-recursion",
                 "calls are nested " + std::to_string(kMaxCallDepth) + " deep at @" + f.name,
                 {},
                 {}};
  }
  ++depth_;
  Frame frame;
  auto r = run_block(f.body, frame, std::move(args), Location{});
  --depth_;
  return r;
}

Status Machine::enter(const Block& b, Frame& frame, const std::vector<Literal>& args,
                      const Location& loc) {
  const Function* f = b.parent_function();
  auto label = [&](size_t i) {
    const std::string& n = b.args[i]->name;
    return (f ? "argument " : "region argument ") + std::to_string(i) +
           (n.empty() ? "" : " (" + n + ")") + (f ? " of @" + f->name : "");
  };
  auto problem = [&](std::string what) { return Error{"eval-argument", std::move(what), loc, {}}; };
  if (args.size() != b.args.size()) {
    return problem((f ? "@" + f->name : std::string("the region")) + " takes " +
                   std::to_string(b.args.size()) + " arguments, given " +
                   std::to_string(args.size()));
  }
  Errors errors;
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorType& t = b.args[i]->type;
    if (args[i].dtype() != t.dtype) {
      errors.push_back(problem(label(i) + " is " + std::string(name(t.dtype)) + ", given " +
                               std::string(name(args[i].dtype()))));
    } else if (args[i].rank() != t.rank()) {
      errors.push_back(
          problem(label(i) + " is " + t.str() + ", given the shape " + dims_text(args[i].dims())));
    }
  }
  if (!errors.empty()) return errors;
  for (size_t i = 0; i < args.size(); ++i) {  // bare symbols first: expressions may need them
    const Shape& shape = b.args[i]->type.shape;
    for (size_t k = 0; k < shape.size(); ++k) {
      const SymbolRef s = shape[k].as_symbol();
      if (!s || frame.symbols.contains(s->name)) continue;
      const int64_t v = args[i].dims()[k];
      if (v < s->min || v > s->max) {
        errors.push_back(problem("dimension " + std::to_string(k) + " of " + label(i) + ", " +
                                 s->name + ", is " + std::to_string(v) + ", outside [" +
                                 std::to_string(s->min) + ", " + std::to_string(s->max) + "]"));
      }
      frame.bind(s->name, v);
    }
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const Shape& shape = b.args[i]->type.shape;
    for (size_t k = 0; k < shape.size(); ++k) {
      const std::optional<int64_t> want = frame.eval(shape[k]);
      if (want && *want == args[i].dims()[k]) continue;
      errors.push_back(problem("dimension " + std::to_string(k) + " of " + label(i) + " must be " +
                               shape[k].str() +
                               (want && !shape[k].is_const() ? " = " + std::to_string(*want) : "") +
                               ", is " + std::to_string(args[i].dims()[k])));
    }
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

Result<std::vector<Literal>> Machine::run_block(const Block& b, Frame& frame,
                                                std::vector<Literal> args, const Location& loc) {
  auto [it, fresh] = plans_.try_emplace(&b);
  if (fresh) it->second = plan_of(b);
  const BlockPlan& plan = it->second;  // references stay valid when others are added

  const size_t mark = frame.bound.size();
  TF_TRY(enter(b, frame, args, loc));
  for (size_t i = 0; i < args.size(); ++i) {
    observe(*b.args[i], args[i]);
    if (b.args[i]->has_users()) frame.values[b.args[i].get()] = std::move(args[i]);
  }
  args.clear();
  for (auto& op : b.ops) {
    if (op->def->kind == OpKind::Terminator) {
      auto results = take_operands(*op, frame, plan);
      frame.unbind_to(mark);
      return results;
    }
    TF_TRY(run_op(*op, frame, plan));
  }
  return Error{"eval-no-terminator", "a block ends without a return", loc, {}};
}

std::vector<Literal> Machine::take_operands(const Op& op, Frame& frame, const BlockPlan& plan) {
  auto it = plan.find(&op);
  std::vector<Literal> args;
  for (int i = 0; i < op.num_operands(); ++i) {
    auto v = frame.values.find(op.operand(i));
    TF_CHECK(v != frame.values.end(), op.name() + " at " + op.loc.text + " reads a missing value");
    args.push_back(v->second);
  }
  // Operands that die here are handed over, so that the op may work in place. Regions may read
  // them.
  if (it != plan.end() && op.num_regions() == 0) {
    for (const Value* v : it->second) frame.values.erase(v);
  }
  return args;
}

Result<std::vector<Literal>> eval_elementwise(EvalContext& c, Prim p) {
  const Op& op = *c.op;
  Literal out(op.result()->type.dtype, c.shape(op.result()->type));
  std::vector<const void*> args;
  std::vector<int64_t> strides;
  for (const Literal& l : c.args) {
    if (l.size() != out.size() && l.size() != 1) {
      return c.error("eval-shape", "operands differ in size");
    }
    args.push_back(l.bytes());
    strides.push_back(l.size() == out.size() ? 1 : 0);
  }
  apply(p, c.args.back().dtype(), args.data(), strides.data(), out.mutable_bytes(), out.size());
  return std::vector<Literal>{std::move(out)};
}

Status Machine::run_op(const Op& op, Frame& frame, const BlockPlan& plan) {
  Context c(*this, frame, op);
  // Sizes that the op itself binds are known after it has run.
  const Attr* binds = op.attr("bound_symbols");
  TF_TRY(check_rules(op, frame));
  if (!binds) TF_TRY(check_sizes(op, frame));
  c.args = take_operands(op, frame, plan);
  if (!op.def->eval && !op.def->prim) {
    return c.error("eval-unsupported", "has no evaluator");
  }
  auto r = op.def->eval ? op.def->eval(c) : eval_elementwise(c, *op.def->prim);
  c.args.clear();
  if (!c.unknown().empty()) {
    return c.error("eval-unknown-size", "size " + c.unknown() + " has no value here");
  }
  if (!r.ok()) return r.take_errors();
  std::vector<Literal> results = std::move(r).value();
  if (binds) TF_TRY(bind_results(op, frame, results));
  TF_TRY(check_results(op, frame, results));
  for (int i = 0; i < op.num_results(); ++i) {
    observe(*op.result(i), results[i]);
    if (op.result(i)->has_users()) frame.values[op.result(i)] = std::move(results[i]);
  }
  if (auto it = plan.find(&op); it != plan.end()) {
    for (const Value* v : it->second) frame.values.erase(v);
  }
  return ok_status();
}

// Symbols of "bound_symbols" get the sizes the results turned out to have.
Status Machine::bind_results(const Op& op, Frame& frame, const std::vector<Literal>& results) {
  for (int i = 0; i < op.num_results() && i < static_cast<int>(results.size()); ++i) {
    const Shape& shape = op.result(i)->type.shape;
    if (results[i].rank() != static_cast<int>(shape.size())) continue;
    for (size_t k = 0; k < shape.size(); ++k) {
      const SymbolRef s = shape[k].as_symbol();
      if (!s || frame.symbols.contains(s->name)) continue;
      const int64_t v = results[i].dims()[k];
      if (v < s->min || v > s->max) {
        return Error{"size-out-of-bounds",
                     op.name() + ": size " + s->name + " is " + std::to_string(v) +
                         ", outside its bounds [" + std::to_string(s->min) + ", " +
                         std::to_string(s->max) + "]",
                     op.loc,
                     {}};
      }
      frame.bind(s->name, v);
    }
  }
  return ok_status();
}

// What the op needs of its operands' shapes and their types leave open.
Status Machine::check_rules(const Op& op, const Frame& frame) {
  auto [it, fresh] = rules_.try_emplace(&op);
  if (fresh) it->second = size_rules(op);
  for (const SizeRule& r : it->second) {
    const std::optional<int64_t> a = frame.eval(r.a), b = frame.eval(r.b);
    if (!a || !b || r.holds(*a, *b)) continue;  // sizes without a value are found later
    Error e{r.id(), op.name() + ": " + r.broken(*a, *b), op.loc, {}};
    for (auto& o : op.origins) e.notes.push_back("from node " + o);
    return e;
  }
  return ok_status();
}

// Before the op runs, so that its evaluator never meets a negative or unknown size.
Status Machine::check_sizes(const Op& op, const Frame& frame) {
  for (int i = 0; i < op.num_results(); ++i) {
    int64_t bytes = byte_size(op.result(i)->type.dtype);
    for (const Dim& d : op.result(i)->type.shape) {
      const std::optional<int64_t> v = frame.eval(d);
      if (v && *v >= 0 && !__builtin_mul_overflow(bytes, *v, &bytes) && bytes <= memory_) continue;
      Error e{"eval-size", op.name() + ": size " + d.str(), op.loc, {}};
      e.message += !v       ? " has no value here"
                   : *v < 0 ? " is " + std::to_string(*v) + ", which is negative"
                            : " makes a tensor larger than this machine's memory";
      return e;
    }
  }
  return ok_status();
}

Status Machine::check_results(const Op& op, const Frame& frame,
                              const std::vector<Literal>& results) {
  auto problem = [&](std::string what) {
    Error e{"eval-result", op.name() + ": " + std::move(what), op.loc, {}};
    for (auto& o : op.origins) e.notes.push_back("from node " + o);
    return e;
  };
  if (static_cast<int>(results.size()) != op.num_results()) {
    return problem("gave " + std::to_string(results.size()) + " results, has " +
                   std::to_string(op.num_results()));
  }
  for (int i = 0; i < op.num_results(); ++i) {
    const TensorType& t = op.result(i)->type;
    bool same = results[i].dtype() == t.dtype && results[i].rank() == t.rank();
    for (int k = 0; same && k < t.rank(); ++k) {
      const std::optional<int64_t> want = frame.eval(t.shape[k]);
      same = want && *want == results[i].dims()[k];
    }
    if (!same) {
      return problem("result " + std::to_string(i) + " is stated to be " + t.str() + ", but is " +
                     results[i].type().str());
    }
  }
  return ok_status();
}

}  // namespace

Result<std::vector<Literal>> evaluate(const Module& m, const Function& f,
                                      const std::vector<Literal>& args,
                                      const EvalOptions& options) {
  Machine machine(m, options);
  return machine.call(f, args);
}

}  // namespace tenfold
