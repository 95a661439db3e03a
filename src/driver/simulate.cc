// See simulate.h. The driver joins the two halves that know nothing of each other: the backend that
// makes a program, and the machine that runs it; and it is the host of the host's steps.
#include "driver/simulate.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "backends/tpu/compile.h"
#include "driver/evaluate.h"
#include "driver/pipeline.h"
#include "driver/random_inputs.h"
#include "driver/simulate_matrix.h"
#include "graph/evaluator.h"
#include "graph/op_def.h"
#include "tpu/sim/machine.h"

namespace tenfold {
namespace {

double cpu_seconds_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The host's side: values that it has, and single ops on the evaluator.
class HostSide {
 public:
  explicit HostSide(const Module& m) : module_(m.clone()) {}
  std::unordered_map<const Value*, Literal> values;

  const Literal* find(const Value* v) {
    auto it = values.find(v);
    if (it != values.end()) return &it->second;
    const Op* d = v->def();
    if (d && d->is("stablehlo.constant")) return &(values[v] = d->lit("value"));
    return nullptr;
  }

  // Sizes that arguments bind.
  void bind(const Value* v, const Literal& l) {
    for (size_t d = 0; d < v->type.shape.size(); ++d)
      if (SymbolRef s = v->type.shape[d].as_symbol()) symbols_[s->name] = {s, l.dims()[d]};
  }

  // Evaluates `op` as a function of its own: its operands, and what its regions read, become
  // arguments; sizes it speaks of are bound by arguments made for them.
  Status run(const Op& op) {
    if (op.is("tenfold.bind_symbol")) {
      const Literal* x = find(op.operand());
      TF_CHECK(x, "bind_symbol without its value");
      const std::string name = op.str("symbol");
      int64_t lo = 0, hi = INT64_MAX;
      if (const Attr* a = op.attr("min"); a && a->present()) lo = a->as<int64_t>();
      if (const Attr* a = op.attr("max"); a && a->present()) hi = a->as<int64_t>();
      auto s = std::make_shared<Symbol>(Symbol{name, lo, hi});
      symbols_[name] = {s, x->as_i64(0)};
      return ok_status();
    }
    Function* f = module_->add_function(module_->unique_function_name("host_step"), false);
    std::unordered_map<const Value*, Value*> map;
    std::vector<Literal> args;
    for (const auto& [name, bound] : symbols_) {
      f->body.add_arg({DType::Bool, {Dim::symbol(bound.first)}}, name);
      args.push_back(Literal(DType::Bool, {bound.second}));
    }
    std::unordered_set<const Value*> inside;
    Status missing = ok_status();
    const std::function<void(const Op&)> collect = [&](const Op& o) {
      for (Value* v : o.operands()) {
        if (inside.count(v) || map.count(v)) continue;
        const Literal* l = find(v);
        if (!l) {
          missing = Error{"sim-host", "a value that the host needs is not there", o.loc, {}};
          continue;
        }
        map[v] = f->body.add_arg(v->type, v->name);
        args.push_back(*l);
      }
      for (int r = 0; r < o.num_regions(); ++r) {
        for (auto& a : o.region(r)->args) inside.insert(a.get());
        for (auto& p : o.region(r)->ops) {
          collect(*p);
          for (int k = 0; k < p->num_results(); ++k) inside.insert(p->result(k));
        }
      }
    };
    collect(op);
    if (!missing.ok()) return missing;
    Op* copy = f->body.append(clone_op(op, map));
    auto ret = std::make_unique<Op>();
    ret->def = find_op("func.return");
    std::vector<Value*> results;
    for (int i = 0; i < copy->num_results(); ++i) results.push_back(copy->result(i));
    ret->set_operands(results);
    f->body.append(std::move(ret));
    auto done = evaluate(*module_, *f, args);
    module_->functions.pop_back();
    TF_ASSIGN(std::vector<Literal> out, std::move(done));
    for (int i = 0; i < op.num_results(); ++i) {
      bind(op.result(i), out[static_cast<size_t>(i)]);
      values[op.result(i)] = std::move(out[static_cast<size_t>(i)]);
    }
    return ok_status();
  }

