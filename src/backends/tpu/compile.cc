// See compile.h.
#include "backends/tpu/compile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "backends/tpu/chain.h"
#include "backends/tpu/count.h"
#include "backends/tpu/memory.h"
#include "backends/tpu/stage.h"
#include "passes/lower/fusion_plan.h"

namespace tenfold::tpu {

namespace {

using GraphOp = tenfold::Op;

// VMEM, in rows: a margin that ragged loads may touch, the register allocator's spills, tensors
// that stay between kernels, and two staging areas that kernels take in turn so that one can fill
// while the other is worked on.
struct VmemMap {
  int64_t margin = 512, spill = 1024;
  int64_t resident = 0, resident_rows = 0, end = 0;
  int64_t area[2] = {0, 0}, area_rows = 0;
  explicit VmemMap(const Chip& chip) {
    const int64_t all = chip.vmem_bytes / kRowBytes;
    resident = margin + spill;
    end = all - margin;
    resident_rows = (end - resident) * 11 / 20 / 8 * 8;
    keep(resident_rows);
  }
  // What tensors that stay do not need goes to the staging areas.
  void keep(int64_t rows) {
    area_rows = (end - resident - rows) / 2 / 8 * 8;
    area[0] = resident + rows;
    area[1] = area[0] + area_rows;
  }
};

struct ValueState {
  Layout layout;
  int def = -1, last = -1;  // steps
  bool chip = false;        // some kernel touches it
  bool host_reads = false, host_defines = false;
  bool input = false, constant = false, output = false;
  Lifetime hbm, vmem;
  bool resident = false;
  // An argument that a loop reads: brought onto the chip once, before its first round.
  std::optional<std::pair<int, int>> in_loop;
  Lifetime loop_vmem;
};

struct Step {
  enum class Kind : uint8_t { Kernel, Host, Copy, Count, LoopBegin, LoopEnd } kind = Kind::Kernel;
  std::optional<Nest> nest;                    // Kernel
  int host = -1;                               // Host: index into host works
  const Value *from = nullptr, *to = nullptr;  // Copy, whole
  int64_t trips = 0;                           // LoopBegin
  int partner = -1;                            // LoopBegin, LoopEnd: the other
  int depth = 0;
  std::vector<int32_t> nodes;
};

int64_t real_bytes(const TensorType& t) {
  if (!t.is_static()) return 0;
  int64_t n = byte_size(t.dtype);
  for (int64_t d : t.static_shape()) n *= d;
  return n;
}

std::string node_name(const GraphOp& op) {
  if (!op.origins.empty()) return op.origins.front();
  if (op.num_results() && !op.result()->name.empty()) return op.result()->name;
  return op.loc.empty() ? std::string(op.def->name) : op.loc.text;
}

// Values that an op reads, those its regions take from outside included.
void reads_of(const GraphOp& op, std::vector<const Value*>& out) {
  std::unordered_set<const Value*> inside;
  const std::function<void(const GraphOp&)> visit = [&](const GraphOp& o) {
    for (const Value* v : o.operands())
      if (!inside.count(v)) out.push_back(v);
    for (int i = 0; i < o.num_regions(); ++i) {
      for (auto& a : o.region(i)->args) inside.insert(a.get());
      for (auto& p : o.region(i)->ops) {
        visit(*p);
        for (int r = 0; r < p->num_results(); ++r) inside.insert(p->result(r));
      }
    }
  };
  visit(op);
}

class ChipCompiler {
 public:
  // Groups (by root and size) that turned out not to fit the chip once their code was written.
  using Refused = std::map<std::pair<const GraphOp*, size_t>, std::string>;

  ChipCompiler(const Module& m, const Chip& chip, const TpuOptions& o, Refused* refused)
      : module_(m), chip_(chip), options_(o), refused_(*refused), vmem_(chip) {
    context_.chip = &chip;
    context_.precision = o.precision;
  }

  Result<ChipProgram> run() {
    const Function* f = module_.main();
    if (!f) return Error{"no-entry", "the module has no function to compile", {module_.source}, {}};
    block_ = &f->body;
    block_results_.assign(f->body.results().begin(), f->body.results().end());
    plan(f->body);
    uses();
    TF_TRY(allocate());
    TF_TRY(emit());
    for (auto& [v, l] : constants_) out_.known.emplace_back(v, l);
    return std::move(out_);
  }

 private:
  // --- plan ------------------------------------------------------------------------------------

  void plan(const Block& block) {
    FusionOptions fusion;
    fusion.fuse = options_.fuse;
    fusion.inline_under_guards = false;
    const BlockPlan groups = plan_fusion(block, fusion);
    for (auto& op : block.ops) {
      if (op->def->kind == OpKind::Terminator || op->is("stablehlo.constant")) continue;
      if (is_structural(*op)) {
        std::string why = try_loop(*op);
        if (!why.empty()) on_host({op.get()}, why);
        continue;
      }
      auto it = groups.group_of_root.find(op.get());
      if (it == groups.group_of_root.end()) continue;
      const Group& g = groups.groups[static_cast<size_t>(it->second)];
      if (options_.fuse && try_chain(block, groups, g)) continue;
      group(block, g);
    }
  }

