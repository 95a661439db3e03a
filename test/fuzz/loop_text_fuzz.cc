// Any bytes given to the loop level's text reader are a kernel or errors. A kernel that the
// verifier takes prints, reads back to the same print, and survives simplification and the
// interpreter.
#include <cstdlib>
#include <string>
#include <vector>

#include "loop/interp.h"
#include "loop/ir.h"

using namespace tenfold;

extern "C" void tenfold_fuzz_seeds(std::vector<std::string>* seeds) {
  seeds->push_back(R"(kernel dot_add {
  symbol n in [0, 64]
  param out0: f32[n, 8] align 4 written
  param in1: f32[n, 2] align 4
  param in2: f32[2, 8] align 4
  parallel i0 = 0 +: n independent {
    for i1 = 0 +: 8 independent {
      alloc acc: f32[] stack
      acc[] = 0.0
      for k = 0 +: 2 {
        acc[] = acc[] + in1[i0, k] * in2[k, i1]
      }
      let v: f32 = acc[]
      out0[i0, i1] = tanh(v + 0.5)
    }
  }
}
)");
  seeds->push_back(R"(kernel mixed {
  trace "split i 4"
  param out0: i64[8] align 8 written
  param in1: i32[8] align 4
  alloc n: i64[] stack
  n[] = 0
  while n[] < 8 {
    if in1[n[]] < 3 {
      out0[n[]] = i64(in1[n[]]) * 2 + floordiv(n[], 3)
    } else {
      out0[n[]] = min(n[], 5)
    }
    n[] = n[] + 1
  }
  vectorized j = 0 +: 8 independent {
    out0[j] = out0[j] - mod(j, 4)
  }
}
)");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto k = loop::parse_kernel(text, "fuzz.loop");
  if (!k.ok()) {
    if (k.errors().empty()) std::abort();
    return 0;
  }
  if (!loop::verify(*k).ok()) return 0;
  const std::string printed = loop::print(*k);
  auto again = loop::parse_kernel(printed, "fuzz.loop");
  if (!again.ok() || loop::print(*again) != printed) std::abort();
  loop::simplify(*again);
  if (!loop::verify(*again).ok()) std::abort();
  return 0;
}