 private:
  std::unique_ptr<Module> module_;  // of our own: each step is a function of it for a while
  std::map<std::string, std::pair<SymbolRef, int64_t>> symbols_;
};

// Bytes of every tensor that the program keeps in HBM.
class Hbm {
 public:
  Status bind(tpu::Machine& machine, const tpu::ChipProgram& p) {
    // Regions whose lives differ may share rows: bind the union of them.
    std::vector<std::pair<uint64_t, uint64_t>> rows;
    for (const tpu::HbmRegion& r : p.program.regions)
      if (r.rows) rows.emplace_back(r.row, uint64_t{r.row} + r.rows);
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < rows.size();) {
      uint64_t first = rows[i].first, end = rows[i].second;
      for (++i; i < rows.size() && rows[i].first <= end; ++i) end = std::max(end, rows[i].second);
      Piece piece{first, end, std::vector<std::byte>((end - first) * tpu::kRowBytes)};
      pieces_.push_back(std::move(piece));
    }
    for (Piece& piece : pieces_)
      TF_TRY(machine.bind(static_cast<uint32_t>(piece.first), std::span<std::byte>(piece.bytes)));
    return ok_status();
  }
  std::byte* at(uint32_t row) {
    for (Piece& p : pieces_)
      if (row >= p.first && row < p.end) return p.bytes.data() + (row - p.first) * tpu::kRowBytes;
    TF_CHECK(false, "no such row of HBM");
    return nullptr;
  }

 private:
  struct Piece {
    uint64_t first, end;
    std::vector<std::byte> bytes;
  };
  std::vector<Piece> pieces_;
};

tpu::Precision precision_of(const std::string& text) {
  if (text == "bf16x3") return tpu::Precision::Bf16x3;
  if (text == "bf16x6") return tpu::Precision::Bf16x6;
  return tpu::Precision::Bf16;
}

// What most of the cycles went to: the busiest unit when it is busy for most of them, else what the
// core was held by.
std::string bound_by(const tpu::Counts& c) {
  if (!c.cycles) return "nothing";
  int best = 0;
  for (int u = 0; u < tpu::kNumUnits; ++u)
    if (c.busy(static_cast<tpu::Unit>(u)) > c.busy(static_cast<tpu::Unit>(best))) best = u;
  const uint64_t busy = c.busy(static_cast<tpu::Unit>(best));
  const auto unit = static_cast<tpu::Unit>(best);
  if (busy * 2 >= c.cycles) return unit == tpu::Unit::Dma ? "hbm" : std::string(name(unit));
  // Causes of cycles in which nothing was issued, as any idle unit sees them.
  std::array<uint64_t, tpu::kNumCauses> held{};
  for (int k = 1; k < tpu::kNumCauses; ++k)
    held[static_cast<size_t>(k)] =
        c.units[static_cast<size_t>(tpu::Unit::Valu)][static_cast<size_t>(k)];
  const size_t most =
      static_cast<size_t>(std::max_element(held.begin(), held.end()) - held.begin());
  return std::string(name(static_cast<tpu::Cause>(most)));
}

double peak_macs_a_cycle(const tpu::Chip& c) {
  return static_cast<double>(c.mxu_count * c.mxu_dim * c.mxu_dim) * c.mxu_rows_per_cycle;
}

void account(Simulation& s, const tpu::ChipProgram& p, const tpu::Report& r,
             const tpu::Chip& chip) {
  const double cores = static_cast<double>(std::max<int64_t>(chip.cores, 1));
  s.chip = chip.name;
  s.clock_mhz = chip.clock_mhz;
  s.cycles = r.total.cycles;
  s.microseconds = r.microseconds;
  s.simulated_bundles = r.simulated_bundles;
  const double macs = peak_macs_a_cycle(chip) * cores;
  const double bytes_a_cycle = chip.bytes_per_cycle(chip.hbm_gbps);
  double useful = 0;
  for (const tpu::NodeInfo& n : p.nodes) useful += n.useful_macs;
  const auto all = static_cast<double>(r.total.array_macs);
  if (r.total.cycles) {
    s.mxu_utilization = all / (macs * static_cast<double>(r.total.cycles));
    s.hbm_bandwidth_share = static_cast<double>(r.total.hbm_read_bytes + r.total.hbm_write_bytes) /
                            (bytes_a_cycle * static_cast<double>(r.total.cycles));
  }
  s.mxu_useful_share = all > 0 ? std::min(1.0, useful / all) : 0;
  s.hbm_bytes = r.total.hbm_read_bytes + r.total.hbm_write_bytes;
  s.hbm_peak_bytes = p.hbm_bytes;
  s.onchip_peak_bytes = p.onchip_bytes;
  s.memory_plan = p.memory_plan;
  for (int u = 0; u < tpu::kNumUnits; ++u)
    for (int c = 0; c < tpu::kNumCauses; ++c)
      s.units[std::string(name(static_cast<tpu::Unit>(u)))]
             [std::string(name(static_cast<tpu::Cause>(c)))] =
          r.total.units[static_cast<size_t>(u)][static_cast<size_t>(c)];
  std::vector<tpu::Counts> of(p.nodes.size());
  for (size_t k = 0; k < r.kernels.size() && k < p.program.kernels.size(); ++k)
    for (int32_t n : p.program.kernels[k].nodes)
      if (n >= 0 && static_cast<size_t>(n) < of.size()) of[static_cast<size_t>(n)] = r.kernels[k];
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const tpu::NodeInfo& info = p.nodes[i];
    const tpu::Counts& c = of[i];
    Simulation::Node n;
    n.name = info.name;
    n.op = info.op;
    n.cycles = c.cycles;
    n.flops = info.flops;
    n.hbm_bytes = c.hbm_read_bytes + c.hbm_write_bytes;
    n.padding = info.padding;
    n.padded = info.worst;
    n.host_reason = info.host_reason;
    n.bound_by = info.host_reason.empty() ? bound_by(c) : "host";
    const auto cycles = static_cast<double>(c.cycles);
    if (c.cycles) {
      n.mxu_utilization = static_cast<double>(c.array_macs) / (macs * cycles);
      n.mxu_useful_share =
          c.array_macs ? std::min(1.0, info.useful_macs / static_cast<double>(c.array_macs)) : 0;
      n.intensity = n.hbm_bytes ? n.flops / static_cast<double>(n.hbm_bytes) : 0;
      const double roof = n.hbm_bytes ? std::min(2 * macs, n.intensity * bytes_a_cycle) : 2 * macs;
      n.roofline_share = n.flops > 0 ? n.flops / cycles / roof : 0;
    }
    s.nodes.push_back(std::move(n));
  }
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    if (k < p.kernel_text.size()) s.code_report += p.kernel_text[k];
    s.code_report += to_text(p.kernels[k]);
  }
}

