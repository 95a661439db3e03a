// The graph IR's bookkeeping: who uses what, who owns what, cloning.
//
// Invariant: v->users() holds op once for each i with op->operand(i) == v. Destruction keeps it in
// any order: a dying value clears the operands that still name it.
#include "graph/ir.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "graph/op_def.h"

namespace tenfold {

bool operator==(const Attr& a, const Attr& b) {
  if (a.v.index() != b.v.index()) return false;
  if (auto* l = std::get_if<Literal>(&a.v)) return l->same(std::get<Literal>(b.v));
  if (auto* d = std::get_if<std::shared_ptr<AttrDict>>(&a.v)) {
    auto& e = std::get<std::shared_ptr<AttrDict>>(b.v);
    if (!*d || !e) return !*d && !e;
    return **d == *e;
  }
  return std::visit(
      [&](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, Literal> || std::is_same_v<T, std::shared_ptr<AttrDict>>) {
          return false;  // handled above
        } else {
          return x == std::get<T>(b.v);
        }
      },
      a.v);
}

// --- Value ---------------------------------------------------------------------------------------

void Value::replace_all_uses_with(Value* other) {
  if (other == this) return;
  const std::vector<Op*> users = users_;
  for (Op* user : users) {
    for (int i = 0; i < user->num_operands(); ++i) {
      if (user->operand(i) == this) user->set_operand(i, other);
    }
  }
}

// --- Op ------------------------------------------------------------------------------------------

const std::string& Op::name() const {
  static const std::unordered_map<const OpDef*, std::string> table = [] {
    std::unordered_map<const OpDef*, std::string> t;
    for (const OpDef* d : all_ops()) t.emplace(d, std::string(d->name));
    return t;
  }();
  if (auto it = table.find(def); it != table.end()) return it->second;
  // Descriptors outside the table: the unknown op, and those of tests.
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::string> others;
  const std::lock_guard lock(mutex);
  return others.try_emplace(def, def ? std::string(def->name) : std::string("<no op>"))
      .first->second;
}

bool Op::is(std::string_view op_name) const { return def && def->name == op_name; }

void Op::set_operand(int i, Value* v) {
  TF_CHECK(i >= 0 && i < num_operands(), name());
  Value* old = operands_[i];
  if (old == v) return;
  if (old) {
    auto& users = old->users_;
    auto it = std::find(users.rbegin(), users.rend(), this);
    TF_CHECK(it != users.rend(), name());
    users.erase(std::next(it).base());
  }
  operands_[i] = v;
  if (v) v->users_.push_back(this);
}

void Op::set_operands(std::vector<Value*> vs) {
  for (int i = num_operands() - 1; i >= 0; --i) set_operand(i, nullptr);
  operands_.assign(vs.size(), nullptr);
  for (size_t i = 0; i < vs.size(); ++i) set_operand(static_cast<int>(i), vs[i]);
}

Value* Op::add_result(TensorType t, std::string name) {
  auto v = std::make_unique<Value>();
  v->type = std::move(t);
  v->name = std::move(name);
  v->def_ = this;
  v->index_ = num_results();
  results_.push_back(std::move(v));
  return results_.back().get();
}

Block* Op::add_region() {
  regions_.push_back(std::make_unique<Block>());
  regions_.back()->parent_op_ = this;
  return regions_.back().get();
}

const Attr* Op::attr(std::string_view n) const {
  for (auto& [key, value] : attrs) {
    if (key == n && value.present()) return &value;
  }
  return nullptr;
}

namespace {
template <class T>
const T& get_attr(const Op& op, std::string_view n) {
  const Attr* a = op.attr(n);
  TF_CHECK(a, op.name() + " has no attribute " + std::string(n));
  const T* v = std::get_if<T>(&a->v);
  TF_CHECK(v, op.name() + ": attribute " + std::string(n) + " is of another kind");
  return *v;
}
}  // namespace

