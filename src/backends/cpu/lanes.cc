// Lane analysis; see lanes.h.
#include "backends/cpu/lanes.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tenfold::cpu {

using loop::Body;
using loop::Buffer;
using loop::BufferDef;
using loop::Expr;
using loop::ExprNode;
using loop::Stmt;
using loop::VarDef;
using EK = ExprNode::Kind;
using SK = Stmt::Kind;

bool LaneFacts::varying(const Expr& e) const {
  switch (e->kind) {
    case EK::Const:
      return false;
    case EK::Var:
      return e->var.get() == lane || varying_lets.contains(e->var.get());
    default:
      break;
  }
  if (auto it = memo_.find(e.get()); it != memo_.end()) return it->second;
  bool r = e->kind == EK::Load && private_buffers.contains(e->buffer.get());
  for (const Expr& a : e->args) r = r || varying(a);
  memo_[e.get()] = r;
  return r;
}

namespace {

// Every node once: expressions share parts.
using Seen = std::unordered_set<const ExprNode*>;
void visit_exprs(const Expr& e, Seen& seen, const std::function<void(const ExprNode&)>& f) {
  if (!seen.insert(e.get()).second) return;
  f(*e);
  for (const Expr& a : e->args) visit_exprs(a, seen, f);
}
void visit_stmts(const Body& b, const std::function<void(const Stmt&)>& f) {
  for (const auto& s : b) {
    f(*s);
    visit_stmts(s->body, f);
    visit_stmts(s->else_body, f);
  }
}
void exprs_of(const Stmt& s, const std::function<void(const Expr&)>& f) {
  for (const Expr* e : {&s.begin, &s.extent, &s.cond, &s.value}) {
    if (*e) f(*e);
  }
  for (const Expr& e : s.index) f(e);
  for (const Expr& e : s.args) f(e);
}

// Reads of `b` anywhere in `e`.
int reads(const Expr& e, const BufferDef* b) {
  if (!e->has_load) return 0;
  int n = 0;
  Seen seen;
  visit_exprs(e, seen, [&](const ExprNode& x) { n += x.kind == EK::Load && x.buffer.get() == b; });
  return n;
}

bool reducible(Prim p) {
  switch (p) {
    case Prim::Add:
    case Prim::Mul:
    case Prim::Max:
    case Prim::Min:
    case Prim::And:
    case Prim::Or:
    case Prim::Xor:
      return true;
    default:
      return false;
  }
}

struct Checker {
  LaneFacts& f;
  bool masked = false;  // under a lane-varying condition

  void fail() { f.legal = false; }
  bool any_varying(const std::vector<Expr>& es) const {
    return std::any_of(es.begin(), es.end(), [&](const Expr& e) { return f.varying(e); });
  }
  void body(const Body& b) {
    for (const auto& s : b) stmt(*s);
  }
  void stmt(const Stmt& s) {
    switch (s.kind) {
      case SK::For:
        if (f.varying(s.begin) || f.varying(s.extent)) return fail();
        if (masked && (s.begin->has_load || s.extent->has_load)) return fail();
        if (s.loop_kind == loop::LoopKind::Parallel) return fail();
        return body(s.body);
      case SK::While:
        return fail();
      case SK::If: {
        const bool v = f.varying(s.cond);
        if (!v && masked && s.cond->has_load) return fail();
        const bool saved = masked;
        masked = masked || v;
        body(s.body);
        body(s.else_body);
        masked = saved;
        return;
      }
      case SK::Let:
        return;
      case SK::Alloc:
        if (s.buffer->scope != loop::Scope::Stack || s.buffer->alias_of) fail();
        return;
      case SK::Store: {
        if (f.private_buffers.contains(s.buffer.get()) || any_varying(s.index)) return;
        if (!masked && !f.varying(s.value)) return;
        Prim p{};
        const Expr x = accumulated(s, &p);
        if (!x || !reducible(p) || reads(x, s.buffer.get()) != 0) return fail();
        f.reductions[&s] = p;
        return;
      }
      case SK::Intrinsic:
        if (s.name == "prefetch") return;
        // dot4: the sum belongs to a lane, the bytes lie together.
        if (s.args.size() != 3 || s.args[0]->kind != EK::Load) return fail();
        if (!f.private_buffers.contains(s.args[0]->buffer.get()) && !any_varying(s.args[0]->args)) {
          return fail();
        }
        for (int k : {1, 2}) {
          if (f.private_buffers.contains(s.args[k]->buffer.get())) return fail();
        }
        return;
    }
  }
};

}  // namespace