// The matrix family has a machine of its own: fewer units, no vector memory to plan.
Result<Simulation> simulate_matrix_family(Module& m, const tpu::Chip& chip,
                                          const SimulateOptions& options,
                                          const std::vector<Literal>& inputs) {
  Simulation s;
  const double cpu = cpu_seconds_now();
  TF_ASSIGN(MatrixSimulation done,
            simulate_matrix(m, chip, options.timing_only ? nullptr : &inputs));
  s.cpu_seconds = cpu_seconds_now() - cpu;
  const tpu::matrix::Report& r = done.report;
  const auto cycles = static_cast<double>(std::max<int64_t>(r.total.cycles, 1));
  const double cells = static_cast<double>(chip.mxu_dim * chip.mxu_dim);
  s.chip = chip.name;
  s.clock_mhz = chip.clock_mhz;
  s.cycles = static_cast<uint64_t>(r.total.cycles);
  s.microseconds = r.microseconds;
  s.mxu_utilization = static_cast<double>(r.total.array_macs) / (cells * cycles);
  s.mxu_useful_share = r.total.array_macs ? static_cast<double>(r.total.useful_macs) /
                                                static_cast<double>(r.total.array_macs)
                                          : 0;
  s.hbm_bytes = static_cast<uint64_t>(r.total.weight_bytes);
  if (chip.weight_gbps > 0)
    s.hbm_bandwidth_share = static_cast<double>(r.total.weight_bytes) /
                            (chip.bytes_per_cycle(chip.weight_gbps) * cycles);
  s.hbm_peak_bytes = done.model.weight_bytes;
  s.onchip_peak_bytes = done.model.program.buffer_bytes + done.model.program.cached_bytes;
  for (int u = 0; u < tpu::matrix::kNumUnits; ++u)
    for (int c = 0; c < tpu::kNumCauses; ++c)
      s.units[std::string(name(static_cast<tpu::matrix::Unit>(u)))]
             [std::string(name(static_cast<tpu::Cause>(c)))] =
          static_cast<uint64_t>(r.total.units[static_cast<size_t>(u)][static_cast<size_t>(c)]);
  for (size_t i = 0; i < r.ranges.size(); ++i) {
    const tpu::matrix::Stretch& t = r.ranges[i];
    Simulation::Node n;
    n.name = done.model.program.ranges[i].name;
    n.op = done.model.program.ranges[i].kind;
    n.cycles = static_cast<uint64_t>(t.cycles);
    n.flops = 2 * static_cast<double>(t.useful_macs);
    n.hbm_bytes = static_cast<uint64_t>(t.weight_bytes);
    if (t.cycles) {
      n.mxu_utilization =
          static_cast<double>(t.array_macs) / (cells * static_cast<double>(t.cycles));
      n.mxu_useful_share =
          t.array_macs ? static_cast<double>(t.useful_macs) / static_cast<double>(t.array_macs) : 0;
      n.intensity = n.hbm_bytes ? n.flops / static_cast<double>(n.hbm_bytes) : 0;
      const double roof =
          n.hbm_bytes ? std::min(2 * cells, n.intensity * chip.bytes_per_cycle(chip.weight_gbps))
                      : 2 * cells;
      n.roofline_share = n.flops > 0 ? n.flops / static_cast<double>(t.cycles) / roof : 0;
      const auto& mxu = t.units[0];
      const size_t most =
          static_cast<size_t>(std::max_element(mxu.begin(), mxu.end()) - mxu.begin());
      n.bound_by = most == 0 ? "mxu" : std::string(name(static_cast<tpu::Cause>(most)));
    }
    s.nodes.push_back(std::move(n));
  }
  for (const auto& h : done.model.host_ops) {
    Simulation::Node n;
    n.name = h.name;
    n.op = h.op;
    n.bound_by = "host";
    n.host_reason = h.reason;
    s.nodes.push_back(std::move(n));
  }
  const Function& f = *m.main();
  for (size_t i = 0; i < done.outputs.size(); ++i) {
    std::string name = i < f.result_names.size() ? f.result_names[i] : "";
    if (name.empty()) name = "result" + std::to_string(i);
    s.outputs.push_back({std::move(name), std::move(done.outputs[i])});
  }
  return s;
}

}  // namespace

