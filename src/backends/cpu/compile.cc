// Kernels -> object file. Distinct kernels are spread over a few modules that are optimised and
// assembled in parallel. Loops are scheduled already, so the pipeline is short: promotion of
// buffers to registers, clean-up, motion out of loops. No vectorizer or unroller undoes a schedule.
#include "backends/cpu/compile.h"

#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <functional>
#include <map>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "backends/cpu/emitter.h"
#include "backends/cpu/kernel_key.h"
#include "backends/cpu/link.h"
#include "backends/cpu/target.h"

namespace tenfold::cpu {
namespace {

Machine machine_of(const Target& t) {
  Machine m;
  m.vector_bytes = t.machine.vector_bytes;
  m.vnni = t.vnni && t.machine.vector_bytes == 64;
  m.dotprod = t.dotprod;
  if (t.triple.rfind("aarch64", 0) == 0) {
    m.arch = Machine::Arch::AArch64;
    m.half_convert = true;
  } else if (t.triple.rfind("riscv", 0) == 0) {
    m.arch = Machine::Arch::RiscV;
    m.half_convert = t.fp16;
    m.masked_memory = t.machine.vector_bytes > 8;
    m.gather = m.masked_memory;
  } else {
    m.half_convert = true;
    m.avx512 = t.machine.vector_bytes == 64;
    m.masked_memory = m.avx512;
    m.gather = true;
  }
  return m;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& t, int opt_level) {
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(t.triple, error);
  if (!target) return nullptr;
  llvm::TargetOptions o;
  o.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  o.EnableFastISel = false;
  o.FunctionSections = true;
  if (t.triple.rfind("riscv64", 0) == 0) o.MCOptions.ABIName = "lp64d";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      t.triple, t.cpu, t.features, o, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      opt_level >= 2   ? llvm::CodeGenOptLevel::Aggressive
      : opt_level == 1 ? llvm::CodeGenOptLevel::Default
                       : llvm::CodeGenOptLevel::Less));
}

void optimise(llvm::Module& m, llvm::TargetMachine& tm, int level) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder pb(&tm);
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cam, mam);
  llvm::FunctionPassManager f;
  f.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  f.addPass(llvm::EarlyCSEPass(false));
  if (level >= 1) {
    f.addPass(llvm::SimplifyCFGPass());
    f.addPass(llvm::InstCombinePass());
    if (level >= 2) {
      f.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                      /*UseMemorySSA=*/true,
                                                      /*UseBlockFrequencyInfo=*/false));
      f.addPass(llvm::EarlyCSEPass(true));
      f.addPass(llvm::InstCombinePass());
    }
    f.addPass(llvm::SimplifyCFGPass());
    f.addPass(llvm::ADCEPass());
  }
  for (llvm::Function& fn : m) {
    if (!fn.isDeclaration()) f.run(fn, fam);
  }
}

Status emit(llvm::Module& m, llvm::TargetMachine& tm, llvm::CodeGenFileType type,
            std::string* out) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager pm;
  if (tm.addPassesToEmitFile(pm, os, nullptr, type, /*DisableVerify=*/true)) {
    return Error{"cpu-codegen", "the target cannot emit files", {}, {}};
  }
  pm.run(m);
  out->assign(bytes.data(), bytes.size());
  return ok_status();
}

struct ModuleJob {
  std::vector<size_t> kernels;  // indices into the kernel list
  std::vector<std::vector<PhaseCode>> phases;
  std::string object, ir, assembly;
  Errors errors;
};

void run_job(const std::vector<loop::Kernel>& kernels, const std::vector<std::string>& stems,
             const Target& target, const CodegenOptions& opt, ModuleJob* job) {
  auto tm = make_target_machine(target, opt.opt_level);
  if (!tm) {
    job->errors.push_back({"cpu-codegen", "no code generator for " + target.triple, {}, {}});
    return;
  }
  llvm::LLVMContext ctx;
  if (!opt.want_ir && !opt.want_asm) ctx.setDiscardValueNames(true);
  llvm::Module module("tenfold", ctx);
  module.setTargetTriple(target.triple);
  module.setDataLayout(tm->createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  if (target.triple.rfind("riscv", 0) == 0) {
    module.addModuleFlag(llvm::Module::Error, "target-abi", llvm::MDString::get(ctx, "lp64d"));
  }
  const Machine machine = machine_of(target);
  for (size_t k : job->kernels) {
    KernelEmitter emitter(module, machine, opt, kernels[k], stems[k], target.features, target.cpu);
    auto r = emitter.run();
    if (!r.ok()) {
      for (Error& e : r.take_errors()) job->errors.push_back(std::move(e));
      continue;
    }
    job->phases.push_back(std::move(*r));
  }
  if (!job->errors.empty()) return;
  std::string text;
  llvm::raw_string_ostream os(text);
  TF_CHECK(!llvm::verifyModule(module, &os), "generated LLVM IR is malformed: " + os.str());
  optimise(module, *tm, opt.opt_level);
  if (opt.want_ir) {
    llvm::raw_string_ostream ir(job->ir);
    module.print(ir, nullptr);
  }
  if (opt.want_asm) {
    auto copy = llvm::CloneModule(module);
    if (auto s = emit(*copy, *tm, llvm::CodeGenFileType::AssemblyFile, &job->assembly); !s.ok()) {
      job->errors = s.take_errors();
    }
  }
  if (auto s = emit(module, *tm, llvm::CodeGenFileType::ObjectFile, &job->object); !s.ok()) {
    job->errors = s.take_errors();
  }
}

// A C identifier of the kernel's name, unique in `used`.
std::string stem_of(const std::string& name, std::map<std::string, int>& used) {
  std::string s;
  for (char c : name) s.push_back(std::isalnum(static_cast<unsigned char>(c)) ? c : '_');
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) s = "k_" + s;
  s = "tf_" + s;
  if (s.size() > 120) s.resize(120);
  const int n = used[s]++;
  return n == 0 ? s : s + "_v" + std::to_string(n);
}

