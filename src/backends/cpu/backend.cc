// The CPU backend: LLVM for x86-64, AArch64 and RISC-V.
#include "backends/backend.h"

#include "backends/cpu/compile.h"
#include "backends/cpu/link.h"
#include "backends/cpu/target.h"

namespace tenfold {

extern const Backend backend_cpu;
const Backend backend_cpu = {
    .name = "cpu",
    .summary =
        "native code by LLVM for x86-64 (AVX2, AVX-512), AArch64 (NEON) and RISC-V (RVV 1.0)",
    .targets = cpu::target_names,
    .parse_target = cpu::parse_target,
    .compile = cpu::compile_kernels,
    .link_shared = cpu::link_shared,
};

}  // namespace tenfold