  bool large(const Value* v) const {
    return v->type.is_static() && pack_of(v->type.dtype) &&
           layout_of(v->type.dtype, v->type.static_shape()).mem_rows() > vmem_.resident_rows / 2;
  }

  // A group whose result would have to leave the chip, together with those that read it: a chain.
  bool try_chain(const Block& block, const BlockPlan& plan, const Group& first) {
    if (first.root->num_results() != 1 || !large(first.root->result()) ||
        done_.count(first.root->result()))
      return false;
    std::unordered_set<const Value*> outputs, made;
    for (const Value* r : block.results()) outputs.insert(r);
    if (outputs.count(first.root->result())) return false;
    LowerContext context = context_;
    context.collapse = false;
    // What is one number a row of the large value (a maximum, a sum) stands as a column beside it.
    const std::vector<int64_t> shape = first.root->result()->type.static_shape();
    auto is_column = [&](const Value* v) {
      if (!v->type.is_static() || outputs.count(v) || !v->def()) return false;
      const std::vector<int64_t> dims = v->type.static_shape();
      return dims.size() >= 2 && dims.size() + 1 == shape.size() &&
             std::equal(dims.begin(), dims.end(), shape.begin());
    };
    context.as_column = [&](const Value* v) { return is_column(v) && !done_.count(v); };
    std::vector<const Group*> members;
    std::vector<Nest> links;
    auto between = [&](const Value* v) { return made.count(v) && !outputs.count(v); };
    bool begun = false;
    constexpr size_t kMostLinks = 12;
    for (auto& op : block.ops) {
      begun |= op.get() == first.root;
      auto it = plan.group_of_root.find(op.get());
      if (!begun || it == plan.group_of_root.end() || op->num_results() != 1) continue;
      const Group& g = plan.groups[static_cast<size_t>(it->second)];
      if (done_.count(op->result()) || skip_.count(op.get())) continue;
      if (!links.empty()) {
        bool reads = false;
        for (const GraphOp* m : g.members)
          for (const Value* v : m->operands()) reads |= between(v);
        if (!reads) continue;
      }
      auto lowered = lower_group(g, node_name(*op) + "." + std::to_string(steps_.size()), context);
      auto* n = std::get_if<Nest>(&lowered);
      if (!n) break;
      bool available = true;
      for (const Param& p : n->params)
        available &= p.written || made.count(p.value) || done_.count(p.value) || !p.value->def() ||
                     p.value->def()->is("stablehlo.constant");
      if (!available) break;
      links.push_back(std::move(*n));
      made.insert(op->result());
      if (!make_chain(&links, chip_, between, false)) {
        links.pop_back();
        made.erase(op->result());
        break;
      }
      members.push_back(&g);
      if (links.size() == kMostLinks) break;
    }
    // What others read as well leaves the chip.
    std::unordered_set<const Value*> outside;
    for (auto& op : block.ops) {
      bool in = false;
      for (const Group* g : members) in |= g->members.count(op.get()) != 0;
      if (in) continue;
      std::vector<const Value*> reads;
      reads_of(*op, reads);
      outside.insert(reads.begin(), reads.end());
    }
    auto is_private = [&](const Value* v) { return between(v) && !outside.count(v); };
    if (links.size() < 2 || !is_private(first.root->result())) return false;
    for (const Value* v : made)
      if (is_column(v) && !is_private(v)) return false;
    std::optional<Nest> chain = make_chain(&links, chip_, is_private, true);
    if (!chain || chain->params.size() > 30) return false;
    std::vector<Home> homes(chain->params.size());
    for (Home& h : homes) h.hbm_row = 0;
    if (!choose_staging(*chain, chip_, homes, vmem_.area_rows)) return false;
    Step s;
    NodeInfo all;
    for (size_t i = 0; i < members.size(); ++i) {
      add_node(*members[i], chain->chain->links[i].nest, "");
      const NodeInfo one = out_.nodes.back();
      out_.nodes.pop_back();
      if (i == 0) all = one;
      all.flops += i ? one.flops : 0;
      all.useful_macs += i ? one.useful_macs : 0;
      done_.insert(members[i]->root->result());
    }
    all.name += " .. " + node_name(*members.back()->root);
    all.data_bytes = 0;
    for (const Param& p : chain->params)
      all.data_bytes += static_cast<double>(real_bytes(p.value->type));
    s.nodes.push_back(static_cast<int>(out_.nodes.size()));
    out_.nodes.push_back(std::move(all));
    s.nest = std::move(*chain);
    steps_.push_back(std::move(s));
    return true;
  }

