// Kernels -> object file.
#pragma once

#include "backends/backend.h"

namespace tenfold::cpu {
Result<CompiledKernels> compile_kernels(const std::vector<loop::Kernel>& kernels,
                                        const Target& target, const CodegenOptions& options);
}  // namespace tenfold::cpu
