// Schedules for everything but contractions (see schedule_contraction.cc): loops that step through
// memory alike are collapsed, the innermost map loop runs on vector lanes, row reductions get one
// partial result a lane, and the outermost loop is split over threads.
#include "passes/lower/schedule.h"

#include <algorithm>
#include <cstring>

#include "loop/schedule.h"
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
    std::vector<std::string> tops;
    for (auto& s : kernel_.body)
      if (s->kind == Stmt::Kind::For) tops.push_back(s->var->name);
    for (const auto& name : tops) nest(name);
  }

 private:
  Stmt* find(const std::string& name) { return find_loop(kernel_.body, name); }

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
    std::vector<Stmt*> loops = perfect_nest(find(top));
    if (loops.empty()) return;
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
    if (o && o->loop_kind == LoopKind::Serial) (void)schedule_.parallel(outer);
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
  void vectorize_inner(const std::string& name) {
    Stmt* l = find(name);
    if (!l || l->loop_kind != LoopKind::Serial) return;
    int n = lanes(l->body);
    int64_t extent = constant_extent(*l);
    if (extent >= 0 && extent < n) return;
    bool reduces = false, maps = false;
    for_each_stmt(l->body, [&](const Stmt& s) {
      if (s.kind != Stmt::Kind::Store) return;
      if (s.buffer->scope == loop::Scope::Stack && s.buffer->shape.empty()) reduces = true;
      else maps = true;
    });
    if (reduces && !maps) {
      // Two vectors of partial results hide the latency of the operation.
      int64_t partial = extent < 0 || extent >= 2 * n ? 2 * n : n;
      auto lane_loop = schedule_.rfactor(name, partial);
      if (lane_loop.ok()) (void)schedule_.vectorize(*lane_loop);
    } else if (maps && !reduces) {
      vectorize_map(name, false, name);
    }
  }

  loop::Kernel& kernel_;
  const loop::Machine& machine_;
  Schedule schedule_;
};

}  // namespace

Literal repack(const Literal& l, const Repack& r) {
  int64_t n = l.dims()[r.dim];
  int64_t blocks = (n + r.block - 1) / r.block;
  std::vector<int64_t> dims{blocks};
  std::vector<int64_t> strides = row_major_strides(l.dims());
  std::vector<int64_t> from;  // source stride of each middle dimension
  int64_t middle = 1;
  for (int d : r.order) {
    dims.push_back(l.dims()[d]);
    from.push_back(strides[d]);
    middle *= l.dims()[d];
  }
  dims.push_back(r.block);
  Literal out(l.dtype(), dims);
  size_t size = static_cast<size_t>(byte_size(l.dtype()));
  std::byte* to = out.mutable_bytes();
  const std::byte* in = l.bytes();
  std::vector<int64_t> index(r.order.size());
  for (int64_t b = 0; b < blocks; ++b) {
    std::fill(index.begin(), index.end(), 0);
    int64_t count = std::min(r.block, n - b * r.block);
    for (int64_t m = 0; m < middle; ++m) {
      int64_t at = b * r.block * strides[r.dim];
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * from[d];
      std::byte* row = to + static_cast<size_t>((b * middle + m) * r.block) * size;
      if (strides[r.dim] == 1) {
        std::memcpy(row, in + static_cast<size_t>(at) * size, static_cast<size_t>(count) * size);
      } else {
        for (int64_t j = 0; j < count; ++j)
          std::memcpy(row + static_cast<size_t>(j) * size,
                      in + static_cast<size_t>(at + j * strides[r.dim]) * size, size);
      }
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < dims[d + 1]) break;
        index[d] = 0;
      }
    }
  }
  return out;
}

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