  // A loop over tensors whose count of rounds is known runs on the chip; empty: it does.
  std::string try_loop(const GraphOp& op) {
    if (op.def->kind != OpKind::Region || op.num_regions() != 2 ||
        static_cast<int>(op.region(0)->args.size()) != op.num_operands() || op.num_operands() == 0)
      return "control flow over tensors runs on the host";
    if (depth_ >= 4) return "loops are nested too deep";
    for (const Value* v : op.operands())
      if (!v->type.is_static()) return "a size depends on data or is open";
    const std::optional<CountedLoop> counted = count_rounds(module_, op);
    if (!counted) return "how often the loop runs depends on data";
    const Block& body = *op.region(1);
    // What the body carries; the counter, where only the count needs it, is not.
    std::vector<size_t> carried;
    for (size_t i = 0; i < body.args.size(); ++i) {
      if (static_cast<int>(i) == counted->counter) {
        if (!counted->counter_used) continue;
        if (counted->step) {
          carried.push_back(i);
          continue;
        }
      }
      if (auto why = type_problem(body.args[i]->type))
        return "the loop carries a tensor, and " + *why;
      const Value* r = body.results()[i];
      if (!r->def() && r != body.args[i].get() && r->block() == &body)
        return "the loop turns its values round";
      carried.push_back(i);
    }
    // Everything in it must run on the chip, or each round would cross to the host.
    ChipProgram saved_out = out_;
    std::vector<Step> saved = std::move(steps_);
    const std::unordered_set<const Value*> saved_done = done_;
    steps_.clear();
    ++depth_;
    skip_ = counted->only_counter;
    plan(body);
    --depth_;
    std::vector<Step> inner = std::move(steps_);
    steps_ = std::move(saved);
    for (const Step& s : inner)
      if (s.kind == Step::Kind::Host) {
        const std::string why = out_.host[static_cast<size_t>(s.host)].reason;
        out_ = std::move(saved_out);
        done_ = saved_done;
        return "in the loop's body: " + why;
      }
    for (size_t i : carried) copy(op.operand(static_cast<int>(i)), body.args[i].get());
    const int begin = static_cast<int>(steps_.size());
    Step b;
    b.kind = Step::Kind::LoopBegin;
    b.trips = counted->rounds;
    b.depth = depth_;
    steps_.push_back(std::move(b));
    for (Step& s : inner) {
      if (s.partner >= 0) s.partner += begin + 1;
      steps_.push_back(std::move(s));
    }
    // The next round's values: in place where the kernel that makes one reads its old value element
    // by element and nothing reads it later.
    for (size_t i : carried) {
      const Value *r = body.results()[i], *arg = body.args[i].get();
      if (r == arg) continue;
      if (static_cast<int>(i) == counted->counter && counted->step) {
        Step count;
        count.kind = Step::Kind::Count;
        count.to = arg;
        count.trips = *counted->step;
        steps_.push_back(std::move(count));
        continue;
      }
      if (in_place(begin + 1, r, arg))
        alias_[r] = arg;
      else
        copy(r, arg);
    }
    Step e;
    e.kind = Step::Kind::LoopEnd;
    e.partner = begin;
    e.depth = depth_;
    steps_[static_cast<size_t>(begin)].partner = static_cast<int>(steps_.size());
    steps_.push_back(std::move(e));
    for (size_t i : carried) {
      const Value* result = op.result(static_cast<int>(i));
      done_.insert(result);
      const bool leaves =
          std::any_of(result->users().begin(), result->users().end(),
                      [](const GraphOp* u) { return u->def->kind == OpKind::Terminator; });
      if (leaves)
        copy(body.args[i].get(), result);
      else
        alias_[result] = body.args[i].get();
    }
    if (!counted->counter_used && op.result(counted->counter)->has_users())
      constants_[op.result(counted->counter)] = counted->last;
    return "";
  }

  void copy(const Value* from, const Value* to) {
    Step s;
    s.kind = Step::Kind::Copy;
    s.from = from;
    s.to = to;
    steps_.push_back(std::move(s));
  }

  bool in_place(int first, const Value* result, const Value* arg) const {
    int def = -1, last = -1;
    const Nest* maker = nullptr;
    for (size_t i = static_cast<size_t>(first); i < steps_.size(); ++i) {
      if (steps_[i].kind == Step::Kind::Copy && (steps_[i].from == arg || steps_[i].to == result))
        return false;
      if (!steps_[i].nest) continue;
      for (const Param& p : steps_[i].nest->params) {
        if (p.value == result && p.written) def = static_cast<int>(i), maker = &*steps_[i].nest;
        if (p.value == arg) last = static_cast<int>(i);
      }
    }
    if (!maker || !maker->elementwise || last > def) return false;
    return std::none_of(block_results_.begin(), block_results_.end(),
                        [&](const Value* v) { return v == result; });
  }

