#include "passes/lower/schedule_contraction.h"

namespace tenfold {

bool schedule_contraction(EmittedKernel&, const loop::Machine&, const std::function<bool(int)>&,
                          std::vector<Repack>&) {
  return false;
}

}  // namespace tenfold
