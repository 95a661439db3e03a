// vectorize: one lane per iteration. The iterations must be independent.
#include "loop/schedule/dependence.h"

namespace tenfold::loop {

using namespace sched;

namespace {
constexpr int64_t kMaxLanes = 1024;
}

Status Schedule::vectorize(const std::string& loop) {
  TF_ASSIGN(Place p, find_loop(*k_, "vectorize", loop));
  Stmt* s = p.stmt();
  int64_t n = 0;
  if (!is_const(s->extent, &n)) return refuse("vectorize", loop, "the extent is not constant");
  if (n < 1 || n > kMaxLanes)
    return refuse("vectorize", loop,
                  "the extent " + std::to_string(n) + " is not 1 to " + std::to_string(kMaxLanes));
  for (const Place::Step& a : p.path)
    if (a.stmt() != s && a.stmt()->kind == Stmt::Kind::For &&
        a.stmt()->loop_kind == LoopKind::Vectorized)
      return refuse("vectorize", loop, "loop " + a.stmt()->var->name + " around it already is");
  std::string inside;
  for_each_stmt(s->body, [&](const Stmt& c) {
    if (c.kind == Stmt::Kind::While) inside = "it contains a while loop";
    if (c.kind == Stmt::Kind::For && c.loop_kind == LoopKind::Vectorized)
      inside = "loop " + c.var->name + " inside already is";
    if (c.kind == Stmt::Kind::For && (uses(c.begin, s->var.get()) || uses(c.extent, s->var.get())))
      inside = "the bounds of loop " + c.var->name + " differ between lanes";
  });
  if (!inside.empty()) return refuse("vectorize", loop, inside);
  if (!independent(*s)) {
    const Region region(*k_, p);
    if (const std::string why = region.carried_by(s); !why.empty())
      return refuse("vectorize", loop, why);
  }
  s->loop_kind = LoopKind::Vectorized;
  k_->trace.push_back("vectorize " + word(loop));
  return ok_status();
}

}  // namespace tenfold::loop