  void group(const Block& block, const Group& g) {
    if (skip_.count(g.root)) return;
    // The array's results leave it tile by tile: views after a product are for whoever reads it.
    const bool views = g.hero && g.hero->def->kind == OpKind::Contraction &&
                       std::any_of(g.epilogue.begin(), g.epilogue.end(),
                                   [](const GraphOp* op) { return op->def->kind == OpKind::View; });
    std::string why = views ? "views follow a product" : try_chip(g);
    if (why.empty()) return;
    if (g.members.size() <= 1) return on_host({g.root}, why);
    if (g.hero && g.hero != g.root) {
      const auto [first, rest] = split_after_hero(g);
      if (try_chip(first).empty()) return group(block, rest);
    }
    // One by one, in order.
    for (auto& op : block.ops) {
      if (!g.members.count(op.get()) || is_immediate(*op)) continue;
      Group one;
      one.root = op.get();
      if (!is_elemental(*op)) one.hero = op.get();
      one.members.insert(op.get());
      why = try_chip(one);
      if (!why.empty()) on_host({op.get()}, why);
    }
  }

  // The hero with what it reads, and what follows it: two groups where one is too much, for
  // instance when a reshape after a product would have to be stored element by element.
  static std::pair<Group, Group> split_after_hero(const Group& g) {
    const auto reach = [&](const GraphOp* from, const GraphOp* stop) {
      Group part;
      std::vector<const GraphOp*> todo{from};
      while (!todo.empty()) {
        const GraphOp* op = todo.back();
        todo.pop_back();
        if (op == stop || !part.members.insert(op).second) continue;
        for (const Value* v : op->operands())
          if (v->def() && g.members.count(v->def())) todo.push_back(v->def());
      }
      return part;
    };
    Group first = reach(g.hero, nullptr), rest = reach(g.root, g.hero);
    first.root = first.hero = g.hero;
    rest.root = g.root;
    return {std::move(first), std::move(rest)};
  }

  // Empty: it runs on the chip.
  std::string try_chip(const Group& g) {
    if (auto it = refused_.find({g.root, g.members.size()}); it != refused_.end())
      return it->second;
    for (int i = 0; i < g.root->num_results(); ++i)
      if (done_.count(g.root->result(i))) return "";
    std::string name = node_name(*g.root) + "." + std::to_string(steps_.size());
    auto lowered = lower_group(g, name, context_);
    if (auto* no = std::get_if<NotLowered>(&lowered)) return no->reason;
    Nest& n = std::get<Nest>(lowered);
    std::vector<Home> homes(n.params.size());
    for (Home& h : homes) h.hbm_row = 0;
    if (!choose_staging(n, chip_, homes, vmem_.area_rows))
      return "no block of its operands fits the chip's vector memory";
    if (n.params.size() > 30) return "it has more operands than a kernel has semaphores";
    Step s;
    s.nodes.push_back(add_node(g, n, ""));
    for (int i = 0; i < g.root->num_results(); ++i) done_.insert(g.root->result(i));
    s.nest = std::move(n);
    steps_.push_back(std::move(s));
    return "";
  }

  void on_host(std::vector<const GraphOp*> ops, const std::string& reason) {
    for (const GraphOp* op : ops)
      for (int i = 0; i < op->num_results(); ++i) done_.insert(op->result(i));
    NodeInfo info;
    info.name = node_name(*ops[0]);
    info.op = std::string(ops[0]->def->name);
    info.host_reason = reason;
    const int node = static_cast<int>(out_.nodes.size());
    out_.nodes.push_back(std::move(info));
    // Steps that follow each other are one crossing.
    if (steps_.empty() || steps_.back().kind != Step::Kind::Host) {
      Step s;
      s.kind = Step::Kind::Host;
      s.host = static_cast<int>(out_.host.size());
      out_.host.emplace_back();
      out_.host.back().reason = reason;
      steps_.push_back(std::move(s));
    }
    HostWork& work = out_.host[static_cast<size_t>(steps_.back().host)];
    work.ops.insert(work.ops.end(), ops.begin(), ops.end());
    work.nodes.push_back(node);
  }

  int add_node(const Group& g, const Nest& n, const std::string& reason) {
    NodeInfo info;
    std::vector<const GraphOp*> members;
    for (auto& op : g.root->parent()->ops)
      if (g.members.count(op.get())) members.push_back(op.get());
    const GraphOp& what = g.hero ? *g.hero : *g.root;
    info.name = node_name(what);
    if (members.size() > 1 && node_name(*g.root) != info.name)
      info.name += " .. " + node_name(*g.root);
    info.op = std::string(what.def->name);
    info.host_reason = reason;
    info.flops = n.flops;
    if (n.contraction) info.useful_macs = n.contraction->macs;
    for (const GraphOp* op : members)
      if (op->def->kind == OpKind::Elementwise || op->def->kind == OpKind::Reduce ||
          op->def->kind == OpKind::Opaque)
        info.flops += static_cast<double>(real_bytes(op->operand()->type) /
                                          byte_size(op->operand()->type.dtype));
    for (const Param& p : n.params) {
      info.data_bytes += static_cast<double>(real_bytes(p.value->type));
      const Layout l =
          layout_of(p.value->type.dtype, p.value->type.static_shape(), p.value->type.rank() == 1);
      if (l.bytes() > 4 * kTileBytes && l.padding() > info.padding) {
        info.padding = l.padding();
        info.worst = p.value->name.empty() ? p.value->type.str() : p.value->name;
      }
    }
    out_.nodes.push_back(std::move(info));
    return static_cast<int>(out_.nodes.size()) - 1;
  }

