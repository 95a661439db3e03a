// See nest.h.
#include "backends/tpu/nest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "loop/walk.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;
using loop::VarDef;

namespace {

void add_term(Linear& l, const Expr& e, int64_t c) {
  if (c == 0) return;
  for (size_t i = 0; i < l.terms.size(); ++i) {
    if (!loop::same(l.terms[i].first, e)) continue;
    l.terms[i].second += c;
    if (l.terms[i].second == 0) l.terms.erase(l.terms.begin() + static_cast<int64_t>(i));
    return;
  }
  l.terms.emplace_back(e, c);
}

void add(Linear& l, const Expr& e, int64_t scale, const Lets& lets) {
  int64_t v = 0;
  if (loop::is_const(e, &v)) {
    l.constant += scale * v;
    return;
  }
  if (e->kind == ExprNode::Kind::Var) {
    if (auto it = lets.find(e->var.get()); it != lets.end()) return add(l, it->second, scale, lets);
  }
  if (e->kind == ExprNode::Kind::Op) {
    switch (e->prim) {
      case Prim::Add:
        add(l, e->args[0], scale, lets);
        return add(l, e->args[1], scale, lets);
      case Prim::Sub:
        add(l, e->args[0], scale, lets);
        return add(l, e->args[1], -scale, lets);
      case Prim::Neg:
        return add(l, e->args[0], -scale, lets);
      case Prim::Mul:
        for (int i = 0; i < 2; ++i)
          if (loop::is_const(e->args[i], &v)) return add(l, e->args[1 - i], scale * v, lets);
        break;
      default:
        break;
    }
  }
  add_term(l, e, scale);
}

}  // namespace

int64_t Linear::coeff(const VarDef* v) const {
  for (const auto& [e, c] : terms)
    if (e->kind == ExprNode::Kind::Var && e->var.get() == v) return c;
  return 0;
}

bool Linear::tangled(const VarDef* v) const {
  for (const auto& [e, c] : terms)
    if (e->kind != ExprNode::Kind::Var && loop::uses(e, v)) return true;
  return false;
}

Linear linear(const Expr& e, const Lets& lets) {
  Linear l;
  add(l, e, 1, lets);
  return l;
}

int64_t extent_of(const Stmt& l) {
  int64_t n = -1, begin = -1;
  if (!loop::is_const(l.extent, &n) || !loop::is_const(l.begin, &begin) || begin != 0) return -1;
  return n;
}

Expr fold_identity(Prim p, DType t) {
  const double inf = std::numeric_limits<double>::infinity();
  if (is_float(t)) {
    switch (p) {
      case Prim::Add:
        return loop::float_const(-0.0, t);
      case Prim::Mul:
        return loop::float_const(1, t);
      case Prim::Max:
        return loop::float_const(-inf, t);
      case Prim::Min:
        return loop::float_const(inf, t);
      default:
        return nullptr;
    }
  }
  const int bits = t == DType::Bool ? 1 : bit_width(t);
  const bool wide = bits > 32, sign = is_signed(t);
  if (wide) return nullptr;
  const int64_t most = sign ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  const int64_t least = sign ? -(int64_t{1} << (bits - 1)) : 0;
  switch (p) {
    case Prim::Add:
    case Prim::Or:
    case Prim::Xor:
      return loop::int_const(0, t);
    case Prim::Mul:
      return loop::int_const(1, t);
    case Prim::And:
      return loop::int_const(sign ? -1 : most, t);
    case Prim::Max:
      return loop::int_const(least, t);
    case Prim::Min:
      return loop::int_const(most, t);
    default:
      return nullptr;
  }
}

namespace {

// `value` as op(load(cell), rest) or op(rest, load(cell)) with no other read of the cell.
bool is_fold(const Stmt& store, Prim* p) {
  const Expr& v = store.value;
  if (v->kind != ExprNode::Kind::Op || v->args.size() != 2) return false;
  if (!fold_identity(v->prim, v->dtype)) return false;
  int reads = 0;
  bool direct = false;
  loop::visit_once(v, [&](const Expr& e) {
    reads += e->kind == ExprNode::Kind::Load && e->buffer == store.buffer;
  });
  for (const Expr& a : v->args)
    direct |= a->kind == ExprNode::Kind::Load && a->buffer == store.buffer;
  *p = v->prim;
  return direct && reads == 1;
}

}  // namespace

std::optional<std::vector<Fold>> folds_of(const Stmt& l) {
  std::unordered_set<const loop::BufferDef*> inside;
  std::unordered_map<const loop::BufferDef*, int> reads;
  std::vector<Fold> folds;
  bool ok = true;
  loop::for_each_stmt(l.body, [&](const Stmt& s) {
    if (s.kind == Stmt::Kind::Alloc) inside.insert(s.buffer.get());
    if (s.kind == Stmt::Kind::While || s.kind == Stmt::Kind::Intrinsic) ok = false;
    std::unordered_set<const ExprNode*> seen;
    loop::for_each_expr(const_cast<Stmt&>(s), [&](const Expr& e) {
      loop::visit_once(e, seen, [&](const Expr& x) {
        if (x->kind == ExprNode::Kind::Load) ++reads[x->buffer.get()];
      });
    });
  });
  loop::for_each_stmt(l.body, [&](const Stmt& s) {
    if (s.kind != Stmt::Kind::Store || inside.count(s.buffer.get())) return;
    if (!s.index.empty()) {
      // An element of its own in each iteration, or the loop is promised to be independent.
      bool own = l.independent || l.loop_kind == loop::LoopKind::Parallel;
      for (const Expr& i : s.index) own |= linear(i, {}).coeff(l.var.get()) != 0;
      ok &= own;
      return;
    }
    Prim p{};
    // One store a cell, or the fold of one would be seen by the other.
    if (!is_fold(s, &p) || reads[s.buffer.get()] != 1) {
      ok = false;
      return;
    }
    folds.push_back({s.buffer, p, s.value->dtype});
  });
  if (!ok) return std::nullopt;
  return folds;
}