// Primitives on types they are not defined on. Expressions share parts, so each is seen once.
struct Checker {
  const loop::Kernel& k;
  Errors* errors;
  std::unordered_set<const loop::ExprNode*> seen;
  void expr(const loop::Expr& e) {
    if (!e || !seen.insert(e.get()).second) return;
    if (e->kind == loop::ExprNode::Kind::Op) {
      const DType t = e->args[e->prim == Prim::Select ? 1 : 0]->dtype;
      if (!supports(e->prim, t)) {
        errors->push_back({"cpu-primitive",
                           "kernel " + k.name + ": " + std::string(name(e->prim)) +
                               " is not defined on " + std::string(name(t)),
                           {},
                           {}});
      }
    }
    for (const loop::Expr& a : e->args) expr(a);
  }
  void body(const loop::Body& b) {
    for (const auto& s : b) {
      for (const loop::Expr* e : {&s->begin, &s->extent, &s->cond, &s->value}) expr(*e);
      for (const loop::Expr& e : s->index) expr(e);
      body(s->body);
      body(s->else_body);
    }
  }
};

}  // namespace

Result<CompiledKernels> compile_kernels(const std::vector<loop::Kernel>& kernels,
                                        const Target& target, const CodegenOptions& options) {
  initialise_llvm();
  Errors errors;
  for (const loop::Kernel& k : kernels) Checker{k, &errors, {}}.body(k.body);
  if (!errors.empty()) return errors;

  // Equal kernels share one code.
  std::unordered_map<std::string, size_t> first;
  std::vector<size_t> original(kernels.size());
  std::vector<std::string> stems(kernels.size());
  std::map<std::string, int> used;
  std::vector<std::pair<int64_t, size_t>> distinct;  // weight, kernel
  for (size_t i = 0; i < kernels.size(); ++i) {
    original[i] = first.emplace(kernel_key(kernels[i]), i).first->second;
    if (original[i] != i) continue;
    stems[i] = stem_of(kernels[i].name, used);
    distinct.push_back({weight(kernels[i].body) + 200, i});
  }
  // Heaviest first onto the least loaded module; kernel order within a module.
  const size_t n = std::max<size_t>(
      1, std::min<size_t>(static_cast<size_t>(std::max(options.threads, 1)), distinct.size()));
  std::vector<ModuleJob> jobs(n);
  std::vector<int64_t> load(n, 0);
  std::stable_sort(distinct.begin(), distinct.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [w, k] : distinct) {
    const size_t j = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    jobs[j].kernels.push_back(k);
    load[j] += w;
  }
  for (ModuleJob& j : jobs) std::sort(j.kernels.begin(), j.kernels.end());
  std::vector<std::thread> threads;
  for (size_t j = 1; j < n; ++j) {
    threads.emplace_back([&, j] { run_job(kernels, stems, target, options, &jobs[j]); });
  }
  run_job(kernels, stems, target, options, &jobs[0]);
  for (std::thread& t : threads) t.join();

  CompiledKernels out;
  out.kernels.resize(kernels.size());
  std::vector<std::string> objects;
  for (ModuleJob& j : jobs) {
    errors.insert(errors.end(), j.errors.begin(), j.errors.end());
    if (!j.errors.empty()) continue;
    for (size_t i = 0; i < j.kernels.size(); ++i) {
      CompiledKernels::KernelCode& code = out.kernels[j.kernels[i]];
      for (const PhaseCode& p : j.phases[i]) {
        code.phase_symbols.push_back(p.symbol);
        code.workspace_bytes.push_back(p.workspace_bytes);
        code.extents.push_back(p.extent);
      }
    }
    objects.push_back(std::move(j.object));
    out.ir_dump += j.ir;
    out.asm_dump += j.assembly;
  }
  if (!errors.empty()) return errors;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (original[i] == i) continue;
    // The sizes of a shared kernel are over its own symbols: put this kernel's in their place.
    const loop::Kernel& from = kernels[original[i]];
    loop::Substitution sub;
    for (size_t s = 0; s < from.symbols.size(); ++s) {
      sub.push_back({from.symbols[s], loop::var_ref(kernels[i].symbols[s])});
    }
    CompiledKernels::KernelCode code = out.kernels[original[i]];
    for (loop::Expr& e : code.workspace_bytes) e = loop::substitute(e, sub);
    for (loop::Expr& e : code.extents) e = loop::substitute(e, sub);
    out.kernels[i] = std::move(code);
  }
  TF_ASSIGN(out.object, merge_objects(objects, target));
  return out;
}

}  // namespace tenfold::cpu