int64_t Op::i64(std::string_view n) const { return get_attr<int64_t>(*this, n); }
bool Op::flag(std::string_view n) const { return attr(n) && get_attr<bool>(*this, n); }
double Op::f64(std::string_view n) const { return get_attr<double>(*this, n); }
const std::string& Op::str(std::string_view n) const { return get_attr<std::string>(*this, n); }
const std::vector<int64_t>& Op::i64s(std::string_view n) const {
  return get_attr<std::vector<int64_t>>(*this, n);
}
const std::vector<Dim>& Op::dims(std::string_view n) const {
  return get_attr<std::vector<Dim>>(*this, n);
}
const Literal& Op::lit(std::string_view n) const { return get_attr<Literal>(*this, n); }

void Op::set_attr(std::string_view n, Attr a) {
  for (auto& [key, value] : attrs) {
    if (key == n) {
      value = std::move(a);
      return;
    }
  }
  if (!def) {
    attrs.emplace_back(std::string(n), std::move(a));
    return;
  }
  // Keeps the order of the op's specification.
  auto rank = [&](std::string_view key) {
    for (size_t i = 0; i < def->attrs.size(); ++i) {
      if (def->attrs[i].name == key) return i;
    }
    return def->attrs.size();
  };
  const size_t r = rank(n);
  auto it = attrs.begin();
  while (it != attrs.end() && rank(it->first) <= r) ++it;
  attrs.emplace(it, std::string(n), std::move(a));
}

Op::~Op() {
  regions_.clear();
  for (int i = num_operands() - 1; i >= 0; --i) set_operand(i, nullptr);
  for (auto& r : results_) {
    const std::vector<Op*> users = r->users_;
    for (Op* user : users) {
      for (int i = 0; i < user->num_operands(); ++i) {
        if (user->operand(i) == r.get()) user->set_operand(i, nullptr);
      }
    }
  }
}

// --- Block ---------------------------------------------------------------------------------------

Value* Block::add_arg(TensorType t, std::string name) {
  auto v = std::make_unique<Value>();
  v->type = std::move(t);
  v->name = std::move(name);
  v->block_ = this;
  v->index_ = static_cast<int>(args.size());
  args.push_back(std::move(v));
  return args.back().get();
}

Op* Block::terminator() const {
  TF_CHECK(!ops.empty() && ops.back()->def && ops.back()->def->kind == OpKind::Terminator,
           "block without a terminator");
  return ops.back().get();
}

Op* Block::append(std::unique_ptr<Op> op) { return insert_before(nullptr, std::move(op)); }

Op* Block::insert_before(Op* before, std::unique_ptr<Op> op) {
  auto pos = before ? iterator_of(before) : ops.end();
  Op* raw = op.get();
  raw->parent_ = this;
  where_[raw] = ops.insert(pos, std::move(op));
  return raw;
}

Block::Ops::iterator Block::iterator_of(Op* op) {
  auto it = where_.find(op);
  TF_CHECK(it != where_.end(), "op is not in this block");
  return it->second;
}

std::unique_ptr<Op> Block::remove(Op* op) {
  auto it = iterator_of(op);
  std::unique_ptr<Op> owned = std::move(*it);
  ops.erase(it);
  where_.erase(op);
  owned->parent_ = nullptr;
  return owned;
}

void Block::erase(Op* op) {
  for (int i = 0; i < op->num_results(); ++i) {
    TF_CHECK(!op->result(i)->has_users(), "erased " + op->name() + " is in use");
  }
  remove(op);
}

Block::~Block() {
  where_.clear();
  while (!ops.empty()) ops.pop_back();
  for (auto& a : args) {
    const std::vector<Op*> users = a->users_;
    for (Op* user : users) {
      for (int i = 0; i < user->num_operands(); ++i) {
        if (user->operand(i) == a.get()) user->set_operand(i, nullptr);
      }
    }
  }
}

Function* function_of(const Block& b) {
  const Block* at = &b;
  while (at && at->parent_op()) at = at->parent_op()->parent();
  return at ? at->parent_function() : nullptr;
}

Function* function_of(const Op& op) { return op.parent() ? function_of(*op.parent()) : nullptr; }

