// Any bytes given to the text reader are a module or errors. A module prints, and what is printed
// reads back to the same print.
#include <cstdlib>
#include <string>

#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto m = tenfold::parse_stablehlo(text, "fuzz.mlir");
  if (!m.ok()) return 0;
  const std::string printed = tenfold::print(**m);
  auto again = tenfold::parse_stablehlo(printed, "fuzz.mlir");
  if (!again.ok() || tenfold::print(**again) != printed) std::abort();
  return 0;
}