  // --- who reads what when -----------------------------------------------------------------------

  // A value that shares another's storage.
  const Value* rep(const Value* v) const {
    for (auto it = alias_.find(v); it != alias_.end(); it = alias_.find(v)) v = it->second;
    return v;
  }
  ValueState& state(const Value* alias) {
    const Value* v = rep(alias);
    auto [it, fresh] = values_.try_emplace(v);
    if (fresh) {
      order_.push_back(v);
      ValueState& s = it->second;
      if (v->type.is_static() && pack_of(v->type.dtype))
        s.layout = layout_of(v->type.dtype, v->type.static_shape(), v->type.rank() == 1);
      if (v->def() && v->def()->is("stablehlo.constant")) s.constant = true;
    }
    return it->second;
  }

  void uses() {
    for (auto& a : block_->args) state(a.get()).input = true;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const int at = static_cast<int>(i);
      Step& s = steps_[i];
      if (s.kind == Step::Kind::LoopBegin || s.kind == Step::Kind::LoopEnd) continue;
      if (s.kind == Step::Kind::Copy || s.kind == Step::Kind::Count) {
        for (const Value* v : {s.from, s.to}) {
          if (!v) continue;
          ValueState& x = state(v);
          x.chip = true;
          x.last = std::max(x.last, at);
        }
        if (state(s.to).def < 0) state(s.to).def = at;
        continue;
      }
      if (s.nest) {
        for (const Param& p : s.nest->params) {
          ValueState& v = state(p.value);
          v.chip = true;
          if (p.written && v.def < 0) v.def = at;
          v.last = std::max(v.last, at);
        }
        continue;
      }
      for (const GraphOp* op : out_.host[static_cast<size_t>(s.host)].ops) {
        std::vector<const Value*> reads;
        reads_of(*op, reads);
        for (const Value* r : reads) {
          ValueState& v = state(r);
          v.host_reads = true;
          v.last = std::max(v.last, at);
        }
        for (int k = 0; k < op->num_results(); ++k) {
          ValueState& v = state(op->result(k));
          v.host_defines = true;
          v.def = at;
          v.last = std::max(v.last, at);
        }
      }
    }
    for (const Value* r : block_->results()) state(r).output = true;
    // What is made before a loop and read in it is read until the loop's last round.
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& end = steps_[i];
      if (end.kind != Step::Kind::LoopEnd) continue;
      for (int at = end.partner; at < static_cast<int>(i); ++at)
        for_each_value(steps_[static_cast<size_t>(at)], [&](const Value* v) {
          ValueState& s = state(v);
          if (s.def < end.partner) s.last = std::max(s.last, static_cast<int>(i));
          if (end.depth == 0 && (s.input || s.constant))
            s.in_loop = std::make_pair(end.partner, static_cast<int>(i));
        });
    }
  }
  template <class F>
  void for_each_value(const Step& s, F&& f) {
    if (s.nest)
      for (const Param& p : s.nest->params) f(p.value);
    if (s.from) f(s.from);
    if (s.to) f(s.to);
  }

  // --- memory ------------------------------------------------------------------------------------

