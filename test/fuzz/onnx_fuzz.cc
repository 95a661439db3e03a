// Any bytes given to the ONNX reader are a module or errors. A module verifies and prints.
// onnx_fuzz_seeds.py writes the models to begin with.
#include <cstdlib>

#include "frontends/onnx/import.h"
#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenfold;
  onnx::ImportOptions options;
  options.max_constant_bytes = 1 << 20;
  options.fold_budget_bytes = 1 << 20;
  auto m = onnx::import_onnx_bytes({reinterpret_cast<const std::byte*>(data), size}, "fuzz.onnx",
                                   {}, options);
  if (!m.ok()) {
    if (m.errors().empty()) std::abort();
    return 0;
  }
  if (!verify(**m).ok()) std::abort();
  if (print(**m).empty()) std::abort();
  return 0;
}
