// Schedules for everything but contractions (see schedule_contraction.cc): loops that step through
// memory alike are collapsed, the innermost map loop runs on vector lanes, row reductions get one
// partial result a lane, and the outermost loop is split over threads.
#include "passes/lower/schedule.h"

#include <algorithm>

#include "loop/schedule.h"
#include "passes/lower/merge_dims.h"
#include "passes/lower/nest.h"
#include "passes/lower/schedule_contraction.h"

namespace tenfold {
namespace {

using loop::Expr;
using loop::ExprNode;
using loop::LoopKind;
using loop::Schedule;
using loop::Stmt;
using loop::Tail;

class Generic {
 public:
  Generic(loop::Kernel& k, const loop::Machine& m) : kernel_(k), machine_(m), schedule_(&k) {}

  void run() {
    // What is declared at the top is shared by the statements after it, which then stay one phase.
    for (auto& s : kernel_.body)
      one_phase_ |= s->kind == Stmt::Kind::Alloc || s->kind == Stmt::Kind::Let;
    std::vector<std::string> tops;
    for (auto& s : kernel_.body)
      if (s->kind == Stmt::Kind::For) tops.push_back(s->var->name);
    for (const auto& name : tops) nest(name);
  }

 private:
  Stmt* find(const std::string& name) { return find_loop(kernel_.body, name); }

  static bool any(int) { return false; }  // nothing is repacked here: every parameter may be merged

  void nest(std::string top) {
    for (bool again = true; again;) {
      again = false;
      std::vector<Stmt*> loops = perfect_nest(find(top));
      for (size_t i = loops.size(); i-- > 1 && !again;) {
        if (!collapsible(*loops[i - 1], *loops[i])) continue;
        bool outermost = i == 1;
        auto fused = schedule_.fuse(loops[i - 1]->var->name, loops[i]->var->name);
        if (!fused.ok()) continue;
        if (outermost) top = *fused;
        again = true;
      }
    }
    // A single outer iteration (a batch of one) leaves nothing to share out.
    for (std::vector<Stmt*> l = perfect_nest(find(top));
         l.size() > 1 && constant_extent(*l[0]) == 1 && l[1]->independent;
         l = perfect_nest(find(top))) {
      auto fused = schedule_.fuse(top, l[1]->var->name);
      if (!fused.ok()) break;
      top = *fused;
      loop::simplify(kernel_);  // the strides below have to see that the quotient is 0
    }
    merge_dims(kernel_, any);
    std::vector<Stmt*> loops = perfect_nest(find(top));
    if (loops.empty()) return;
    if (carries(*loops.front())) {  // a reduction to one value: nothing to share out
      std::vector<std::string> inner;
      if (has_loops(loops.back()->body)) {
        for (Stmt* l : innermost_loops(loops.back()->body)) inner.push_back(l->var->name);
      } else {
        inner.push_back(loops.back()->var->name);
      }
      for (const auto& name : inner) vectorize_inner(name);
      return;
    }
    Stmt* last = loops.back();
    bool alone = loops.size() == 1;
    std::string outer = top;
    if (!has_loops(last->body)) {
      outer = vectorize_map(last->var->name, alone, top);
    } else if (lanes_along(*last)) {
      outer = vectorize_map(last->var->name, alone, top);
    } else {
      std::vector<std::string> inner;
      for (Stmt* l : innermost_loops(last->body)) inner.push_back(l->var->name);
      for (const auto& name : inner) vectorize_inner(name);
    }
    Stmt* o = find(outer);
    if (o && o->loop_kind == LoopKind::Serial && !one_phase_) (void)schedule_.parallel(outer);
  }

  // The loop adds to a value on the stack that lives longer than one round of it.
  static bool carries(const Stmt& l) {
    std::vector<const loop::BufferDef*> own, stored;
    for_each_stmt(l.body, [&](const Stmt& s) {
      if (s.kind == Stmt::Kind::Alloc) own.push_back(s.buffer.get());
      if (s.kind == Stmt::Kind::Store && s.buffer->scope == loop::Scope::Stack) {
        stored.push_back(s.buffer.get());
      }
    });
    return std::any_of(stored.begin(), stored.end(), [&](const auto* b) {
      return std::find(own.begin(), own.end(), b) == own.end();
    });
  }

  // Every address under the loop is contiguous or constant along it, and stores are contiguous:
  // whole reductions can run lane by lane.
  bool lanes_along(const Stmt& l) {
    bool inner_contiguous = false, usable = true;
    std::vector<Stmt*> inner = innermost_loops(const_cast<Stmt&>(l).body);
    for (const Access& a : accesses(l.body)) {
      if (a.buffer->scope == loop::Scope::Stack) continue;
      if (a.buffer->scope != loop::Scope::Param) return false;
      Expr at = flat_offset(a.buffer, *a.index);
      int64_t n = 0;
      Expr s = stride_of(at, l.var);
      if (!s || !loop::is_const(s, &n) || (n != 1 && (n != 0 || a.store))) usable = false;
      for (const Stmt* i : inner) {
        Expr si = stride_of(at, i->var);
        if (si && loop::is_const(si, &n) && n == 1) inner_contiguous = true;
      }
    }
    int64_t extent = constant_extent(l);
    if (extent >= 0 && extent < lanes(l.body) / 2) return false;
    return usable && !inner_contiguous;
  }