  Status allocate() {
    const int end = static_cast<int>(steps_.size());
    // On the chip from kernel to kernel: what only kernels touch.
    std::vector<Lifetime*> resident;
    for (const Value* v : order_) {
      ValueState& s = values_[v];
      s.vmem.bytes = s.layout.mem_rows();
      s.vmem.first = s.def;
      s.vmem.last = s.last;
      if (chip_.cores > 1 || !s.chip || s.def < 0 || s.host_reads || s.host_defines || s.output ||
          s.vmem.bytes > vmem_.resident_rows / 2)
        continue;
      resident.push_back(&s.vmem);
    }
    for (const Value* v : order_) {
      ValueState& s = values_[v];
      if (!s.in_loop || chip_.cores > 1 || s.layout.mem_rows() > vmem_.resident_rows / 2) continue;
      s.loop_vmem.bytes = s.layout.mem_rows();
      s.loop_vmem.first = s.in_loop->first;
      s.loop_vmem.last = s.in_loop->second;
      resident.push_back(&s.loop_vmem);
    }
    std::stable_sort(resident.begin(), resident.end(), [](const Lifetime* a, const Lifetime* b) {
      return a->bytes * (a->last - a->first + 1) < b->bytes * (b->last - b->first + 1);
    });
    const Placement on_chip = place(resident, vmem_.resident_rows, kTileRows);
    vmem_.keep(on_chip.peak);
    for (const Value* v : order_) {
      ValueState& s = values_[v];
      s.resident = s.vmem.address >= 0;
    }
    // HBM for the rest. Arguments, constants and results have a place of their own throughout.
    std::vector<Lifetime*> hbm;
    for (const Value* v : order_) {
      ValueState& s = values_[v];
      if (!s.chip || s.resident) continue;
      const bool kept = s.input || s.constant || s.output;
      s.hbm.bytes = s.layout.mem_rows();
      s.hbm.first = kept ? 0 : std::max(s.def, 0);
      s.hbm.last = kept ? end : s.last;
      hbm.push_back(&s.hbm);
    }
    std::stable_sort(hbm.begin(), hbm.end(), [](const Lifetime* a, const Lifetime* b) {
      return a->last - a->first > b->last - b->first;
    });
    const Placement in_hbm = place(hbm, -1, kTileRows);
    out_.hbm_bytes = in_hbm.peak * kRowBytes;
    // Arguments, weights and results belong to the chip's memory, whoever works on them.
    int64_t whole = 0;
    for (const Value* v : order_) {
      ValueState& s = values_[v];
      if (!s.input && !s.constant && !s.output) continue;
      s.hbm.bytes = s.layout.mem_rows();
      whole += s.layout.bytes();
    }
    const int64_t wanted = std::max(out_.hbm_bytes, whole);
    out_.onchip_bytes = on_chip.peak * kRowBytes;
    std::vector<const Value*> large = order_;
    std::stable_sort(large.begin(), large.end(), [&](const Value* a, const Value* b) {
      return values_[a].hbm.bytes > values_[b].hbm.bytes;
    });
    for (size_t i = 0; i < large.size() && i < 8 && values_[large[i]].hbm.bytes > 0; ++i) {
      const ValueState& s = values_[large[i]];
      out_.memory_plan.push_back((large[i]->name.empty() ? "a value" : "`" + large[i]->name + "`") +
                                 " " + large[i]->type.str() + ": " +
                                 std::to_string(s.layout.bytes() >> 20) + " MiB" +
                                 (s.input      ? " (argument)"
                                  : s.constant ? " (constant)"
                                  : s.output   ? " (result)"
                                               : ""));
    }
    if (wanted > chip_.hbm_bytes) {
      Error e{"tpu-memory",
              "the model needs " + std::to_string(wanted >> 20) + " MiB of HBM at its peak, " +
                  chip_.name + " has " + std::to_string(chip_.hbm_bytes >> 20) +
                  " MiB; take a smaller batch, narrower types or a larger chip",
              {module_.source},
              {}};
      for (const std::string& line : out_.memory_plan) e.notes.push_back(line);
      return e;
    }
    for (const Value* v : order_) {
      ValueState& s = values_[v];
      if (!s.chip || s.resident) continue;
      const HbmTensor t{v, s.layout, static_cast<uint32_t>(s.hbm.address)};
      if (s.input) out_.inputs.push_back(t);
      if (s.constant) out_.constants.push_back(t);
      if (s.output && !s.input && !s.constant && !s.host_defines) out_.outputs.push_back(t);
      const char* kind = s.input      ? "argument"
                         : s.constant ? "constant"
                         : s.output   ? "result"
                                      : "value";
      out_.program.regions.push_back(
          {v->name.empty() ? kind : v->name, t.row, static_cast<uint32_t>(s.layout.mem_rows())});
    }
    return ok_status();
  }

  Home home(const Value* v, size_t step) {
    const ValueState& s = values_.at(rep(v));
    Home h;
    const int at = static_cast<int>(step);
    if (s.loop_vmem.address >= 0 && s.loop_vmem.bytes && at > s.loop_vmem.first &&
        at < s.loop_vmem.last)
      h.vmem_row = vmem_.resident + s.loop_vmem.address;
    else if (s.resident)
      h.vmem_row = vmem_.resident + s.vmem.address;
    else
      h.hbm_row = s.hbm.address;
    return h;
  }

  // --- kernels
  // -------------------------------------------------------------------------------------

  Result<StagedKernel> stage(size_t step) {
    StagedKernel k;
    k.nest = &*steps_[step].nest;
    for (const Param& p : k.nest->params) k.homes.push_back(home(p.value, step));
    auto s = choose_staging(*k.nest, chip_, k.homes, vmem_.area_rows);
    TF_CHECK(s, "staging of " + k.nest->name);
    k.staging = std::move(*s);
    const int turn = kernels_++ % 2;
    k.area = vmem_.area[turn];
    k.semaphores = turn * (kSemaphores / 2);
    out_.onchip_bytes = std::max(out_.onchip_bytes, (k.area + k.staging.rows) * kRowBytes);
    return k;
  }

