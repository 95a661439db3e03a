// What runs where, in which order, and what crosses between host and chip.
#include "backends/tpu/matrix/compile.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "backends/tpu/matrix/emit.h"
#include "fmt/format.h"

namespace tenfold::tpu::matrix {

namespace {

// The values an op reads from outside itself, regions included.
void reads(const Op& op, std::vector<const Value*>& out) {
  std::unordered_set<const Block*> inside;
  for (int i = 0; i < op.num_regions(); ++i) inside.insert(op.region(i));
  std::unordered_set<const Value*> defined;
  const auto visit = [&](auto&& self, const Op& o) -> void {
    for (const Value* v : o.operands()) {
      if (!defined.contains(v)) out.push_back(v);
    }
    for (int i = 0; i < o.num_regions(); ++i) {
      for (const auto& a : o.region(i)->args) defined.insert(a.get());
      for (const auto& inner : o.region(i)->ops) self(self, *inner);
    }
    for (int i = 0; i < o.num_results(); ++i) defined.insert(o.result(i));
  };
  visit(visit, op);
}

class Compiler {
 public:
  Compiler(Module& m, const Chip& chip, const CompileOptions& options)
      : m_(m),
        f_(*m.main()),
        planner_(constants_, options.values),
        emitter_(chip, constants_, planner_, options.values) {}

  Result<MatrixModel> run() {
    TF_TRY(check_sizes());
    place();
    emitter_.usual_order = [this](int64_t rank) { return usual_order(rank); };
    emitter_.fetch = [this](const Value* v) { return fetch(v); };
    TF_TRY(schedule());
    for (const Value* v : f_.body.results()) {
      if (emitter_.tensors.contains(v) && !made_by_.contains(v) && v->def()) {
        model_.results.push_back(leave(v));
      }
    }
    TF_TRY(emitter_.finish());
    for (const Tile& t : emitter_.program.tiles) model_.weight_bytes += t.k * t.n;
    emitter_.program.host_bytes = host_bytes_;
    for (size_t i = 0; i < model_.steps.size(); ++i) {
      emitter_.program.steps.push_back({static_cast<int64_t>(i)});
    }
    model_.program = std::move(emitter_.program);
    return std::move(model_);
  }

 private:
  Status check_sizes() {
    for (const auto& a : f_.body.args) {
      if (!a->type.is_static()) {
        return Error{"tpu-open-size",
                     fmt::format("input `{}` has the type {}, a chip needs numbers; give its shape "
                                 "with --shape {}=...",
                                 a->name, a->type.str(), a->name),
                     {m_.source},
                     {}};
      }
    }
    return ok_status();
  }

