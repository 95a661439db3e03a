// See vectorize.h. Statements and expressions; memory is in access.cc.
#include "backends/tpu/vectorize.h"

#include <algorithm>
#include <unordered_set>

#include "backends/tpu/emit.h"
#include "loop/walk.h"

namespace tenfold::tpu {

Vectorizer::Vectorizer(code::Builder& b, const Chip& chip, const Roles& roles,
                       code::RegionRef scratch, int64_t scratch_row)
    : impl_(std::make_unique<Impl>(b, chip, roles, scratch, scratch_row)) {}
Vectorizer::~Vectorizer() = default;
void Vectorizer::place(const loop::BufferDef* buffer, Place p) {
  impl_->places[buffer] = std::move(p);
}
void Vectorizer::span(const loop::VarDef* v, Span s) { impl_->spans[v] = s; }
void Vectorizer::use_reciprocals() { impl_->reciprocals = true; }
void Vectorizer::set_step_rows(int64_t rows) { impl_->step_rows = rows; }
void Vectorizer::body(const loop::Body& b) { impl_->body(b); }
std::optional<Refusal> Vectorizer::refusal() const {
  if (impl_->refusal) return impl_->refusal;
  if (impl_->x.refused()) return Refusal{*impl_->x.refused()};
  return std::nullopt;
}
int64_t Vectorizer::scratch_rows() const { return impl_->scratch_peak; }

int64_t step_rows_of(const loop::Kernel& k, const Roles& roles) {
  int64_t rows = kSublanes;
  Lets lets;
  auto access = [&](const loop::Buffer& buffer, const std::vector<Expr>& index) {
    const size_t rank = index.size();
    if (rank < 2) return;
    for (const auto& [v, role] : roles.of) {
      const bool row = linear(index[rank - 2], lets).coeff(v) != 0;
      const bool col = linear(index[rank - 1], lets).coeff(v) != 0;
      if (role == Role::Sublane && row)
        rows = std::max<int64_t>(rows, kSublanes * std::max(pack_of(buffer->dtype), 1));
      if (role == Role::Lane && row && !col) {
        for (const auto& [w, r] : roles.of)
          if (r == Role::Sublane && linear(index[rank - 1], lets).coeff(w)) rows = kLanes;
      }
    }
  };
  loop::for_each_stmt(k.body, [&](const Stmt& s) {
    std::unordered_set<const ExprNode*> seen;
    loop::for_each_expr(const_cast<Stmt&>(s), [&](const Expr& e) {
      loop::visit_once(e, seen, [&](const Expr& n) {
        if (n->kind == ExprNode::Kind::Load) access(n->buffer, n->args);
      });
    });
    if (s.kind == Stmt::Kind::Store) access(s.buffer, s.index);
  });
  return rows;
}

// --- expressions ---------------------------------------------------------------------------------

bool Vectorizer::Impl::varies(const Expr& e) const {
  if (sublane && loop::uses(e, sublane)) return true;
  if (lane && loop::uses(e, lane)) return true;
  bool found = false;
  loop::visit_once(e, [&](const Expr& n) {
    if (n->kind != ExprNode::Kind::Var) return;
    auto it = let_values.find(n->var.get());
    if (it != let_values.end() && it->second.kind != Val::Kind::Index &&
        it->second.kind != Val::Kind::Const)
      found = true;
    auto l = lets.find(n->var.get());
    if (l != lets.end() && varies(l->second)) found = true;
  });
  return found;
}

Sx Vectorizer::Impl::scalar(const Expr& e) {
  const Val v = value(e);
  if (v.kind == Val::Kind::Index) return v.index;
  if (v.kind == Val::Kind::Const) return Sx(static_cast<int32_t>(v.bits));
  refuse("an index depends on data that stands in vector registers");
  return 0;
}

Val Vectorizer::Impl::axis_value(const Axis& a) {
  Val r;
  r.dtype = DType::I64;
  if (a.role == Role::Scalar) {
    r.kind = Val::Kind::Index;
    r.index = a.first;
    return r;
  }
  r.kind = Val::Kind::Vec;
  if (a.role == Role::Lane) {
    Vector v = b.vec(Op::VLane);
    r.v.push_back(a.first.is_const() && a.first.c == 0 ? v : b.vec(Op::VAddI, v, x.splat(a.first)));
    return r;
  }
  for (size_t u = 0; u < units; ++u) {
    const Sx first = a.first + static_cast<int64_t>(u) * kSublanes;
    Vector v = b.vec(Op::VSublane);
    r.v.push_back(first.is_const() && first.c == 0 ? v : b.vec(Op::VAddI, v, x.splat(first)));
  }
  return r;
}

Val Vectorizer::Impl::value(const Expr& e) {
  if (e.use_count() > 1 && e->kind != ExprNode::Kind::Const) {
    auto it = memo.find(e.get());
    if (it != memo.end()) return it->second;
    Val v = compute(e);
    memo[e.get()] = v;
    return v;
  }
  return compute(e);
}

bool Vectorizer::Impl::same_in_all_lanes(const Expr& e) const {
  bool same = lane != nullptr;
  loop::visit_once(e, [&](const Expr& n) {
    if (n->kind != ExprNode::Kind::Var) return;
    same &= n->var.get() != lane && !lets.count(n->var.get()) && !let_values.count(n->var.get());
  });
  return same;
}

Val Vectorizer::Impl::compute(const Expr& e) {
  switch (e->kind) {
    case ExprNode::Kind::Const:
      if (is_complex(e->dtype)) {
        refuse("complex numbers are not computed on the chip");
        return x.constant(DType::F32, 0, 0);
      }
      if (e->dtype == DType::F64 || e->dtype == DType::F16)
        refuse("the chip does not compute on " + std::string(name(e->dtype)));
      if (is_integer(e->dtype) && (e->i > INT32_MAX || e->i < INT32_MIN) &&
          bit_width(e->dtype) > 32)
        refuse("a 64-bit integer constant does not fit the chip's 32 bits");
      return x.constant(e->dtype, e->f, e->i);
    case ExprNode::Kind::Var: {
      if (auto it = let_values.find(e->var.get()); it != let_values.end()) return it->second;
      if (auto it = axes.find(e->var.get()); it != axes.end()) return axis_value(it->second);
      if (auto it = lets.find(e->var.get()); it != lets.end()) return value(it->second);
      refuse("the size of a dimension is open");
      return x.constant(e->dtype, 0, 0);
    }
    case ExprNode::Kind::Load: {
      if (auto it = cells.find(e->buffer.get()); it != cells.end()) {
        const Cell& c = it->second;
        if (c.partial) refuse("a folded cell is read while its loop runs");
        Val r;
        r.dtype = c.dtype;
        if (c.dtype == DType::Bool) {
          r.kind = Val::Kind::Mask;
          for (Vector v : c.v) r.m.push_back(b.msk(Op::VNeI, v, x.splat_bits(0)));
          return r;
        }
        r.kind = Val::Kind::Vec;
        // A copy, as the register changes later.
        for (Vector v : c.v) r.v.push_back(c.fixed ? v : b.vec(Op::VMov, v));
        return r;
      }
      if (auto it = scratches.find(e->buffer.get()); it != scratches.end())
        return load_scratch(it->second, e->args);
      const Place* p = place_of(e->buffer.get());
      if (!p) return x.constant(e->dtype, 0, 0);
      if (e->dtype == DType::I64 || e->dtype == DType::U64) return load_word(*p, e->args);
      return load(*p, e->args);
    }
    case ExprNode::Kind::Op: {
      std::vector<Val> args;
      for (const Expr& a : e->args) args.push_back(value(a));
      if (e->prim == Prim::Div && e->dtype == DType::F32 && reciprocals &&
          same_in_all_lanes(e->args[1])) {
        Val r;
        r.kind = Val::Kind::Vec;
        r.dtype = DType::F32;
        for (size_t u = 0; u < tenfold::tpu::units(args[1]); ++u)
          r.v.push_back(b.vec(Op::VRcp, x.vec(args[1], u)));
        return x.apply(Prim::Mul, {args[0], r}, DType::F32);
      }
      return x.apply(e->prim, args, e->dtype);
    }
    case ExprNode::Kind::Cast:
      return x.cast(value(e->args[0]), e->dtype);
    case ExprNode::Kind::Bitcast: {
      Val v = value(e->args[0]);
      if (bit_width(v.dtype) != 32 || bit_width(e->dtype) != 32 || v.kind == Val::Kind::Index) {
        refuse("bits of " + std::string(name(v.dtype)) + " are not reread on the chip");
        return v;
      }
      v.dtype = e->dtype;
      return v;
    }
    case ExprNode::Kind::Guard: {
      const Val cond = value(e->args[0]);
      // Both sides are computed; addresses are kept inside their buffers.
      ++guard_depth;
      const Val a = value(e->args[1]), c = value(e->args[2]);
      --guard_depth;
      return x.apply(Prim::Select, {cond, a, c}, e->dtype);
    }
  }
  return {};
}

// --- statements ----------------------------------------------------------------------------------

void Vectorizer::Impl::body(const loop::Body& statements) {
  const int64_t top = scratch_top;
  for (const auto& s : statements) {
    if (refusal || x.refused()) return;
    statement(*s);
  }
  scratch_top = top;
}

void Vectorizer::Impl::statement(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::For:
      return for_loop(s);
    case Stmt::Kind::Let:
      if (s.var->dtype == DType::I64 && !s.value->has_load) {
        lets[s.var.get()] = s.value;
        return;
      }
      let_values[s.var.get()] = value(s.value);
      return;
    case Stmt::Kind::Alloc: {
      if (s.buffer->alias_of) return refuse("a buffer is reread under another type");
      if (s.buffer->shape.empty()) {
        Cell c;
        c.dtype = s.buffer->dtype;
        if (!pack_of(c.dtype) || c.dtype == DType::F16 || c.dtype == DType::I64 ||
            c.dtype == DType::U64)
          return refuse("the chip does not compute on " + std::string(name(c.dtype)));
        for (size_t u = 0; u < units_now(); ++u) c.v.push_back(b.var(x.splat_bits(0)));
        cells[s.buffer.get()] = c;
        return;
      }
      Scratch m;
      m.dtype = s.buffer->dtype;
      for (const Expr& e : s.buffer->shape) {
        int64_t n = 0;
        if (!loop::is_const(e, &n)) return refuse("the size of a workspace is open");
        m.dims.push_back(n);
      }
      if (!pack_of(m.dtype) || bit_width(m.dtype) > 32)
        return refuse("the chip does not compute on " + std::string(name(m.dtype)));
      m.by_unit = sublane != nullptr;
      m.by_lane = lane != nullptr;
      m.col_tiles = m.by_lane ? m.dims.back() : (m.dims.back() + kLanes - 1) / kLanes;
      int64_t rows = m.col_tiles * kTileRows * (m.by_unit ? static_cast<int64_t>(units) : 1);
      for (size_t d = 0; d + 1 < m.dims.size(); ++d) rows *= m.dims[d];
      m.row = scratch_top;
      scratch_top += rows;
      scratch_peak = std::max(scratch_peak, scratch_top - scratch_first);
      scratches[s.buffer.get()] = m;
      return;
    }
    case Stmt::Kind::Store:
      return store(s);
    case Stmt::Kind::If: {
      const Val c = value(s.cond);
      if (c.kind == Val::Kind::Index) {
        const code::Scalar cond = to_scalar(b, c.index);
        auto saved = memo;
        auto branch = [&](const loop::Body& inside) {
          body(inside);
          memo = saved;
        };
        if (s.else_body.empty())
          b.if_(cond, [&] { branch(s.body); });
        else
          b.if_(cond, [&] { branch(s.body); }, [&] { branch(s.else_body); });
        return;
      }
      auto under = [&](const Val& mask_value, const loop::Body& inside) {
        condition_stack.push_back(conditions);
        std::vector<Mask> now;
        for (size_t u = 0; u < std::max(units_now(), size_t{1}); ++u) {
          Mask m = x.mask(mask_value, u);
          if (!conditions.empty()) m = all_of(m, conditions[conditions.size() == 1 ? 0 : u]);
          now.push_back(m);
        }
        conditions = now;
        body(inside);
        conditions = condition_stack.back();
        condition_stack.pop_back();
      };
      under(c, s.body);
      if (!s.else_body.empty()) under(x.apply(Prim::Not, {c}, DType::Bool), s.else_body);
      return;
    }
    case Stmt::Kind::While:
      return refuse("a loop's end depends on data");
    case Stmt::Kind::Intrinsic:
      return refuse("the nest uses the intrinsic " + s.name);
  }
}