namespace {

class Chooser {
 public:
  Chooser(const loop::Kernel& k, const Forbidden& forbidden) : forbidden_(forbidden) {
    walk(k.body, 1);
  }

  Roles run() {
    Roles r;
    assign(r, Role::Lane, lane_);
    assign(r, Role::Sublane, sublane_);
    return r;
  }

 private:
  using Path = std::vector<const Stmt*>;

  void walk(const loop::Body& body, double trips) {
    for (const auto& s : body) {
      if (s->kind == Stmt::Kind::Let && !s->value->has_load) lets_[s->var.get()] = s->value;
      if (s->kind == Stmt::Kind::For) {
        path_.push_back(s.get());
        order_.push_back(s.get());
        const auto folds = folds_of(*s);
        usable_[s.get()] = extent_of(*s) > 1 && folds;
        free_[s.get()] = folds && folds->empty();
        walk(s->body, trips * std::max<double>(1, static_cast<double>(extent_of(*s))));
        path_.pop_back();
        continue;
      }
      std::unordered_set<const ExprNode*> seen;
      loop::for_each_expr(*s, [&](const Expr& e) {
        loop::visit_once(e, seen, [&](const Expr& x) {
          if (x->kind == ExprNode::Kind::Load) access(x->args, trips);
        });
      });
      if (s->kind == Stmt::Kind::Store) access(s->index, trips);
      if (!path_.empty()) paths_.push_back(path_);
      walk(s->body, trips);
      walk(s->else_body, trips);
    }
  }

  void access(const std::vector<Expr>& index, double trips) {
    for (const Stmt* l : path_) {
      const VarDef* v = l->var.get();
      for (size_t d = 0; d < index.size(); ++d) {
        const Linear x = linear(index[d], lets_);
        const int64_t c = x.coeff(v);
        if (c == 0) continue;
        const bool last = d + 1 == index.size();
        // Loops without a fold need no combining at their end; short ones leave lanes empty.
        const double worth = trips * (free_[l] ? 1.5 : 1);
        const auto n = static_cast<double>(extent_of(*l));
        if (last && c == 1) lane_[l] += worth * std::min(1.0, n / kLanes);
        if (last) sublane_[l] -= worth / 4;
        if (!last)
          sublane_[l] += worth * std::min(1.0, n / kSublanes) * (d + 2 == index.size() ? 1 : 0.5) *
                         (c == 1 ? 1 : 0.75);
      }
    }
  }

  void assign(Roles& r, Role role, const std::unordered_map<const Stmt*, double>& score) {
    std::vector<const Stmt*> loops;
    for (const Stmt* l : order_) {
      auto it = score.find(l);
      if (it != score.end() && it->second > 0 && usable_[l] &&
          !forbidden_.count({l->var.get(), role}) && r.role(l->var.get()) == Role::Scalar)
        loops.push_back(l);
    }
    std::stable_sort(loops.begin(), loops.end(),
                     [&](const Stmt* a, const Stmt* b) { return score.at(a) > score.at(b); });
    for (const Stmt* l : loops) {
      bool free = true;
      for (const Path& p : paths_) {
        if (std::find(p.begin(), p.end(), l) == p.end()) continue;
        for (const Stmt* o : p) free &= r.role(o->var.get()) != role;
      }
      if (free) r.of[l->var.get()] = role;
    }
  }

  const Forbidden& forbidden_;
  Lets lets_;
  Path path_;
  std::vector<Path> paths_;
  std::vector<const Stmt*> order_;
  std::unordered_map<const Stmt*, double> lane_, sublane_;
  std::unordered_map<const Stmt*, bool> usable_, free_;
};

}  // namespace

Roles choose_roles(const loop::Kernel& k, const Forbidden& forbidden) {
  return Chooser(k, forbidden).run();
}

bool uses_variable(const loop::Kernel& k, const loop::Buffer& buffer, const VarDef* v) {
  bool uses = false;
  loop::for_each_stmt(k.body, [&](const Stmt& s) {
    loop::for_each_expr(const_cast<Stmt&>(s), [&](const Expr& e) {
      loop::visit_once(e, [&](const Expr& x) {
        if (x->kind == ExprNode::Kind::Load && x->buffer == buffer)
          for (const auto& i : x->args) uses |= loop::uses(i, v);
      });
    });
    if (s.kind == Stmt::Kind::Store && s.buffer == buffer)
      for (const auto& i : s.index) uses |= loop::uses(i, v);
  });
  return uses;
}

}  // namespace tenfold::tpu
