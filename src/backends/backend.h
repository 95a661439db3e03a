// A backend is a folder: it turns kernels into code for one family of targets.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "loop/ir.h"
#include "loop/machine.h"

namespace tenfold {

// A parsed --target: "cpu", "cpu:skylake-avx512", "cpu:cortex-a72", "cpu:rv64gcv".
struct Target {
  std::string text;       // as the user wrote it
  std::string backend;    // "cpu"
  std::string triple;     // LLVM triple
  std::string cpu;        // LLVM cpu name
  std::string features;   // "+avx512f,+avx512vnni"
  loop::Machine machine;  // what schedules look at
  bool vnni = false, fp16 = false, dotprod = false;
  bool host = false;  // can run in this process
};

struct CompiledKernels {
  std::string object;  // relocatable object file for the target
  struct KernelCode {
    std::vector<std::string> phase_symbols;
    std::vector<loop::Expr> workspace_bytes;  // per phase, over the kernel's symbols
    std::vector<loop::Expr> extents;          // of the parallel loop, else constant 1
  };
  std::vector<KernelCode> kernels;  // in the order given
  std::string ir_dump, asm_dump;    // when asked for
};

struct CodegenOptions {
  int opt_level = 3;
  bool fast_math = false;
  bool want_ir = false, want_asm = false;
  int threads = 2;  // kernels are compiled in parallel, in a few modules
};

struct Backend {
  std::string_view name;  // "cpu"
  std::string_view summary;
  std::function<std::vector<std::string>()> targets;  // names for `tenfold targets`
  std::function<Result<Target>(std::string_view text)> parse_target;
  std::function<Result<CompiledKernels>(const std::vector<loop::Kernel>&, const Target&,
                                        const CodegenOptions&)>
      compile;
  // Relocatable object -> shared object in memory (for dlopen, .so artifacts).
  std::function<Result<std::string>(const std::string& object, const Target&,
                                    const std::vector<std::string>& exports)>
      link_shared;
};

std::span<const Backend* const> all_backends();
const Backend* find_backend(std::string_view name);

}  // namespace tenfold