void Vectorizer::Impl::store(const Stmt& s) {
  if (auto it = cells.find(s.buffer.get()); it != cells.end()) return store_cell(s, it->second);
  const Val v = value(s.value);
  if (auto it = scratches.find(s.buffer.get()); it != scratches.end())
    return store_scratch(it->second, s.index, v);
  const Place* p = place_of(s.buffer.get());
  if (!p) return;
  if (s.buffer->dtype == DType::I64 || s.buffer->dtype == DType::U64)
    return refuse("64-bit integers are not computed on the chip");
  store_to(*p, s.index, v);
  memo.clear();
}

void Vectorizer::Impl::store_cell(const Stmt& s, Cell& cell) {
  Val v;
  if (cell.partial) {
    // cell = op(cell, e): lanes and rows beyond the extent fold in the identity.
    const Expr& value_expr = s.value;
    const auto is_cell = [&](const Expr& e) {
      return e->kind == ExprNode::Kind::Load && e->buffer == s.buffer;
    };
    const Expr& rest = is_cell(value_expr->args[0]) ? value_expr->args[1] : value_expr->args[0];
    v = value(rest);
    const Expr id = fold_identity(cell.prim, cell.dtype);
    const Val identity = x.constant(cell.dtype, id->f, id->i);
    // A ragged end has fewer units than the registers of the fold.
    const size_t n = cell.over_sublanes ? units_now() : cell.v.size();
    for (size_t u = 0; u < n; ++u) {
      Vector e = x.vec(v, u);
      std::vector<Mask> masks;
      if (lane && cell.over_lanes && axes.at(lane).ragged)
        masks.push_back(x.lanes_below(Sx(axes.at(lane).extent) - axes.at(lane).first));
      if (sublane && cell.over_sublanes && axes.at(sublane).ragged) {
        const Sx left = Sx(axes.at(sublane).extent) - axes.at(sublane).first -
                        Sx(static_cast<int64_t>(u) * kSublanes);
        masks.push_back(x.rows_below(left));
      }
      if (!conditions.empty()) masks.push_back(conditions[conditions.size() == 1 ? 0 : u]);
      for (const Mask& m : masks) e = b.vec(Op::VSel, m, e, x.vec(identity, u));
      b.set(cell.v[u], x.combine(cell.prim, cell.dtype, cell.v[u], e));
    }
    memo.clear();
    return;
  }
  v = value(s.value);
  if (::tenfold::tpu::units(v) > cell.v.size())
    return refuse("a cell would have to hold a value for each row");
  for (size_t u = 0; u < cell.v.size(); ++u) {
    Vector e = x.vec(v, u);
    if (!conditions.empty())
      e = b.vec(Op::VSel, conditions[conditions.size() == 1 ? 0 : u], e, cell.v[u]);
    b.set(cell.v[u], e);
  }
  memo.clear();
}