Result<tpu::Chip> chip_of_target(const std::string& target) {
  if (!target.starts_with("tpu:") || target.size() == 4)
    return Error{"target-form",
                 "found the target `" + target +
                     "`; wanted tpu:v5e or another chip, or tpu:FILE with a chip file",
                 {"--target"},
                 {}};
  return tpu::load_chip(target.substr(4));
}

Result<Simulation> simulate_module(const Module& m, const tpu::Chip& chip,
                                   const SimulateOptions& options,
                                   const std::vector<Literal>& inputs) {
  Simulation s;
  const auto start = std::chrono::steady_clock::now();
  tpu::TpuOptions to;
  to.precision = precision_of(options.precision);
  to.text = options.code;
  TF_ASSIGN(tpu::ChipProgram p, tpu::compile_chip(m, chip, to));
  s.compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu = cpu_seconds_now();
  tpu::Machine machine(chip);
  TF_TRY(machine.load(p.program));
  tpu::RunOptions run;
  run.values = !options.timing_only;
  run.max_cycles = options.max_cycles;
  run.clock = options.timing_only && options.tile_clock ? tpu::Clock::Tile : tpu::Clock::Bundle;
  Hbm hbm;
  HostSide host(m);
  const Function& f = *m.main();
  if (run.values) {
    TF_TRY(hbm.bind(machine, p));
    for (size_t i = 0; i < f.body.args.size(); ++i) {
      const Value* v = f.body.args[i].get();
      host.bind(v, inputs[i]);
      host.values[v] = inputs[i];
    }
    for (const auto& [v, l] : p.known) host.values[v] = l;
    for (const auto* list : {&p.inputs, &p.constants})
      for (const tpu::HbmTensor& t : *list) {
        const Literal* l = host.find(t.value);
        TF_CHECK(l, "an argument has no value");
        to_chip(*l, t.layout, hbm.at(t.row));
      }
    machine.on_host([&](int step) -> Status {
      const tpu::HostWork& work = p.host[static_cast<size_t>(step)];
      for (const tpu::HbmTensor& t : work.reads)
        host.values[t.value] = tpu::from_chip(hbm.at(t.row), t.layout);
      for (const Op* op : work.ops) TF_TRY(host.run(*op));
      for (const tpu::HbmTensor& t : work.writes)
        to_chip(host.values.at(t.value), t.layout, hbm.at(t.row));
      return ok_status();
    });
  }
  TF_ASSIGN(tpu::Report report, machine.run(run));
  account(s, p, report, chip);
  s.cpu_seconds = cpu_seconds_now() - cpu;
  if (run.values) {
    for (const tpu::HbmTensor& t : p.outputs)
      host.values[t.value] = tpu::from_chip(hbm.at(t.row), t.layout);
    const auto& results = f.body.results();
    for (size_t i = 0; i < results.size(); ++i) {
      const Literal* l = host.find(results[i]);
      TF_CHECK(l, "a result was not computed");
      std::string name = i < f.result_names.size() ? f.result_names[i] : "";
      if (name.empty()) name = "result" + std::to_string(i);
      s.outputs.push_back({std::move(name), *l});
    }
  }
  return s;
}

