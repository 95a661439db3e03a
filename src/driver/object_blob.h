// Puts a model's program and constants into the object file of its code, so that one object (and a
// shared object linked from it) is the whole model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tenfold {

// `object`: a relocatable ELF file, 64 bits, little-endian. Gives it with
//   .rodata.tenfold        `package`, aligned to 64 bytes
//   .data.rel.ro.tenfold   the rt::Linked structure under the global symbol `symbol`, with the
//                          addresses of `functions` in order
// Every global symbol that it defines is hidden and gets the prefix `symbol`_, so that objects of
// several models link into one program.
Result<std::string> embed_package(const std::string& object, const std::string& symbol,
                                  const std::vector<std::string>& functions,
                                  std::string_view package);

}  // namespace tenfold