// Cells that the loop folds over lanes or sublanes are folded into registers of their own first.
void Vectorizer::Impl::with_folds(const Stmt& s, const std::function<void()>& run) {
  std::vector<Cell*> mine;
  const auto folds = folds_of(s);
  if (folds) {
    for (const Fold& f : *folds) {
      auto it = cells.find(f.cell.get());
      if (it == cells.end()) continue;
      Cell& c = it->second;
      // Which roles fold into the cell inside this loop, itself included.
      bool lanes = false, sublanes = false;
      const std::function<void(const Stmt&)> look = [&](const Stmt& l) {
        bool touches = false;
        loop::for_each_stmt(l.body, [&](const Stmt& t) {
          touches |= t.kind == Stmt::Kind::Store && t.buffer == f.cell;
        });
        if (!touches) return;
        lanes |= roles.role(l.var.get()) == Role::Lane;
        sublanes |= roles.role(l.var.get()) == Role::Sublane;
        loop::for_each_stmt(l.body, [&](const Stmt& t) {
          if (t.kind == Stmt::Kind::For) look(t);
        });
      };
      look(s);
      if (c.partial || (!lanes && !sublanes)) continue;
      c.partial = true;
      c.prim = f.prim;
      c.over_lanes = lanes;
      c.over_sublanes = sublanes;
      c.total = c.v;
      const Expr id = fold_identity(f.prim, c.dtype);
      const Val identity = x.constant(c.dtype, id->f, id->i);
      const size_t n = sublanes ? static_cast<size_t>(step_rows / kSublanes) : c.v.size();
      c.v.clear();
      for (size_t u = 0; u < n; ++u) c.v.push_back(b.var(x.vec(identity, u)));
      mine.push_back(&c);
    }
  }
  run();
  for (Cell* c : mine) {
    std::vector<Vector> part = c->v;
    if (c->over_sublanes) {
      for (size_t u = 1; u < part.size(); ++u)
        part[0] = x.combine(c->prim, c->dtype, part[0], part[u]);
      part.resize(1);
      part[0] = x.fold_sublanes(c->prim, c->dtype, part[0]);
    }
    if (c->over_lanes)
      for (Vector& v : part) v = x.fold_lanes(c->prim, c->dtype, v);
    for (size_t u = 0; u < c->total.size(); ++u)
      b.set(c->total[u], x.combine(c->prim, c->dtype, c->total[u], part[part.size() == 1 ? 0 : u]));
    c->v = c->total;
    c->partial = false;
  }
  memo.clear();
}

