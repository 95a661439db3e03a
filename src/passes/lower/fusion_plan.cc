// See fusion_plan.h. Ops are visited last to first, so every user's group is known when an op
// chooses: it joins its users' only group, or is recomputed in several when that is cheap, or
// becomes the root of a group of its own.
#include "passes/lower/fusion_plan.h"

#include <algorithm>

namespace tenfold {
namespace {

constexpr int kMaxGroupMembers = 96;
constexpr double kMaxRedundantReads = 4;  // of a cheap op's element
constexpr double kMaxRedundantExpensive = 1.5;

bool is_terminator(const Op& op) { return op.def->kind == OpKind::Terminator; }

bool expensive(Prim p) {
  switch (p) {
    case Prim::Exp:
    case Prim::Expm1:
    case Prim::Log:
    case Prim::Log1p:
    case Prim::Logistic:
    case Prim::Sin:
    case Prim::Cos:
    case Prim::Tan:
    case Prim::Asin:
    case Prim::Acos:
    case Prim::Atan:
    case Prim::Sinh:
    case Prim::Cosh:
    case Prim::Tanh:
    case Prim::Asinh:
    case Prim::Acosh:
    case Prim::Atanh:
    case Prim::Erf:
    case Prim::Lgamma:
    case Prim::Pow:
    case Prim::Atan2:
    case Prim::Cbrt:
    case Prim::Div:
    case Prim::Rem:
    case Prim::FloorDiv:
    case Prim::FloorMod:
    case Prim::Sqrt:
    case Prim::Rsqrt:
      return true;
    default:
      return false;
  }
}

bool is_expensive(const Op& op) {
  if (op.def->prim) return expensive(*op.def->prim);
  return op.def->kind != OpKind::View && op.def->kind != OpKind::Constant;
}

// A view that keeps every element and moves no element of the last dimension out of its place.
bool is_epilogue_view(const Op& op) {
  if (!op.def->forward) return false;
  const Attr* perm = op.attr("permutation");
  return !perm || perm->as<std::vector<int64_t>>().back() == op.result()->type.rank() - 1;
}

// Heroes that read each operand element once; every other hero reads it many times.
bool reads_once(const Op& hero) { return hero.def->kind == OpKind::Reduce; }

// Views that a hero may read through as often as it likes: they add index arithmetic only.
bool is_free_view(const Op& op) {
  return op.def->kind == OpKind::View && op.def->element && !guards_operands(op) &&
         op.def->max_operands == 1;
}

// Contractions read through widening conversions too, so that bytes and halves stay so in memory.
bool reads_through(const Op& hero, const Op& op) {
  if (is_free_view(op)) return true;
  const bool multiplies = hero.def->kind == OpKind::Contraction || hero.is("stablehlo.convolution");
  return is_widening(op) && (multiplies || is_free_view(hero) || is_widening(hero));
}

double nominal(const Dim& d) {
  auto v = d.eval([](const Symbol& s) -> std::optional<int64_t> {
    if (s.max <= 4096) return s.max;
    return std::max<int64_t>(s.min, 64);
  });
  return v ? static_cast<double>(std::max<int64_t>(*v, 0)) : 64.0;
}

double nominal_elements(const TensorType& t) {
  double n = 1;
  for (const auto& d : t.shape) n *= nominal(d);
  return n;
}

class Planner {
 public:
  Planner(const Block& b, const FusionOptions& o) : block_(b), options_(o) {}

  BlockPlan run() {
    for (auto it = block_.ops.rbegin(); it != block_.ops.rend(); ++it) place(it->get());
    std::reverse(groups_.begin(), groups_.end());
    BlockPlan plan;
    plan.groups = std::move(groups_);
    for (size_t i = 0; i < plan.groups.size(); ++i) {
      order_epilogue(plan.groups[i]);
      plan.group_of_root[plan.groups[i].root] = static_cast<int>(i);
    }
    return plan;
  }

