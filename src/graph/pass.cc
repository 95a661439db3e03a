// Look-up of graph passes by name.
#include "graph/pass.h"

namespace tenfold {

const GraphPass* find_graph_pass(std::string_view name) {
  for (const GraphPass* p : all_graph_passes()) {
    if (p->name == name) return p;
  }
  return nullptr;
}

}  // namespace tenfold
