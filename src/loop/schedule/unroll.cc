// unroll: code generation copies the body for each iteration.
#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {
constexpr int64_t kMaxUnroll = 1024;
}

Status Schedule::unroll(const std::string& loop) {
  TF_ASSIGN(Place p, find_loop(*k_, "unroll", loop));
  Stmt* s = p.stmt();
  int64_t n = 0;
  if (!is_const(s->extent, &n)) return refuse("unroll", loop, "the extent is not constant");
  if (n > kMaxUnroll)
    return refuse("unroll", loop,
                  "the extent " + std::to_string(n) + " is over " + std::to_string(kMaxUnroll));
  if (s->loop_kind == LoopKind::Vectorized || s->loop_kind == LoopKind::Parallel)
    return refuse("unroll", loop, "it is vectorized or parallel");
  s->loop_kind = LoopKind::Unrolled;
  k_->trace.push_back("unroll " + word(loop));
  return ok_status();
}

}  // namespace tenfold::loop