void Vectorizer::Impl::for_loop(const Stmt& s) {
  if (extent_of(s) < 0) return refuse("the extent of a loop is open");
  if (extent_of(s) == 0) return;
  with_folds(s, [&] {
    memo.clear();
    switch (roles.role(s.var.get())) {
      case Role::Scalar:
        return scalar_loop(s);
      case Role::Sublane:
        return sublane_loop(s);
      case Role::Lane:
        return lane_loop(s);
    }
  });
  axes.erase(s.var.get());
  memo.clear();
}

void Vectorizer::Impl::scalar_loop(const Stmt& s) {
  const VarDef* v = s.var.get();
  const int64_t extent = extent_of(s);
  Span span{0, extent};
  if (auto it = spans.find(v); it != spans.end()) span = it->second;
  auto run = [&](const Sx& i) {
    Axis a;
    a.first = span.first + i;
    a.local = i;
    a.extent = extent;
    axes[v] = a;
    memo.clear();
    body(s.body);
  };
  if (span.count == 1) return run(0);
  b.loop(code::Arg(span.count), [&](code::Scalar i) { run(Sx(i)); }, v->name);
}

void Vectorizer::Impl::lane_loop(const Stmt& s) {
  const VarDef* v = s.var.get();
  if (lane) return refuse("two loops would run along the lanes", v, Role::Lane);
  const int64_t extent = extent_of(s);
  Span span{0, (extent + kLanes - 1) / kLanes};
  if (auto it = spans.find(v); it != spans.end()) span = it->second;
  lane = v;
  auto run = [&](const Sx& t) {
    Axis a;
    a.role = Role::Lane;
    a.first = (span.first + t) * kLanes;
    a.local = t * kLanes;
    a.extent = extent;
    a.ragged = extent % kLanes != 0;
    axes[v] = a;
    memo.clear();
    body(s.body);
  };
  if (span.count == 1)
    run(0);
  else
    b.loop(code::Arg(span.count), [&](code::Scalar t) { run(Sx(t)); }, v->name);
  lane = nullptr;
}