Expr accumulated(const Stmt& s, Prim* op) {
  if (s.value->kind != EK::Op || s.value->args.size() != 2) return nullptr;
  *op = s.value->prim;
  for (int k = 0; k < 2; ++k) {
    const Expr& l = s.value->args[k];
    if (l->kind != EK::Load || l->buffer != s.buffer || l->args.size() != s.index.size()) continue;
    bool equal = true;
    for (size_t d = 0; d < s.index.size(); ++d) equal = equal && loop::same(l->args[d], s.index[d]);
    if (equal) return s.value->args[1 - k];
  }
  return nullptr;
}

LaneFacts analyse_lanes(const Stmt& loop) {
  LaneFacts f;
  f.lane = loop.var.get();
  visit_stmts(loop.body, [&](const Stmt& s) {
    if (s.kind == SK::Alloc) f.private_buffers.insert(s.buffer.get());
  });
  // Lets come before their uses, so one pass in program order is enough.
  visit_stmts(loop.body, [&](const Stmt& s) {
    if (s.kind == SK::Let && (f.varying(s.value) || s.value->has_load)) {
      f.varying_lets.insert(s.var.get());
    }
  });
  Checker{f}.body(loop.body);
  // A reduction's target must not be looked at otherwise, and uniform stores not be read back under
  // a lane's own index.
  for (const auto& [store, p] : f.reductions) {
    int n = 0;
    visit_stmts(loop.body, [&](const Stmt& s) {
      exprs_of(s, [&](const Expr& e) { n += reads(e, store->buffer.get()); });
      if (&s != store && s.kind == SK::Store && s.buffer == store->buffer &&
          !f.reductions.contains(&s)) {
        n += 1000;
      }
    });
    int own = 0;
    for (const auto& [other, q] : f.reductions) own += other->buffer == store->buffer;
    if (n != own) f.legal = false;
  }
  auto note = [&](DType t) {
    if (t == DType::Bool) return;
    int bytes = byte_size(real_of(t));
    if (is_float(t)) bytes = std::max(bytes, 4);
    f.element_bytes = std::max(f.element_bytes, bytes);
  };
  Seen seen;
  visit_stmts(loop.body, [&](const Stmt& s) {
    if (s.kind == SK::Store || s.kind == SK::Alloc) note(s.buffer->dtype);
    exprs_of(s, [&](const Expr& e) {
      visit_exprs(e, seen, [&](const ExprNode& n) {
        if (n.kind == EK::Load) note(n.buffer->dtype);
        if (n.dtype != DType::I64) note(n.dtype);
      });
    });
  });
  return f;
}

int64_t weight(const Body& b) {
  int64_t n = 0;
  for (const auto& s : b) {
    int64_t own = 1;
    Seen seen;
    exprs_of(*s, [&](const Expr& e) { visit_exprs(e, seen, [&](const ExprNode&) { ++own; }); });
    int64_t inner = weight(s->body) + weight(s->else_body);
    int64_t times = 1;
    if (s->kind == SK::For && s->loop_kind == loop::LoopKind::Unrolled) {
      loop::is_const(s->extent, &times);
    }
    n += own + inner * times;
  }
  return n;
}

namespace {
int64_t clamp64(__int128 v) {
  return v < INT64_MIN ? INT64_MIN : v > INT64_MAX ? INT64_MAX : static_cast<int64_t>(v);
}
int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
bool unbounded(Interval i) { return i.lo == INT64_MIN || i.hi == INT64_MAX; }
}  // namespace

