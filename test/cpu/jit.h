// Compiles kernels and runs them in this process: object -> shared object in memory -> dlopen.
#pragma once

#include <string>
#include <vector>

#include "array/literal.h"
#include "backends/backend.h"
#include "loop/ir.h"

namespace tenfold {

extern const Backend backend_cpu;

class Jit {
 public:
  // Empty on success, else what went wrong.
  std::string build(const std::vector<loop::Kernel>& kernels, const std::string& target = "cpu",
                    CodegenOptions options = {});
  ~Jit();
  Jit() = default;
  Jit(const Jit&) = delete;
  Jit& operator=(const Jit&) = delete;

  // Runs all phases of kernel `k`; parallel phases in `pieces` calls.
  void run(size_t k, const std::vector<void*>& buffers, const std::vector<int64_t>& symbols = {},
           int pieces = 1) const;
  void run(size_t k, const std::vector<Literal*>& buffers, const std::vector<int64_t>& symbols = {},
           int pieces = 1) const;
  using Phase = void (*)(void* const*, const int64_t*, int64_t, int64_t, void*);
  Phase phase(size_t k, size_t i) const;
  CompiledKernels code;

 private:
  void* handle_ = nullptr;
  std::vector<std::vector<loop::Var>> symbols_;
};

int64_t eval_size(const loop::Expr& e, const std::vector<loop::Var>& symbols,
                  const std::vector<int64_t>& values);

}  // namespace tenfold
