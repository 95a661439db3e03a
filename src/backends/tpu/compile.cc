// See compile.h.
#include "backends/tpu/compile.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

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
};

struct Step {
  std::optional<Nest> nest;
  int host = -1;  // index into host works
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
  ChipCompiler(const Module& m, const Chip& chip, const TpuOptions& o)
      : module_(m), chip_(chip), options_(o), vmem_(chip) {
    context_.chip = &chip;
    context_.precision = o.precision;
  }

  Result<ChipProgram> run() {
    const Function* f = module_.main();
    if (!f) return Error{"no-entry", "the module has no function to compile", {module_.source}, {}};
    block_ = &f->body;
    plan();
    uses();
    TF_TRY(allocate());
    TF_TRY(emit());
    return std::move(out_);
  }

 private:
  // --- plan ------------------------------------------------------------------------------------

  void plan() {
    FusionOptions fusion;
    fusion.fuse = options_.fuse;
    const BlockPlan groups = plan_fusion(*block_, fusion);
    for (auto& op : block_->ops) {
      if (op->def->kind == OpKind::Terminator || op->is("stablehlo.constant")) continue;
      if (is_structural(*op)) {
        on_host({op.get()}, op->is("tenfold.bind_symbol")
                                ? "it makes a size of data"
                                : "control flow over tensors runs on the host");
        continue;
      }
      auto it = groups.group_of_root.find(op.get());
      if (it != groups.group_of_root.end()) group(groups.groups[static_cast<size_t>(it->second)]);
    }
  }

  void group(const Group& g) {
    std::string why = try_chip(g);
    if (why.empty()) return;
    if (g.members.size() <= 1) return on_host({g.root}, why);
    // One by one, in order.
    for (auto& op : block_->ops) {
      if (!g.members.count(op.get()) || is_immediate(*op)) continue;
      Group one;
      one.root = op.get();
      if (!is_elemental(*op)) one.hero = op.get();
      one.members.insert(op.get());
      why = try_chip(one);
      if (!why.empty()) on_host({op.get()}, why);
    }
  }

  // Empty: it runs on the chip.
  std::string try_chip(const Group& g) {
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
    if (steps_.empty() || steps_.back().host < 0) {
      Step s;
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
    for (auto& op : block_->ops)
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

  ValueState& state(const Value* v) {
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
      if (s.nest) {
        for (const Param& p : s.nest->params) {
          ValueState& v = state(p.value);
          v.chip = true;
          if (p.written) v.def = at;
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
    if (out_.hbm_bytes > chip_.hbm_bytes) {
      Error e{"tpu-memory",
              "the model needs " + std::to_string(out_.hbm_bytes >> 20) +
                  " MiB of HBM at its peak, " + chip_.name + " has " +
                  std::to_string(chip_.hbm_bytes >> 20) +
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

  Home home(const Value* v) {
    const ValueState& s = values_.at(v);
    Home h;
    if (s.resident)
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
    for (const Param& p : k.nest->params) k.homes.push_back(home(p.value));
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
      if (steps_[i].host >= 0) {
        host_step(i);
        continue;
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
          const Value* v = next.nest->params[q].value;
          next.early[q] = values_.at(v).def != static_cast<int>(i);
          any |= next.early[q];
        }
        if (any) ahead = [&next, &b] { emit_first_copies(next, b, next.early); };
      }
      if (auto r = emit_staged(k, b, chip_, ahead))
        TF_CHECK(false, "kernel " + k.nest->name + " was lowered, but not in blocks: " + r->reason);
      TF_ASSIGN(code::CompileReport report, code::compile(code, chip_, &p, co));
      out_.kernels.push_back(std::move(report));
    }
    if (chip_.cores > 1) p.insts[p.first[guard]].a[1] = static_cast<int32_t>(p.num_bundles());
    p.add_bundle(std::array{make(Op::Halt)});
    return ok_status();
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
        const ValueState& s = values_.at(v);
        if (!s.chip || s.host_defines || s.input || s.constant || !seen.insert(v).second) continue;
        work.reads.push_back({v, s.layout, static_cast<uint32_t>(s.hbm.address)});
        step.bytes_to_host += static_cast<uint64_t>(real_bytes(v->type));
      }
      for (int k = 0; k < op->num_results(); ++k) {
        const Value* v = op->result(k);
        const ValueState& s = values_.at(v);
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
  VmemMap vmem_;
  LowerContext context_;
  const Block* block_ = nullptr;
  std::vector<Step> steps_;
  std::unordered_set<const Value*> done_;
  std::unordered_map<const Value*, ValueState> values_;
  std::vector<const Value*> order_;
  int kernels_ = 0;
  ChipProgram out_;
};

}  // namespace

Result<ChipProgram> compile_chip(const Module& m, const Chip& chip, const TpuOptions& options) {
  if (chip.family != Family::Bundle)
    return Error{"tpu-family", chip.name + " is not of the bundle family", {"--target"}, {}};
  return ChipCompiler(m, chip, options).run();
}

}  // namespace tenfold::tpu