  Status emit() {
    Program& p = out_.program;
    std::vector<std::optional<StagedKernel>> staged(steps_.size());
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i].nest) continue;
      TF_ASSIGN(staged[i], stage(i));
    }
    // One core does the work of a chip whose cores are not yet given parts of it.
    code::CompileOptions co;
    co.spill_row = static_cast<uint32_t>(vmem_.margin);
    co.spill_rows = static_cast<uint32_t>(vmem_.spill);
    co.spill_word = 0;
    co.spill_words = 1024;
    size_t guard = 0;
    if (chip_.cores > 1) {
      p.add_bundle(std::array{make(Op::CoreId, SReg{0})});
      guard = p.num_bundles();
      p.add_bundle(std::array{make(Op::JumpNz, SReg{0}, Imm{0})});
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      switch (steps_[i].kind) {
        case Step::Kind::Host:
          host_step(i);
          continue;
        case Step::Kind::Copy: {
          code::Kernel code("copy." + std::to_string(i));
          code::Builder b(&code);
          emit_copy(b, home(steps_[i].from, i), home(steps_[i].to, i),
                    values_.at(rep(steps_[i].to)).layout);
          TF_ASSIGN(code::CompileReport report, code::compile(code, chip_, &p, co));
          out_.kernels.push_back(std::move(report));
          continue;
        }
        case Step::Kind::Count: {
          code::Kernel code("count." + std::to_string(i));
          code::Builder b(&code);
          TF_TRY(emit_count(b, home(steps_[i].to, i), steps_[i].trips));
          TF_ASSIGN(code::CompileReport report, code::compile(code, chip_, &p, co));
          out_.kernels.push_back(std::move(report));
          continue;
        }
        case Step::Kind::LoopBegin:
          TF_TRY(loop_begin(i, co));
          continue;
        case Step::Kind::LoopEnd:
          loop_end(i);
          continue;
        case Step::Kind::Kernel:
          break;
      }
      StagedKernel& k = *staged[i];
      code::Kernel code(k.nest->name);
      code.nodes = steps_[i].nodes;
      code::Builder b(&code);
      std::function<void()> ahead;
      if (i + 1 < steps_.size() && staged[i + 1]) {
        StagedKernel& next = *staged[i + 1];
        next.early.assign(next.nest->params.size(), false);
        bool any = false;
        for (size_t q = 0; q < next.nest->params.size(); ++q) {
          // Not what this kernel makes, be it the value of the next round.
          const Value* v = rep(next.nest->params[q].value);
          next.early[q] = true;
          for (const Param& made : k.nest->params)
            if (made.written && rep(made.value) == v) next.early[q] = false;
          any |= next.early[q];
        }
        if (any) ahead = [&next, &b] { emit_first_copies(next, b, next.early); };
      }
      const auto group = std::make_pair(static_cast<const GraphOp*>(k.nest->group.root),
                                        k.nest->group.members.size());
      if (auto r = emit_staged(k, b, chip_, ahead)) {
        refused_[group] = "not in blocks: " + r->reason;
        return Error{
            "tpu-spill", "kernel " + k.nest->name + ": " + r->reason, {module_.source}, {}};
      }
      if (options_.text)
        out_.kernel_text.push_back(loop::print(k.nest->kernel) + code::to_text(code));
      auto compiled = code::compile(code, chip_, &p, co);
      if (!compiled.ok()) {
        refused_[group] = compiled.errors().front().message;
        return compiled.take_errors();
      }
      code::CompileReport& report = *compiled;
      out_.kernels.push_back(std::move(report));
    }
    if (chip_.cores > 1) p.insts[p.first[guard]].a[1] = static_cast<int32_t>(p.num_bundles());
    p.add_bundle(std::array{make(Op::Halt)});
    return ok_status();
  }

  // A whole tensor from one place to another.
  void emit_copy(code::Builder& b, const Home& from, const Home& to, const Layout& l) {
    auto region = [&](const char* name, const Home& h) {
      const bool chip = h.vmem_row >= 0;
      return b.region(name, chip ? Space::Vmem : Space::Hbm,
                      static_cast<uint32_t>(chip ? h.vmem_row : h.hbm_row),
                      static_cast<uint32_t>(l.mem_rows()));
    };
    const code::RegionRef x = region("from", from), y = region("to", to);
    DmaShape shape;
    shape.from = b.at(x).space;
    shape.to = b.at(y).space;
    shape.rows = static_cast<uint32_t>(l.mem_rows());
    b.dma(x, 0, y, 0, kSemaphores - 1, shape);
    b.wait(kSemaphores - 1, 1, {x, y});
  }

  // A whole number in one tile, `by` more.
  Status emit_count(code::Builder& b, const Home& at, int64_t by) {
    if (at.vmem_row < 0)
      return Error{"tpu-spill", "a loop's counter has no room on the chip", {module_.source}, {}};
    const code::RegionRef x =
        b.region("counter", Space::Vmem, static_cast<uint32_t>(at.vmem_row), kTileRows);
    b.store(x, 0, b.vec(Op::VAddI, b.load(x, 0), b.vec(Op::VSplat, static_cast<int>(by))));
    return ok_status();
  }

  static constexpr int32_t kLoopWord = 1024;  // SMEM: rounds left, by depth

  Status loop_begin(size_t i, const code::CompileOptions& co) {
    Program& p = out_.program;
    for (const Value* v : order_) {
      const ValueState& s = values_[v];
      if (!s.loop_vmem.bytes || s.loop_vmem.address < 0 || s.loop_vmem.first != static_cast<int>(i))
        continue;
      code::Kernel code("to the chip " + v->name);
      code::Builder b(&code);
      Home from, to;
      from.hbm_row = s.hbm.address;
      to.vmem_row = vmem_.resident + s.loop_vmem.address;
      emit_copy(b, from, to, s.layout);
      TF_ASSIGN(code::CompileReport report, code::compile(code, chip_, &p, co));
      out_.kernels.push_back(std::move(report));
    }
    const Imm word{kLoopWord + steps_[i].depth};
    p.add_bundle(std::array{make(Op::SMov, SReg{0}, Imm{static_cast<int32_t>(steps_[i].trips)})});
    p.add_bundle(std::array{make(Op::SSt, Imm{0}, word, SReg{0})});
    loop_start_[i] = static_cast<int32_t>(p.num_bundles());
    return ok_status();
  }
  void loop_end(size_t i) {
    Program& p = out_.program;
    const Imm word{kLoopWord + steps_[i].depth};
    p.add_bundle(std::array{make(Op::SLd, SReg{0}, Imm{0}, word)});
    p.add_bundle(std::array{make(Op::SSub, SReg{0}, SReg{0}, Imm{1})});
    p.add_bundle(std::array{make(Op::SSt, Imm{0}, word, SReg{0})});
    p.add_bundle(std::array{
        make(Op::JumpNz, SReg{0}, Imm{loop_start_.at(static_cast<size_t>(steps_[i].partner))})});
  }

  void host_step(size_t i) {
    HostWork& work = out_.host[static_cast<size_t>(steps_[i].host)];
    tpu::HostStep step;
    step.reason = work.reason;
    std::unordered_set<const Value*> seen, own;
    for (const GraphOp* op : work.ops) {
      if (!step.name.empty()) step.name += ", ";
      if (step.name.size() < 60) step.name += node_name(*op);
      std::vector<const Value*> reads;
      reads_of(*op, reads);
      for (const Value* v : reads) {
        const ValueState& s = values_.at(rep(v));
        if (!s.chip || s.host_defines || s.input || s.constant || !seen.insert(v).second) continue;
        work.reads.push_back({v, s.layout, static_cast<uint32_t>(s.hbm.address)});
        step.bytes_to_host += static_cast<uint64_t>(real_bytes(v->type));
      }
      for (int k = 0; k < op->num_results(); ++k) {
        const Value* v = op->result(k);
        const ValueState& s = values_.at(rep(v));
        if (!s.chip) continue;
        work.writes.push_back({v, s.layout, static_cast<uint32_t>(s.hbm.address)});
        step.bytes_from_host += static_cast<uint64_t>(real_bytes(v->type));
      }
    }
    out_.program.add_bundle(
        std::array{make(Op::Host, Imm{static_cast<int32_t>(out_.program.host_steps.size())})});
    out_.program.host_steps.push_back(std::move(step));
  }

  const Module& module_;
  const Chip& chip_;
  TpuOptions options_;
  Refused& refused_;
  VmemMap vmem_;
  LowerContext context_;
  const Block* block_ = nullptr;
  std::vector<Step> steps_;
  std::unordered_set<const Value*> done_;
  std::unordered_map<const Value*, const Value*> alias_;
  std::unordered_map<const Value*, Literal> constants_;  // counters after their loops
  std::unordered_set<const GraphOp*> skip_;              // ops that only count
  std::vector<const Value*> block_results_;
  std::unordered_map<size_t, int32_t> loop_start_;
  int depth_ = 0;
  std::unordered_map<const Value*, ValueState> values_;
  std::vector<const Value*> order_;
  int kernels_ = 0;
  ChipProgram out_;
};

}  // namespace

Result<ChipProgram> compile_chip(const Module& m, const Chip& chip, const TpuOptions& options) {
  if (chip.family != Family::Bundle)
    return Error{"tpu-family", chip.name + " is not of the bundle family", {"--target"}, {}};
  // A kernel that its code shows not to fit leaves the plan, and the plan is made again.
  ChipCompiler::Refused refused;
  for (;;) {
    const size_t before = refused.size();
    auto done = ChipCompiler(m, chip, options, &refused).run();
    if (done.ok() || refused.size() == before) return done;
  }
}

}  // namespace tenfold::tpu