Interval IndexFacts::range(const Expr& e) const {
  if (e->kind == EK::Const && e->dtype == DType::I64) return {e->i, e->i};
  if (e->kind == EK::Var) {
    if (auto c = constants.find(e->var.get()); c != constants.end()) return {c->second, c->second};
    if (auto r = ranges.find(e->var.get()); r != ranges.end()) return r->second;
    if (auto l = lets.find(e->var.get()); l != lets.end()) return range(l->second);
    return {e->var->min, e->var->max};
  }
  if (e->dtype != DType::I64) return {};
  if (e->kind == EK::Guard) {
    const Interval a = range(e->args[1]), b = range(e->args[2]);
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (e->kind != EK::Op) return {};
  if (e->prim == Prim::Select) {
    const Interval a = range(e->args[1]), b = range(e->args[2]);
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
  }
  if (e->args.size() != 2) return {};
  const Interval a = range(e->args[0]), b = range(e->args[1]);
  using Wide = __int128;
  switch (e->prim) {
    case Prim::Min:
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Prim::Max:
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Prim::FloorMod:
      if (b.lo >= 1) {
        if (a.lo >= 0 && a.hi < b.lo) return a;
        return {0, b.hi == INT64_MAX ? INT64_MAX : b.hi - 1};
      }
      return {};
    case Prim::FloorDiv:
      if (b.lo < 1) return {};
      if (a.lo >= 0) {
        return {b.hi == INT64_MAX ? 0 : a.lo / b.hi, a.hi == INT64_MAX ? INT64_MAX : a.hi / b.lo};
      }
      if (unbounded(a)) return {};
      return {floor_div(a.lo, b.lo), std::max<int64_t>(floor_div(a.hi, b.lo), 0)};
    case Prim::Add:
      // Symbols without a bound stand for sizes; sums of them do not wrap.
      return {a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : clamp64(Wide(a.lo) + b.lo),
              a.hi == INT64_MAX || b.hi == INT64_MAX ? INT64_MAX : clamp64(Wide(a.hi) + b.hi)};
    case Prim::Sub:
      return {a.lo == INT64_MIN || b.hi == INT64_MAX ? INT64_MIN : clamp64(Wide(a.lo) - b.hi),
              a.hi == INT64_MAX || b.lo == INT64_MIN ? INT64_MAX : clamp64(Wide(a.hi) - b.lo)};
    case Prim::Mul: {
      if (a.lo >= 0 && b.lo >= 0) {
        const bool open = a.hi == INT64_MAX || b.hi == INT64_MAX;
        return {clamp64(Wide(a.lo) * b.lo), open ? INT64_MAX : clamp64(Wide(a.hi) * b.hi)};
      }
      if (unbounded(a) || unbounded(b)) return {};
      const Wide p[4] = {Wide(a.lo) * b.lo, Wide(a.lo) * b.hi, Wide(a.hi) * b.lo,
                         Wide(a.hi) * b.hi};
      return {clamp64(*std::min_element(p, p + 4)), clamp64(*std::max_element(p, p + 4))};
    }
    default:
      return {};
  }
}

bool IndexFacts::in_bounds(const Buffer& b, const std::vector<Expr>& index) const {
  for (size_t d = 0; d < index.size(); ++d) {
    const Interval r = range(index[d]);
    const Interval n = range(b->shape[d]);
    if (r.lo < 0 || r.hi >= n.lo) return false;
  }
  return true;
}

IndexFacts::Parts IndexFacts::parts(const Expr& e, const VarDef* lane) const {
  if (e->dtype != DType::I64) return {};
  if (e->kind == EK::Const) return {true, 0, e->i, 0};
  if (e->kind == EK::Var) {
    if (e->var.get() == lane) return {true, 0, 0, 1};
    if (auto c = constants.find(e->var.get()); c != constants.end()) return {true, 0, c->second, 0};
    if (auto l = lets.find(e->var.get()); l != lets.end()) return parts(l->second, lane);
    return {true, 1, 0, 0};
  }
  if (e->has_load) return {};
  if (e->kind == EK::Op && e->args.size() == 2) {
    const Parts a = parts(e->args[0], lane), b = parts(e->args[1], lane);
    if (!a.ok || !b.ok) return {};
    switch (e->prim) {
      case Prim::Add:
        return {true, std::gcd(a.multiple, b.multiple), a.c + b.c, a.s + b.s};
      case Prim::Sub:
        return {true, std::gcd(a.multiple, b.multiple), a.c - b.c, a.s - b.s};
      case Prim::Mul: {
        const Parts* k = b.multiple == 0 && b.s == 0   ? &b
                         : a.multiple == 0 && a.s == 0 ? &a
                                                       : nullptr;
        const Parts* x = k == &b ? &a : &b;
        if (k) return {true, std::abs(x->multiple * k->c), x->c * k->c, x->s * k->c};
        if (a.s != 0 || b.s != 0) return {};
        return {true, a.c == 0 && b.c == 0 ? a.multiple * b.multiple : 1, 0, 0};
      }
      default:
        if (a.s == 0 && b.s == 0) return {true, 1, 0, 0};
        return {};
    }
  }
  for (const Expr& a : e->args) {
    if (depends(a, lane)) return {};
  }
  return {true, 1, 0, 0};
}

bool IndexFacts::depends(const Expr& e, const VarDef* v) const {
  if (e->kind == EK::Var) {
    if (e->var.get() == v) return true;
    auto l = lets.find(e->var.get());
    return l != lets.end() && depends(l->second, v);
  }
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return depends(a, v); });
}

}  // namespace tenfold::cpu
