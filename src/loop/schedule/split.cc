// split: one loop into an outer and an inner one of a fixed extent.
#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {

const char* tail_name(Tail t) {
  return t == Tail::Guard ? "guard" : t == Tail::Cut ? "cut" : "exact";
}

}  // namespace

Result<Schedule::Split> Schedule::split(const std::string& loop, int64_t factor, Tail tail) {
  TF_ASSIGN(Place p, find_loop(*k_, "split", loop));
  if (factor < 1) return refuse("split", loop, "the factor must be at least 1");
  Stmt* s = p.stmt();
  Algebra g;
  bind_scope(g, *k_, p);
  const Expr n = g.simplify(s->extent);
  const Expr f = int_const(factor);
  const Expr rest = g.simplify(imod(n, f));
  int64_t r = -1;
  const bool exact = is_const(rest, &r) && r == 0;
  if (tail == Tail::Exact && !exact)
    return refuse("split", loop,
                  std::to_string(factor) + " is not proved to divide the extent " + print(n));
  Names names(*k_);
  Split result{names.unique(loop + "o"), names.unique(loop + "i"), {}};
  const Var o = make_var(result.outer), i = make_var(result.inner);
  const Expr within = var_ref(o) * factor + var_ref(i);

  // Other marks than Parallel were for the loop as it was.
  const LoopKind kind = s->loop_kind == LoopKind::Parallel ? LoopKind::Parallel : LoopKind::Serial;
  StmtPtr remainder;
  Body body = std::move(s->body);
  if (tail == Tail::Cut && !exact) {
    const Expr whole = g.simplify(idiv(n, f));
    result.tail = names.unique(loop + "t");
    const Var t = make_var(result.tail);
    remainder = make_for_like(*s, t, g.simplify(s->begin + whole * factor), rest, kind);
    remainder->body = clone(body);
    rename(remainder->body, names, "_t");
    substitute(remainder->body, {{s->var, var_ref(t)}});
  }
  substitute(body, {{s->var, s->begin + within}});
  // Shapes of buffers allocated below may mention the variable.
  StmtPtr inner = make_for_like(*s, i, int_const(0), f, LoopKind::Serial);
  if (tail == Tail::Guard && !exact) {
    StmtPtr check = make_if(lt(within, n));
    check->body = std::move(body);
    inner->body.push_back(std::move(check));
  } else {
    inner->body = std::move(body);
  }
  const bool round_up = tail == Tail::Guard && !exact;
  StmtPtr outer = make_for_like(*s, o, int_const(0),
                                g.simplify(idiv(round_up ? n + (factor - 1) : n, f)), kind);
  outer->body.push_back(std::move(inner));
  p.body()[p.index()] = std::move(outer);
  if (remainder)
    p.body().insert(p.body().begin() + static_cast<std::ptrdiff_t>(p.index()) + 1,
                    std::move(remainder));
  k_->trace.push_back("split " + word(loop) + " " + std::to_string(factor) + " " + tail_name(tail));
  return result;
}

}  // namespace tenfold::loop
