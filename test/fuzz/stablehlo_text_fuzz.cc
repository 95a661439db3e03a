// Any bytes given to the text reader are a module or errors. A module prints, and what is printed
// reads back to the same print.
#include <cstdlib>
#include <string>

#include "graph/check.h"
#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto m = tenfold::parse_stablehlo(text, "fuzz.mlir");
  if (!m.ok()) return 0;
  const std::string printed = tenfold::print(**m);
  auto again = tenfold::parse_stablehlo(printed, "fuzz.mlir");
  if (!again.ok() || tenfold::print(**again) != printed) std::abort();
  if (tenfold::verify(**m).ok()) {
    for (const auto& f : (*m)->functions) {
      tenfold::walk(f->body, [](const tenfold::Op* op) { (void)tenfold::size_rules(*op); });
    }
  }
  return 0;
}
