// parallel: iterations of a top-level loop go to different threads.
#include "loop/schedule/dependence.h"

namespace tenfold::loop {

using namespace sched;

Status Schedule::parallel(const std::string& loop) {
  TF_ASSIGN(Place p, find_loop(*k_, "parallel", loop));
  if (!p.top()) return refuse("parallel", loop, "only a top-level loop can be parallel");
  if (!independent(*p.stmt())) {
    const Region region(*k_, p);
    if (const std::string why = region.carried_by(p.stmt()); !why.empty())
      return refuse("parallel", loop, why);
  }
  p.stmt()->loop_kind = LoopKind::Parallel;
  k_->trace.push_back("parallel " + word(loop));
  return ok_status();
}

}  // namespace tenfold::loop