namespace {

std::string percent(double x) { return std::to_string(static_cast<int>(x * 100 + 0.5)) + " %"; }

// What would make it faster, most of all first. What can be tried is tried, in cycles alone.
void advise(Simulation& s, const ModelSource& source, const SimulateOptions& options,
            const std::map<std::string, std::vector<int64_t>>& shapes) {
  const auto cycles = static_cast<double>(std::max<uint64_t>(s.cycles, 1));
  auto add = [&](double gain, std::string text, bool simulated) {
    if (gain > 1.02) s.advice.push_back({std::move(text), gain, simulated});
  };
  SimulateOptions trial = options;
  trial.timing_only = true;
  trial.tile_clock = true;
  trial.advice = false;
  trial.code = false;
  // Twice the rows: inputs that share their first size.
  int64_t batch = -1;
  bool one = !shapes.empty();
  for (const auto& [name, dims] : shapes) {
    if (dims.empty()) continue;
    if (batch >= 0 && dims[0] != batch) one = false;
    batch = dims[0];
  }
  constexpr double kAffordable = 5e9;  // cycles: what a trial may take
  if (one && batch > 0 && cycles < kAffordable) {
    for (const auto& [name, dims] : shapes) {
      trial.compile.shapes[name] = dims;
      if (!dims.empty()) trial.compile.shapes[name][0] = 2 * batch;
    }
    auto twice = simulate(source, trial, {});
    if (twice.ok() && twice->cycles)
      add(2 * cycles / static_cast<double>(twice->cycles),
          "batch " + std::to_string(batch) + " -> " + std::to_string(2 * batch) +
              ": the matrix units go from " + percent(s.mxu_utilization) + " to " +
              percent(twice->mxu_utilization) + " of their peak, HBM from " +
              percent(s.hbm_bandwidth_share) + " to " + percent(twice->hbm_bandwidth_share) +
              " of its bandwidth",
          true);
    trial.compile.shapes = options.compile.shapes;
  }
  if (options.precision != "bf16" && cycles < kAffordable) {
    trial.precision = "bf16";
    auto plain = simulate(source, trial, {});
    if (plain.ok() && plain->cycles)
      add(cycles / static_cast<double>(plain->cycles),
          "--precision bf16 instead of " + options.precision, true);
    trial.precision = options.precision;
  }
  // Host steps: what the crossings and the waiting cost.
  double host = 0;
  const Simulation::Node* first = nullptr;
  if (auto u = s.units.find("host"); u != s.units.end())
    if (auto c = u->second.find("compute"); c != u->second.end())
      host = static_cast<double>(c->second);
  int on_host = 0;
  for (const auto& n : s.nodes) {
    if (n.host_reason.empty()) continue;
    if (!first) first = &n;
    ++on_host;
  }
  if (first && host > 0)
    add(cycles / std::max(cycles - host, 1.0),
        std::to_string(on_host) + (on_host == 1 ? " op runs" : " ops run") + " on the host, `" +
            first->name + "` (" + first->op + ") because " + first->host_reason,
        false);
  // Padding of what memory or the vector units are busy with.
  for (const auto& n : s.nodes) {
    if (n.padding < 1.5 || !n.cycles) continue;
    const double share = static_cast<double>(n.cycles) / cycles;
    char text[32];
    std::snprintf(text, sizeof text, "%.1fx", n.padding);
    add(1 / (1 - share * (1 - 1 / n.padding)),
        "`" + n.padded + "` of `" + n.name + "` is padded " + text +
            ": make its last dimension a multiple of 128 and the one before of 8",
        false);
  }
  std::stable_sort(s.advice.begin(), s.advice.end(),
                   [](const auto& a, const auto& b) { return a.gain > b.gain; });
  if (s.advice.size() > 3) s.advice.resize(3);
}

}  // namespace