// --- Module --------------------------------------------------------------------------------------

Function* Module::find(std::string_view fn) const {
  for (auto& f : functions) {
    if (f->name == fn) return f.get();
  }
  return nullptr;
}

Function* Module::main() const {
  if (Function* f = find("main")) return f;
  for (auto& f : functions) {
    if (f->is_public) return f.get();
  }
  return nullptr;
}

Function* Module::add_function(std::string fn_name, bool is_public) {
  auto f = std::make_unique<Function>();
  f->name = std::move(fn_name);
  f->is_public = is_public;
  f->module = this;
  functions.push_back(std::move(f));
  return functions.back().get();
}

std::string Module::unique_function_name(std::string_view stem) const {
  std::string candidate(stem);
  std::set<std::string_view> used;
  for (auto& f : functions) used.insert(f->name);
  for (int i = 1; used.contains(candidate); ++i) {
    candidate = std::string(stem) + "_" + std::to_string(i);
  }
  return candidate;
}

std::string Module::unique_symbol_name(std::string_view stem) const {
  std::vector<SymbolRef> symbols;
  std::set<std::string, std::less<>> used;
  auto add_args = [&](const Block& b) {
    for (auto& a : b.args) {
      for (const Dim& d : a->type.shape) {
        if (!d.is_const()) d.collect_symbols(symbols);
      }
    }
  };
  for (auto& f : functions) {
    add_args(f->body);
    walk(f->body, [&](const Op* op) {
      for (int i = 0; i < op->num_regions(); ++i) add_args(*op->region(i));
      if (op->is("tenfold.bind_symbol")) used.insert(op->str("symbol"));
      if (const Attr* a = op->attr("bound_symbols")) {
        const auto& names = a->as<std::vector<std::string>>();
        used.insert(names.begin(), names.end());
      }
    });
  }
  for (auto& s : symbols) used.insert(s->name);
  std::string candidate(stem);
  for (int i = 1; used.contains(candidate); ++i) {
    candidate = std::string(stem) + "_" + std::to_string(i);
  }
  return candidate;
}

namespace {
using ValueMap = std::unordered_map<const Value*, Value*>;

Attr clone_attr(const Attr& a) {
  if (auto* d = std::get_if<std::shared_ptr<AttrDict>>(&a.v); d && *d) {
    auto copy = std::make_shared<AttrDict>();
    for (auto& [k, v] : **d) copy->emplace_back(k, clone_attr(v));
    return Attr{std::move(copy)};
  }
  return a;
}

void clone_block(const Block& from, Block& to, ValueMap& map) {
  for (auto& a : from.args) map[a.get()] = to.add_arg(a->type, a->name);
  for (auto& op : from.ops) to.append(clone_op(*op, map));
}
}  // namespace

std::unique_ptr<Op> clone_op(const Op& op, ValueMap& map) {
  auto copy = std::make_unique<Op>();
  copy->def = op.def;
  for (auto& [k, v] : op.attrs) copy->attrs.emplace_back(k, clone_attr(v));
  copy->loc = op.loc;
  copy->origins = op.origins;
  std::vector<Value*> operands;
  for (Value* v : op.operands()) {
    auto it = map.find(v);
    operands.push_back(it == map.end() ? v : it->second);
  }
  copy->set_operands(std::move(operands));
  for (int i = 0; i < op.num_results(); ++i) {
    map[op.result(i)] = copy->add_result(op.result(i)->type, op.result(i)->name);
  }
  for (int i = 0; i < op.num_regions(); ++i) clone_block(*op.region(i), *copy->add_region(), map);
  return copy;
}

std::unique_ptr<Module> Module::clone() const {
  auto copy = std::make_unique<Module>();
  copy->name = name;
  copy->source = source;
  for (auto& f : functions) {
    Function* g = copy->add_function(f->name, f->is_public);
    g->result_names = f->result_names;
    ValueMap map;
    clone_block(f->body, g->body, map);
  }
  return copy;
}

}  // namespace tenfold
