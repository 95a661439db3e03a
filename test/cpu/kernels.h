// A collection of small kernels that between them use every way of code generation; shared by the
// host, AArch64 and RISC-V tests. Values are small whole numbers, so that any order of summation
// gives the same bits.
#pragma once

#include <string>
#include <vector>

#include "array/literal.h"
#include "loop/ir.h"

namespace tenfold {

struct KernelCase {
  loop::Kernel kernel;
  std::vector<int64_t> symbols;
  std::vector<Literal> buffers;  // initial contents, in params' order
};

std::vector<KernelCase> kernel_cases();
// A random loop nest of elementwise expressions, guards, reductions and views.
KernelCase random_kernel(uint64_t seed);

// Every primitive on the common types over odd and special values; vectorized with a tail.
std::vector<KernelCase> primitive_cases();

}  // namespace tenfold