  int lanes(const loop::Body& body) {
    return std::clamp(machine_.vector_bytes / widest_element(body), 2, 64);
  }

  // Returns the outermost loop afterwards.
  std::string vectorize_map(const std::string& name, bool alone, const std::string& top) {
    Stmt* l = find(name);
    int n = lanes(l->body);
    int64_t extent = constant_extent(*l);
    if (extent >= 0 && extent < 2) return top;
    if (extent > 0 && extent * 4 <= n &&
        !alone) {  // a few scalars are quicker than a masked vector
      (void)schedule_.unroll(name);
      return top;
    }
    if (extent > 0 && extent < n) {
      while (n / 2 >= extent) n /= 2;
    }
    Tail tail = extent > 0 && extent % n == 0 ? Tail::Exact : Tail::Cut;
    if (extent > 0 && extent < n) tail = Tail::Guard;
    if (tail == Tail::Guard && !machine_.masked) return top;
    auto split = schedule_.split(name, n, tail);
    if (!split.ok()) return top;
    (void)schedule_.vectorize(split->inner);
    if (!split->tail.empty() && machine_.masked && find(split->tail)) {
      auto rest = schedule_.split(split->tail, n, Tail::Guard);
      if (rest.ok()) (void)schedule_.vectorize(rest->inner);
    }
    return alone ? split->outer : top;
  }

  // A loop that holds no other, somewhere inside a kernel's own structure.
  void vectorize_inner(std::string name) {
    Stmt* l = find(name);
    if (!l || l->loop_kind != LoopKind::Serial) return;
    bool reduces = false;
    for_each_stmt(l->body, [&](const Stmt& s) {
      reduces |= s.kind == Stmt::Kind::Store && s.buffer->scope == loop::Scope::Stack &&
                 s.buffer->shape.empty();
    });
    // Loops around it that belong to the same reduction, as one where memory allows.
    std::string outermost = name;
    if (reduces) {
      std::vector<Stmt*> around = reduction_around(name);
      while (around.size() > 1 && collapsible(*around[around.size() - 2], *around.back())) {
        auto fused = schedule_.fuse(around[around.size() - 2]->var->name, around.back()->var->name);
        if (!fused.ok()) break;
        name = *fused;
        around = reduction_around(name);
      }
      outermost = around.front()->var->name;
      merge_dims(kernel_, any);
      l = find(name);
    }
    int n = lanes(l->body);
    int64_t extent = constant_extent(*l);
    if (extent >= 0 && extent < n) return;
    if (reduces) {
      // Two vectors of partial results hide the latency of the operation, where not too many of
      // the last ones stay empty.
      auto padded = [&](int64_t by) { return (extent + by - 1) / by * by; };
      int64_t partial = extent < 0 || 8 * padded(2 * n) <= 9 * padded(n) ? 2 * n : n;
      auto lane_loop = schedule_.rfactor(name, partial, outermost == name ? "" : outermost);
      if (lane_loop.ok()) (void)schedule_.vectorize(*lane_loop);
    } else {
      vectorize_map(name, false, name);
    }
  }

  // The serial loops of a perfect nest that ends with loop `name`, outermost first, under whose
  // outermost one nothing is allocated.
  std::vector<Stmt*> reduction_around(const std::string& name) {
    std::vector<Stmt*> chain;
    auto go = [&](loop::Body& body, auto&& self) -> bool {
      for (auto& s : body) {
        const size_t depth = chain.size();
        if (s->kind == Stmt::Kind::For && s->loop_kind == LoopKind::Serial &&
            (!s->independent || s->var->name == name)) {
          chain.push_back(s.get());
          if (s->var->name == name) return true;
          if (s->body.size() == 1 && self(s->body, self)) return true;
          chain.resize(depth);
        }
        std::vector<Stmt*> outside;
        std::swap(chain, outside);
        for (loop::Body* b : {&s->body, &s->else_body})
          if (self(*b, self)) return true;
        std::swap(chain, outside);
      }
      return false;
    };
    go(kernel_.body, go);
    return chain;
  }

  loop::Kernel& kernel_;
  const loop::Machine& machine_;
  Schedule schedule_;
  bool one_phase_ = false;
};

}  // namespace

Status schedule_kernel(EmittedKernel& k, const Op* hero, const loop::Machine& machine,
                       const std::function<bool(int)>& constant, std::vector<Repack>& repacks) {
  if (hero && (hero->def->kind == OpKind::Contraction || hero->def->kind == OpKind::Window)) {
    if (schedule_contraction(k, machine, constant, repacks)) {
      loop::simplify(k.kernel);
      return loop::verify(k.kernel);
    }
  }
  Generic(k.kernel, machine).run();
  loop::simplify(k.kernel);
  return loop::verify(k.kernel);
}

}  // namespace tenfold