 private:
  void place(Op* op) {
    if (is_structural(*op) || is_terminator(*op) || op->is("stablehlo.constant")) return;
    bool used = false;
    for (int i = 0; i < op->num_results(); ++i) used |= op->result(i)->has_users();
    if (!used) return;
    std::vector<int> consumers;
    bool materialize = !options_.fuse || op->num_results() != 1;
    if (!materialize) materialize = !collect_consumers(*op, consumers);
    if (!materialize && is_elemental(*op)) {
      if (consumers.size() == 1 ? may_join(*op, consumers[0]) : may_duplicate(*op, consumers)) {
        for (int g : consumers) join(op, g);
        return;
      }
    } else if (!materialize && consumers.size() == 1 && may_be_hero(*op, consumers[0])) {
      Group& g = groups_[consumers[0]];
      g.hero = op;
      join(op, consumers[0]);
      return;
    }
    Group g;
    g.root = op;
    if (!is_elemental(*op)) g.hero = op;
    g.members.insert(op);
    groups_.push_back(std::move(g));
    homes_[op] = {static_cast<int>(groups_.size()) - 1};
  }

  void join(Op* op, int g) {
    groups_[g].members.insert(op);
    homes_[op].push_back(g);
  }

  // Groups that read op's result inline; false when something needs it in a buffer.
  bool collect_consumers(const Op& op, std::vector<int>& out) {
    const Value* v = op.result();
    for (const Op* u : v->users()) {
      if (u->parent() != &block_ || is_structural(*u) || is_terminator(*u)) return false;
      for (int i = 0; i < u->num_operands(); ++i)
        if (u->operand(i) == v && (u->def->needs_buffer >> std::min(i, 63) & 1)) return false;
      auto home = homes_.find(u);
      if (home == homes_.end()) continue;  // a dead user
      for (int g : home->second)
        if (std::find(out.begin(), out.end(), g) == out.end()) out.push_back(g);
      if (!is_elemental(*u) && !reads_once(*u) && !reads_through(*u, op)) return false;
      if (reread_.count(u) && !reads_through(*u, op)) return false;
    }
    // What a heavy reader reads through a view, it reads as often.
    for (const Op* u : v->users())
      if ((!is_elemental(*u) && !reads_once(*u)) || reread_.count(u)) reread_.insert(&op);
    return !out.empty();
  }

  bool may_join(const Op& op, int g) {
    if (static_cast<int>(groups_[g].members.size()) >= kMaxGroupMembers) return false;
    double n = std::max(1.0, nominal_elements(op.result()->type));
    double reads = 0, same_index = 0;
    int guarded = 0;
    for (const Op* u : op.result()->users()) {
      double e = evaluations(*u);
      if (u->def->kind == OpKind::Elementwise)
        same_index = std::max(same_index, e);
      else
        reads += e;
      guarded += guards_operands(*u) || under_guard_.count(u);
    }
    if (guarded && !options_.inline_under_guards) {
      if (op.def->kind == OpKind::Elementwise) return false;
      under_guard_.insert(&op);
    }
    reads += same_index;
    // What narrows its operand (a quantization) leaves little to copy: it goes with what made the
    // operand, and the pad or concatenation copies bytes.
    if (guarded && op.is("stablehlo.convert") &&
        bit_width(op.result()->type.dtype) < bit_width(op.operand()->type.dtype))
      return false;
    // Sharing under a guard cannot be hoisted into one evaluation.
    if (guarded && op.result()->users().size() > 1 && is_expensive(op)) return false;
    evaluations_[&op] = std::max(reads, 1.0);
    double limit = is_expensive(op) ? kMaxRedundantExpensive : kMaxRedundantReads;
    if (op.def->kind == OpKind::Constant || is_free_view(op)) return true;
    if (is_widening(op) && reread_.count(&op)) return true;
    return reads <= limit * n;
  }

  bool may_duplicate(const Op& op, const std::vector<int>& consumers) {
    if (op.def->kind == OpKind::Constant) return consumers.size() <= 8;
    // A widening read many times: its operand stands in memory.
    if (is_widening(op) && reread_.count(&op)) return consumers.size() <= 8;
    if (!is_free_view(op)) return false;
    // Only a view of something that stands in memory anyway, or in no memory at all.
    const Op* producer = op.operand()->def();
    if (consumers.size() > 8 && !(producer && is_immediate(*producer))) return false;
    if (producer && !producer->is("stablehlo.constant") && producer->parent() == &block_ &&
        is_elemental(*producer) && !(is_widening(*producer) && reread_.count(&op)))
      return false;
    for (int g : consumers)
      if (static_cast<int>(groups_[g].members.size()) >= kMaxGroupMembers) return false;
    return true;
  }