void Vectorizer::Impl::sublane_loop(const Stmt& s) {
  const VarDef* v = s.var.get();
  if (sublane) return refuse("two loops would run along the sublanes", v, Role::Sublane);
  const int64_t extent = extent_of(s);
  const int64_t full = extent / step_rows, rest = extent % step_rows;
  sublane = v;
  Span span;
  auto run = [&](const Sx& t, int64_t rows, bool ragged) {
    units = static_cast<size_t>((rows + kSublanes - 1) / kSublanes);
    rows_now = rows;
    Axis a;
    a.role = Role::Sublane;
    a.first = (span.first + t) * step_rows;
    a.local = t * step_rows;
    a.extent = extent;
    a.ragged = ragged;
    axes[v] = a;
    memo.clear();
    body(s.body);
  };
  if (auto it = spans.find(v); it != spans.end()) {
    span = it->second;
    if (span.count == 1)
      run(0, step_rows, rest != 0);
    else
      b.loop(
          code::Arg(span.count), [&](code::Scalar t) { run(Sx(t), step_rows, rest != 0); },
          v->name);
  } else {
    if (full == 1)
      run(0, step_rows, false);
    else if (full > 1)
      b.loop(code::Arg(full), [&](code::Scalar t) { run(Sx(t), step_rows, false); }, v->name);
    if (rest) run(Sx(full), rest, true);
  }
  sublane = nullptr;
  units = 1;
}

}  // namespace tenfold::tpu
