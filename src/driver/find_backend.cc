// Looking a backend up by the first word of a target.
#include "backends/backend.h"

namespace tenfold {

const Backend* find_backend(std::string_view name) {
  for (const Backend* b : all_backends())
    if (b->name == name) return b;
  return nullptr;
}

}  // namespace tenfold