  // Channels last in memory, whichever way the model writes its images.
  std::vector<int64_t> usual_order(int64_t rank) {
    if (!channels_first_) {
      channels_first_ = false;
      for (const auto& op : f_.body.ops) {
        if (op->is("stablehlo.convolution")) {
          channels_first_ = op->i64("input_feature_dimension") == 1;
          break;
        }
        if (op->is("stablehlo.reduce_window") && op->operand()->type.rank() == 4) {
          const Attr* w = op->attr("window_dimensions");
          if (w) channels_first_ = !(op->dims("window_dimensions")[3] == Dim(1));
        }
      }
    }
    std::vector<int64_t> order(static_cast<size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    if (*channels_first_ && rank >= 3 && rank <= 4) {
      order.erase(order.begin() + 1);
      order.push_back(1);
    }
    return order;
  }

  // From the results backwards: which int8 values the chip makes, which ops the host runs.
  void place() {
    std::vector<const Value*> todo(f_.body.results().begin(), f_.body.results().end());
    while (!todo.empty()) {
      const Value* v = todo.back();
      todo.pop_back();
      if (!seen_.insert(v).second || !v->def() || constants_.is_constant(v)) continue;
      const Op* op = v->def();
      if (is_int8(v->type.dtype)) {
        Plan plan = planner_.plan(v);
        if (!std::holds_alternative<std::monostate>(plan.what)) {
          todo.insert(todo.end(), plan.leaves.begin(), plan.leaves.end());
          plans_.emplace(v, std::move(plan));
          continue;
        }
        reasons_[op] = plan.reason;
      }
      host_.insert(op);
      for (int i = 0; i < op->num_results(); ++i) seen_.insert(op->result(i));
      reads(*op, todo);
    }
  }

  // All device ops that are ready, then all host ops that are ready, until nothing is left: as few
  // crossings as the graph allows.
  Status schedule() {
    std::unordered_set<const Value*> ready;
    for (const auto& a : f_.body.args) ready.insert(a.get());
    const auto is_ready = [&](const Value* v) {
      return ready.contains(v) || constants_.is_constant(v);
    };
    const auto all_ready = [&](const std::vector<const Value*>& vs) {
      return std::all_of(vs.begin(), vs.end(), is_ready);
    };
    std::vector<const Op*> left;
    for (const auto& op : f_.body.ops) {
      const bool device = op->num_results() == 1 && plans_.contains(op->result());
      if (device || host_.contains(op.get())) left.push_back(op.get());
    }
    while (!left.empty()) {
      const size_t before = left.size();
      for (const bool device : {true, false}) {
        std::vector<const Op*> now, later;
        for (const Op* op : left) {
          const bool mine = op->num_results() == 1 && plans_.contains(op->result());
          std::vector<const Value*> needs;
          if (mine) {
            needs = plans_.at(op->result()).leaves;
          } else {
            reads(*op, needs);
          }
          if (mine != device || !all_ready(needs)) {
            later.push_back(op);
            continue;
          }
          now.push_back(op);
          for (int i = 0; i < op->num_results(); ++i) ready.insert(op->result(i));
          if (device) TF_TRY(emitter_.emit(op->result(), plans_.at(op->result())));
        }
        if (!device && !now.empty()) TF_TRY(step(now));
        left = std::move(later);
      }
      TF_CHECK(left.size() < before, "ops that wait for each other");
    }
    return ok_status();
  }

  int64_t host_room(const Value* v) {
    const int64_t at = host_bytes_;
    host_bytes_ += (v->type.num_elements().value() + 63) / 64 * 64;
    return at;
  }

  // A value of the host, or an argument, onto the chip.
  Status fetch(const Value* v) {
    const auto order = usual_order(v->type.rank());
    const Tensor t = emitter_.make(dims_of(v), order);
    const Crossing c{v, host_room(v), order};
    if (const auto made = made_by_.find(v); made != made_by_.end()) {
      model_.steps[made->second].to_chip.push_back(c);
    } else {
      TF_CHECK(!v->def(), "a value that nobody makes");
      model_.arguments.push_back(c);
    }
    Inst i{Opcode::ReadHost, {c.address, t.base, t.bytes()}};
    emitter_.program.insts.push_back(i);
    emitter_.tensors[v] = t;
    return ok_status();
  }

  // A value of the chip into host memory.
  Crossing leave(const Value* v) {
    const Tensor& t = emitter_.tensors.at(v);
    emitter_.read(t);
    const Crossing c{v, host_room(v), t.order};
    emitter_.program.insts.push_back({Opcode::WriteHost, {t.base, c.address, t.bytes()}});
    return c;
  }

  Status step(const std::vector<const Op*>& ops) {
    Step s;
    const size_t number = model_.steps.size();
    s.function = m_.add_function(m_.unique_function_name("host_step"), false);
    std::unordered_map<const Value*, Value*> map;
    std::unordered_set<const Value*> inside;
    for (const Op* op : ops) {
      for (int i = 0; i < op->num_results(); ++i) inside.insert(op->result(i));
    }
    // Constants are cloned; everything else from outside is an input.
    const auto bring = [&](auto&& self, const Value* v) -> void {
      if (map.contains(v) || inside.contains(v)) return;
      if (constants_.is_constant(v)) {
        for (const Value* o : v->def()->operands()) self(self, o);
        Op* copy = s.function->body.append(clone_op(*v->def(), map));
        map[v] = copy->result();
        return;
      }
      map[v] = s.function->body.add_arg(v->type, v->name);
      s.inputs.push_back(v);
      if (emitter_.tensors.contains(v) && plans_.contains(v)) s.from_chip.push_back(leave(v));
    };
    for (const Op* op : ops) {
      std::vector<const Value*> needs;
      reads(*op, needs);
      for (const Value* v : needs) bring(bring, v);
      Op* copy = s.function->body.append(clone_op(*op, map));
      for (int i = 0; i < op->num_results(); ++i) map[op->result(i)] = copy->result(i);
      note(*op);
    }
    // What anybody outside may want.
    std::vector<Value*> results;
    const auto& returned = f_.body.results();
    for (const Op* op : ops) {
      for (int i = 0; i < op->num_results(); ++i) {
        const Value* v = op->result(i);
        const bool out = std::find(returned.begin(), returned.end(), v) != returned.end() ||
                         std::any_of(v->users().begin(), v->users().end(), [&](const Op* u) {
                           return std::find(ops.begin(), ops.end(), u) == ops.end();
                         });
        if (!out) continue;
        s.outputs.push_back(v);
        results.push_back(map[v]);
        made_by_[v] = number;
      }
    }
    const OpDef* ret = f_.body.terminator()->def;
    auto end = std::make_unique<Op>();
    end->def = ret;
    end->set_operands(results);
    s.function->body.append(std::move(end));
    model_.steps.push_back(std::move(s));
    emitter_.program.insts.push_back({Opcode::HostStep, {static_cast<int64_t>(number)}});
    return ok_status();
  }

  // Ops with arithmetic of their own are listed with their reason; moves and casts follow them.
  void note(const Op& op) {
    const OpKind k = op.def->kind;
    if (k == OpKind::Constant || k == OpKind::View || op.is("stablehlo.convert")) return;
    std::string reason;
    if (const auto r = reasons_.find(&op); r != reasons_.end()) reason = r->second;
    if (reason.empty()) {
      const DType t = op.num_results() > 0 ? op.result()->type.dtype : DType::F32;
      reason = fmt::format("its result is {}, not int8", tenfold::name(t));
    }
    model_.host_ops.push_back(
        {!op.origins.empty() ? op.origins.back() : op.loc.text, op.name(), std::move(reason)});
  }

  Module& m_;
  Function& f_;
  Constants constants_;
  Planner planner_;
  Emitter emitter_;
  MatrixModel model_;
  std::optional<bool> channels_first_;
  std::unordered_set<const Value*> seen_;
  std::unordered_map<const Value*, Plan> plans_;
  std::unordered_set<const Op*> host_;
  std::unordered_map<const Op*, std::string> reasons_;
  std::unordered_map<const Value*, size_t> made_by_;
  int64_t host_bytes_ = 0;
};

}  // namespace

Result<MatrixModel> compile(Module& m, const Chip& chip, const CompileOptions& options) {
  return Compiler(m, chip, options).run();
}

}  // namespace tenfold::tpu::matrix