Result<Simulation> simulate(const ModelSource& source, const SimulateOptions& options,
                            const std::vector<NamedLiteral>& given) {
  TF_ASSIGN(tpu::Chip chip, chip_of_target(options.compile.target));
  CompileOptions compile = options.compile;
  std::map<std::string, std::vector<int64_t>> sizes;
  TF_ASSIGN(auto m, load_with(source, compile, given));
  const auto open = [&] {
    const auto& args = m->main()->body.args;
    return std::any_of(args.begin(), args.end(),
                       [](const auto& a) { return !a->type.is_static(); });
  };
  if (open()) {
    // The chip's code is made for one set of sizes.
    if (given.empty()) {
      sizes = small_sizes(*m->main());
      for (const auto& [name, dims] : sizes) compile.shapes[name] = dims;
    }
    for (const NamedLiteral& g : given) compile.shapes[g.name] = g.value.dims();
    TF_ASSIGN(m, source.load(compile));
    Errors errors;
    for (const auto& a : m->main()->body.args)
      if (!a->type.is_static())
        errors.push_back({"tpu-open-size",
                          "input `" + a->name + "` has an open dimension, " + a->type.str() +
                              "; the chip's code is made for one size: give it with --shape",
                          {source.path},
                          {}});
    if (!errors.empty()) return errors;
  }
  std::vector<Literal> inputs;
  bool random = false;
  if (!options.timing_only) {
    if (given.empty()) {
      inputs = random_inputs(*m->main(), options.seed);
      random = !inputs.empty();
    } else {
      std::vector<std::string> names;
      for (const auto& a : m->main()->body.args) names.push_back(a->name);
      TF_ASSIGN(inputs, order_by_name(given, names, source.path));
      for (size_t i = 0; i < inputs.size(); ++i) {
        const auto& a = m->main()->body.args[i];
        if (inputs[i].type() == a->type) continue;
        return Error{
            "input-dtype",
            "input `" + a->name + "` is " + inputs[i].type().str() + ", wanted " + a->type.str(),
            {source.path},
            {}};
      }
    }
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> input_names;
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& a : m->main()->body.args) shapes[a->name] = a->type.static_shape();
  for (const auto& a : m->main()->body.args) input_names.push_back(a->name);
  const bool matrix = chip.family == tpu::Family::Matrix;
  if (!matrix) {
    TF_ASSIGN(auto report, run_pipeline(*m, compile.pipeline));
  }
  const double passes =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Result<Simulation> done = matrix ? simulate_matrix_family(*m, chip, options, inputs)
                                   : simulate_module(*m, chip, options, inputs);
  if (!done.ok()) return done.take_errors();
  Simulation& s = *done;
  s.compile_seconds += passes;
  s.random_inputs = random;
  s.sizes = sizes;
  for (size_t i = 0; i < inputs.size(); ++i) s.inputs.push_back({input_names[i], inputs[i]});
  if (options.advice) advise(s, source, options, shapes);
  return done;
}

}  // namespace tenfold
