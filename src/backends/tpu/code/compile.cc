#include "backends/tpu/code/compile.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "backends/tpu/code/emit.h"

namespace tenfold::tpu::code {
namespace {

Status check_features(const Kernel& k, const Nodes& nodes, const Chip& chip) {
  for (const Node& n : nodes) {
    if (n.loop) {
      TF_TRY(check_features(k, n.loop->body, chip));
    } else if (n.branch) {
      TF_TRY(check_features(k, n.branch->then_body, chip));
      TF_TRY(check_features(k, n.branch->else_body, chip));
    } else if (const OpInfo& o = info(n.line.in.op); !has(chip, o.feature)) {
      return Error{"tpu-feature",
                   "kernel `" + k.name + "` uses " + std::string(o.mnemonic) +
                       ", which wants a chip with " + std::string(name(o.feature)) + "; " +
                       chip.name + " has none",
                   {},
                   {}};
    }
  }
  return ok_status();
}

// Writes the bundles with the machine's registers. Copies of a register to itself are gone.
void encode(const Assembly& code, const Allocation& where, const std::vector<uint32_t>& shapes,
            Program* program) {
  std::vector<uint32_t> at(code.bundles() + 1);
  uint32_t base = static_cast<uint32_t>(program->num_bundles()), kept = 0;
  std::vector<std::vector<Inst>> bundles;
  for (size_t b = 0; b < code.bundles(); ++b) {
    at[b] = base + kept;
    std::vector<Inst> bundle;
    for (const Instr& in : code.bundle(b)) {
      Inst i;
      i.op = in.op;
      i.imm = in.imm;
      i.a = in.a;
      for (int k = 0; k < in.size(); ++k) {
        if (in.reads(k) || in.writes(k)) i.a[k] = where.reg[in.a[k]];
      }
      bool idle = (in.op == Op::VMov || (in.op == Op::SMov && !i.is_imm(1)) ||
                   (in.op == Op::MOr && i.a[1] == i.a[2])) &&
                  i.a[0] == i.a[1];
      if (idle) continue;
      if (in.op == Op::Dma) i.a[3] = static_cast<int32_t>(shapes[in.a[3]]);
      bundle.push_back(i);
    }
    if (bundle.empty()) continue;
    ++kept;
    bundles.push_back(std::move(bundle));
  }
  at[code.bundles()] = base + kept;
  for (auto& bundle : bundles) {
    for (Inst& i : bundle) {
      const OpInfo& o = info(i.op);
      for (size_t k = 0; k < o.operands.size(); ++k) {
        if (o.operands[k] == 'l') i.a[k] = static_cast<int32_t>(at[code.labels[i.a[k]]]);
      }
    }
    program->add_bundle(bundle);
  }
}

}  // namespace

std::string to_text(const CompileReport& r) {
  std::string s = std::to_string(r.end - r.first) + " bundles, " +
                  std::to_string(r.vector_registers) + " vector, " +
                  std::to_string(r.scalar_registers) + " scalar, " +
                  std::to_string(r.mask_registers) + " mask registers";
  if (r.spilled) s += ", " + std::to_string(r.spilled) + " in memory";
  s += "\n";
  for (const LoopReport& l : r.loops) {
    s += "  loop " + l.name + ": ";
    s += l.trips >= 0 ? std::to_string(l.trips) + " x " : "";
    s += std::to_string(l.ops) + " ops";
    if (l.pipelined) {
      s += ", an iteration every " + std::to_string(l.interval) + " cycles (bound " +
           std::to_string(l.bound_interval) + " by " + l.bound + "), " + std::to_string(l.stages) +
           " stages, " + std::to_string(l.unroll) + " copies";
    } else {
      s += ", not pipelined" + (l.bound.empty() ? "" : ": " + l.bound);
    }
    s += "\n";
  }
  return s;
}

Result<CompileReport> compile(const Kernel& kernel, const Chip& chip, Program* program,
                              const CompileOptions& options) {
  Machine machine(chip);
  std::set<int32_t> spilled;
  EmitOptions emit_options;
  emit_options.schedule = options.schedule;
  emit_options.pipeline = options.pipeline;
  SpillArea area{options.spill_row, options.spill_rows, options.spill_word, options.spill_words};
  bool lean_scalars = false;
  constexpr int kMostAttempts = 24;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    Tree tree = make_tree(kernel);
    if (!attempt) TF_TRY(check_features(kernel, tree.body, chip));
    unroll_small_loops(&tree);
    TF_TRY(spill_registers(&tree, spilled, area));
    coalesce_copies(&tree);
    remove_dead(&tree);
    hoist_invariants(&tree, !lean_scalars);
    lower_addresses(&tree, !emit_options.thrifty);
    share_values(&tree, !lean_scalars);
    remove_dead(&tree);
    Emitted e = emit(&tree, &machine, emit_options);
    AllocationInput input;
    input.code = &e.code;
    input.kinds = &tree.regs;
    for (int k = 0; k < 3; ++k) input.registers[k] = machine.registers(static_cast<RegKind>(k));
    input.weight = e.weight;
    for (size_t r = 0; r < input.weight.size(); ++r) {
      int32_t o = tree.origin[r];
      if (o == kNoReg || spilled.count(o) || e.in_pipeline[r]) input.weight[r] = 0;
    }
    Allocation where = allocate(input);
    if (where.homeless.empty()) {
      CompileReport report;
      report.first = static_cast<uint32_t>(program->num_bundles());
      std::vector<uint32_t> shapes;
      for (const DmaShape& s : kernel.shapes) shapes.push_back(program->add_shape(s));
      encode(e.code, where, shapes, program);
      report.end = static_cast<uint32_t>(program->num_bundles());
      report.loops = std::move(e.loops);
      report.spilled = static_cast<int>(spilled.size());
      report.scalar_registers = where.used[0];
      report.vector_registers = where.used[1];
      report.mask_registers = where.used[2];
      program->kernels.push_back({kernel.name, report.first, report.end, kernel.nodes});
      return report;
    }
    // Scalars are computed again rather than kept, then registers alive across loops go to memory;
    // a loop that itself wants too many overlaps fewer iterations.
    const bool few_scalars =
        std::any_of(where.homeless.begin(), where.homeless.end(),
                    [&](int32_t r) { return tree.regs[r] == RegKind::Scalar; });
    if (few_scalars && !lean_scalars) {
      lean_scalars = true;
      continue;
    }
    bool crowded = false;
    size_t before = spilled.size();
    for (int32_t r : where.homeless) {
      int32_t o = tree.origin[r];
      if (e.in_pipeline[r] || o == kNoReg || spilled.count(o)) {
        crowded = true;
      } else {
        spilled.insert(o);
      }
    }
    if (crowded || spilled.size() == before) {
      emit_options.spare_registers += 6;
      if (emit_options.spare_registers > 24) emit_options.thrifty = true;
      if (emit_options.spare_registers > 36) emit_options.pipeline = false;
    }
  }
  return Error{"tpu-spill",
               "kernel `" + kernel.name + "` keeps too many values at once for " + chip.name +
                   "'s registers even with " + std::to_string(spilled.size()) +
                   " of them in memory; make its straight code shorter",
               {},
               {}};
}

}  // namespace tenfold::tpu::code