  double evaluations(const Op& op) {
    auto it = evaluations_.find(&op);
    if (it != evaluations_.end()) return it->second;
    double n = 0;
    if (op.def->kind == OpKind::Reduce)
      n = nominal_elements(op.operand()->type);
    else if (op.num_results())
      n = nominal_elements(op.result()->type);
    return evaluations_[&op] = std::max(n, 1.0);
  }

  // All ops from `hero` to the group's root must see the hero's element at one index.
  bool may_be_hero(const Op& hero, int gi) {
    Group& g = groups_[gi];
    if (g.hero || !hero.def->emit) return false;
    // Only these store each result element once, through EmitContext::store.
    if (hero.def->kind != OpKind::Contraction && hero.def->kind != OpKind::Window &&
        hero.def->kind != OpKind::Reduce)
      return false;
    // Signature: the chain of views applied since the hero.
    std::unordered_map<const Op*, std::vector<const Op*>> signature{{&hero, {}}};
    std::vector<const Op*> ordered = path_ops(hero, g);
    for (const Op* op : ordered) {
      if (op == &hero) continue;
      const std::vector<const Op*>* sig = nullptr;
      for (const Value* v : op->operands()) {
        auto it = v->def() ? signature.find(v->def()) : signature.end();
        if (it == signature.end()) continue;
        if (sig && *sig != it->second) return false;
        sig = &it->second;
      }
      if (!sig) continue;
      std::vector<const Op*> s = *sig;
      if (op->def->kind == OpKind::Elementwise) {
        signature[op] = std::move(s);
      } else if (is_epilogue_view(*op)) {
        s.push_back(op);
        signature[op] = std::move(s);
      } else {
        return false;
      }
    }
    return signature.count(g.root) > 0;
  }

  // Members of the group that depend on `from`, in block order.
  std::vector<const Op*> path_ops(const Op& from, const Group& g) {
    std::unordered_set<const Op*> reach{&from};
    std::vector<const Op*> work{&from};
    while (!work.empty()) {
      const Op* op = work.back();
      work.pop_back();
      for (const Op* u : op->result()->users())
        if (g.members.count(u) && reach.insert(u).second) work.push_back(u);
    }
    std::vector<const Op*> out(reach.begin(), reach.end());
    if (order_.empty()) {
      int n = 0;
      for (auto& op : block_.ops) order_[op.get()] = n++;
    }
    std::sort(out.begin(), out.end(),
              [&](const Op* a, const Op* b) { return order_[a] < order_[b]; });
    return out;
  }

  void order_epilogue(Group& g) {
    if (!g.hero || g.hero == g.root) return;
    for (const Op* op : path_ops(*g.hero, g))
      if (op != g.hero) g.epilogue.push_back(const_cast<Op*>(op));
  }

  const Block& block_;
  FusionOptions options_;
  std::vector<Group> groups_;
  std::unordered_map<const Op*, std::vector<int>> homes_;
  std::unordered_map<const Op*, double> evaluations_;
  std::unordered_set<const Op*> reread_;
  std::unordered_set<const Op*> under_guard_;  // views that a guarded read looks through
  std::unordered_map<const Op*, int> order_;
};

}  // namespace

bool is_elemental(const Op& op) {
  return op.num_results() == 1 && (op.def->prim || op.def->element);
}

bool is_structural(const Op& op) {
  return op.def->kind == OpKind::Region || op.is("tenfold.bind_symbol");
}

bool is_immediate(const Op& op) {
  return op.is("stablehlo.constant") && op.lit("value").size() >= 1 && op.lit("value").is_splat();
}

bool is_widening(const Op& op) {
  if (!op.is("stablehlo.convert")) return false;
  const DType from = op.operand()->type.dtype, to = op.result()->type.dtype;
  if (is_complex(from) || is_complex(to) || bit_width(from) >= bit_width(to)) return false;
  if (is_float(from)) return is_float(to) && bit_width(from) >= 8;
  return from == DType::I8 || from == DType::U8 || from == DType::I16 || from == DType::U16;
}

bool guards_operands(const Op& op) { return op.def->guards_operands; }

BlockPlan plan_fusion(const Block& b, const FusionOptions& options) {
  return Planner(b, options).run();
}

}  // namespace tenfold
