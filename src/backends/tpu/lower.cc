// See lower.h.
#include "backends/tpu/lower.h"

#include <algorithm>
#include <unordered_set>

#include "loop/walk.h"

namespace tenfold::tpu {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;

std::optional<std::string> type_problem(const TensorType& t) {
  if (!t.is_static()) return "its size depends on data or is open";
  if (!pack_of(t.dtype) || t.dtype == DType::F16 || bit_width(t.dtype) > 32)
    return "the chip does not compute on " + std::string(name(t.dtype));
  for (const Dim& d : t.shape)
    if (d.value() == 0) return "it has no elements";
  return std::nullopt;
}

namespace {

// Every access of a kernel's parameters.
template <class F>
void for_each_access(const loop::Body& body, F&& f) {
  loop::for_each_stmt(body, [&](const Stmt& s) {
    std::unordered_set<const ExprNode*> seen;
    loop::for_each_expr(const_cast<Stmt&>(s), [&](const Expr& e) {
      loop::visit_once(e, seen, [&](const Expr& n) {
        if (n->kind == ExprNode::Kind::Load) f(n->buffer, n->args, false);
      });
    });
    if (s.kind == Stmt::Kind::Store) f(s.buffer, s.index, true);
  });
}

bool independent(const Stmt& s) {
  if (s.kind != Stmt::Kind::For) return false;
  const auto folds = folds_of(s);
  return folds && folds->empty();
}

std::vector<const Stmt*> outer_loops(const loop::Kernel& k) {
  std::vector<const Stmt*> r;
  const loop::Body* body = &k.body;
  while (body->size() == 1 && independent(*(*body)[0])) {
    r.push_back((*body)[0].get());
    body = &(*body)[0]->body;
  }
  return r;
}

// An elementwise nest over tensors of one shape and word size does not care where an element
// stands: its tensors become one long column of tiles, and its loops one loop over them.
void collapse(Nest& n) {
  const std::vector<const Stmt*> loops = outer_loops(n.kernel);
  if (loops.empty()) return;
  const loop::Body& inner = loops.back()->body;
  for (const auto& s : inner)
    if (s->kind != Stmt::Kind::Let && s->kind != Stmt::Kind::Store) return;
  const Layout* like = nullptr;
  for (const Param& p : n.params) {
    if (p.layout.dims.empty()) continue;
    if (like && (like->dims != p.layout.dims || like->pack != p.layout.pack)) return;
    if (!like) like = &p.layout;
  }
  if (!like) return;
  bool same = true;
  for_each_access(
      n.kernel.body, [&](const loop::Buffer& buffer, const std::vector<Expr>& index, bool) {
        if (buffer->shape.empty()) return;
        size_t next = 0;
        for (size_t d = 0; d < index.size(); ++d) {
          int64_t v = -1;
          if (like->dims[d] == 1 && loop::is_const(index[d], &v) && v == 0) continue;
          same &= next < loops.size() && index[d]->kind == ExprNode::Kind::Var &&
                  index[d]->var == loops[next]->var && extent_of(*loops[next]) == like->dims[d];
          ++next;
        }
        same &= next == loops.size();
      });
  // No index may be computed with.
  loop::for_each_stmt(inner, [&](const Stmt& s) {
    std::unordered_set<const ExprNode*> seen;
    const std::function<void(const Expr&)> look = [&](const Expr& e) {
      if (e->kind == ExprNode::Kind::Load) return;
      if (e->kind == ExprNode::Kind::Var)
        for (const Stmt* l : loops) same &= e->var != l->var;
      for (const Expr& a : e->args) look(a);
    };
    if (s.value) look(s.value);
  });
  if (!same) return;
  const int64_t rows = like->tiles() * kSublanes * like->pack;
  auto var = [](const char* name) {
    auto v = std::make_shared<loop::VarDef>();
    v->name = name;
    return v;
  };
  const loop::Var r = var("tile"), c = var("lane");
  loop::BufferMap map;
  std::unordered_map<const loop::BufferDef*, loop::Buffer> fresh;
  for (Param& p : n.params) {
    if (p.layout.dims.empty()) continue;
    auto d = std::make_shared<loop::BufferDef>(*p.buffer);
    d->shape = {loop::int_const(rows), loop::int_const(kLanes)};
    fresh[p.buffer.get()] = d;
    p.buffer = d;
    const DType t = p.layout.dtype;
    p.layout = layout_of(t, {rows, kLanes});
  }
  for (auto& b : n.kernel.params)
    if (auto it = fresh.find(b.get()); it != fresh.end()) b = it->second;
  auto rewrite = [&](const Expr& e) {
    return loop::transform(e, [&](const Expr& x) {
      if (x->kind != ExprNode::Kind::Load) return x;
      auto it = fresh.find(x->buffer.get());
      if (it == fresh.end()) return x;
      return loop::load(it->second, {loop::var_ref(r), loop::var_ref(c)});
    });
  };
  loop::Body body = loop::clone(inner);
  for (auto& s : body) {
    if (s->value) s->value = rewrite(s->value);
    if (s->kind != Stmt::Kind::Store) continue;
    s->buffer = fresh.at(s->buffer.get());
    s->index = {loop::var_ref(r), loop::var_ref(c)};
  }
  auto loop_of = [&](const loop::Var& v, int64_t extent, loop::Body inside) {
    auto s = std::make_unique<Stmt>();
    s->kind = Stmt::Kind::For;
    s->independent = true;
    s->var = v;
    s->begin = loop::int_const(0);
    s->extent = loop::int_const(extent);
    s->body = std::move(inside);
    return s;
  };
  auto lanes = loop_of(c, kLanes, std::move(body));
  loop::Body middle;
  middle.push_back(std::move(lanes));
  loop::Body top;
  top.push_back(loop_of(r, rows, std::move(middle)));
  n.kernel.body = std::move(top);
  n.elementwise = true;
}

// Buffers of the values that the context wants as columns: [.., n] becomes [.., n, 1].
void make_columns(Nest& n, const LowerContext& context) {
  std::unordered_map<const loop::BufferDef*, loop::Buffer> fresh;
  for (Param& p : n.params) {
    if (!context.as_column(p.value)) continue;
    auto d = std::make_shared<loop::BufferDef>(*p.buffer);
    d->shape.push_back(loop::int_const(1));
    fresh[p.buffer.get()] = d;
    p.buffer = d;
    std::vector<int64_t> dims = p.layout.dims;
    dims.push_back(1);
    p.layout = layout_of(p.layout.dtype, dims);
  }
  if (fresh.empty()) return;
  for (auto& b : n.kernel.params)
    if (auto it = fresh.find(b.get()); it != fresh.end()) b = it->second;
  loop::for_each_stmt(n.kernel.body, [&](const Stmt& c) {
    Stmt& s = const_cast<Stmt&>(c);
    loop::for_each_expr(s, [&](const Expr& e) {
      const_cast<Expr&>(e) = loop::transform(e, [&](const Expr& x) {
        if (x->kind != ExprNode::Kind::Load) return x;
        auto it = fresh.find(x->buffer.get());
        if (it == fresh.end()) return x;
        std::vector<Expr> index = x->args;
        index.push_back(loop::int_const(0));
        return loop::load(it->second, index);
      });
    });
    if (s.kind != Stmt::Kind::Store) return;
    auto it = fresh.find(s.buffer.get());
    if (it == fresh.end()) return;
    s.buffer = it->second;
    s.index.push_back(loop::int_const(0));
  });
}

// Which loop alone indexes each dimension, in every access.
void find_steps(Nest& n) {
  for (Param& p : n.params) p.steps_with.assign(p.buffer->shape.size(), nullptr);
  std::unordered_map<const loop::BufferDef*, Param*> of;
  for (Param& p : n.params) of[p.buffer.get()] = &p;
  std::unordered_map<const Param*, bool> first;
  for_each_access(n.kernel.body, [&](const loop::Buffer& buffer, const std::vector<Expr>& index,
                                     bool store) {
    auto it = of.find(buffer.get());
    if (it == of.end()) return;
    Param& p = *it->second;
    (store ? p.written : p.read) = true;
    for (size_t d = 0; d < index.size(); ++d) {
      const loop::VarDef* v = index[d]->kind == ExprNode::Kind::Var ? index[d]->var.get() : nullptr;
      if (!first.count(&p))
        p.steps_with[d] = v;
      else if (p.steps_with[d] != v)
        p.steps_with[d] = nullptr;
    }
    // A variable in another place is not alone.
    for (size_t d = 0; d < index.size(); ++d)
      for (size_t e = 0; e < index.size(); ++e)
        if (p.steps_with[d] && e != d && loop::uses(index[e], p.steps_with[d]))
          p.steps_with[d] = nullptr;
    first[&p] = true;
  });
}

int pieces_of(const LowerContext& c, const Contraction& k) {
  if (k.type != DType::F32) return 1;
  return c.precision == Precision::Bf16 ? 1 : c.precision == Precision::Bf16x3 ? 2 : 3;
}

}  // namespace

std::optional<Refusal> emit_nest(const Nest& n, code::Builder& b, const Chip& chip,
                                 const std::vector<Place>& places,
                                 const std::vector<std::pair<const loop::VarDef*, Span>>& spans,
                                 code::RegionRef scratch, int64_t scratch_row,
                                 int64_t* scratch_rows) {
  Vectorizer v(b, chip, n.roles, scratch, scratch_row);
  v.set_step_rows(n.step_rows);
  const bool to_bf16 = std::all_of(n.params.begin(), n.params.end(), [](const Param& p) {
    return !p.written || p.layout.dtype == DType::BF16;
  });
  if (n.in_chain && to_bf16) v.use_reciprocals();
  for (size_t i = 0; i < n.params.size(); ++i) v.place(n.params[i].buffer.get(), places[i]);
  for (const auto& [var, s] : spans) v.span(var, s);
  if (n.contraction)
    emit_contraction(v, *n.contraction, n.pieces);
  else
    v.body(n.kernel.body);
  if (scratch_rows) *scratch_rows = v.scratch_rows();
  return v.refusal();
}

namespace {

std::optional<Refusal> try_emit(Nest& n, const Chip& chip) {
  code::Kernel k("trial");
  code::Builder b(&k);
  std::vector<Place> places;
  uint32_t row = 0;
  for (const Param& p : n.params) {
    Place at;
    const auto rows = static_cast<uint32_t>(std::min<int64_t>(p.layout.mem_rows(), INT32_MAX / 4));
    at.region = b.region(p.buffer->name, Space::Vmem, row, rows);
    at.layout = p.layout;
    row += 8;  // nothing is run
    places.push_back(at);
  }
  const code::RegionRef scratch = b.region("scratch", Space::Vmem, row, INT32_MAX / 4);
  return emit_nest(n, b, chip, places, {}, scratch, 0, &n.scratch_rows);
}

}  // namespace

bool make_scalar(Nest& n, const loop::VarDef* v, const Chip& chip) {
  if (n.roles.role(v) == Role::Scalar) return true;
  if (n.contraction) return false;
  const Roles before = n.roles;
  const int64_t step_rows = n.step_rows, scratch = n.scratch_rows;
  Forbidden forbidden = {{v, Role::Sublane}, {v, Role::Lane}};
  for (int attempt = 0; attempt < 12; ++attempt) {
    n.roles = choose_roles(n.kernel, forbidden);
    n.step_rows = step_rows_of(n.kernel, n.roles);
    n.scratch_rows = 0;
    const std::optional<Refusal> r = try_emit(n, chip);
    if (!r && n.roles.role(v) == Role::Scalar) return true;
    if (!r || !r->var || !forbidden.insert({r->var, r->role}).second) break;
  }
  n.roles = before;
  n.step_rows = step_rows;
  n.scratch_rows = scratch;
  return false;
}

std::variant<Nest, NotLowered> lower_group(const Group& g, const std::string& name,
                                           const LowerContext& context) {
  const tenfold::Op& root = *g.root;
  for (int i = 0; i < root.num_results(); ++i)
    if (auto why = type_problem(root.result(i)->type)) return NotLowered{*why};
  const tenfold::Op* hero = g.hero;
  if (hero ? !hero->def->emit : !(root.def->prim || root.def->element))
    return NotLowered{"the op has no loops of its own"};
  if (hero && hero->def->kind == OpKind::Collective)
    return NotLowered{"it speaks to other devices"};
  auto emitted = emit_kernel(g, name);
  if (!emitted.ok()) return NotLowered{emitted.errors().front().message};
  Nest n;
  n.name = name;
  n.group = g;
  n.kernel = std::move(emitted->kernel);
  n.pieces = 1;
  if (!n.kernel.symbols.empty()) return NotLowered{"a size depends on data or is open"};
  loop::simplify(n.kernel);
  for (size_t i = 0; i < emitted->params.size(); ++i) {
    const Value* v = emitted->params[i];
    if (!v->type.is_static()) return NotLowered{"a size depends on data or is open"};
    if (!pack_of(v->type.dtype) || v->type.dtype == DType::F16)
      return NotLowered{"the chip does not compute on " +
                        std::string(tenfold::name(v->type.dtype))};
    const std::vector<int64_t> dims = v->type.static_shape();
    for (int64_t d : dims)
      if (d == 0) return NotLowered{"an operand has no elements"};
    Param p;
    p.value = v;
    p.buffer = n.kernel.params[i];
    p.layout = layout_of(v->type.dtype, dims, dims.size() == 1);
    n.params.push_back(std::move(p));
  }
  if (context.as_column) make_columns(n, context);
  n.contraction = find_contraction(n.kernel);
  if (n.contraction && n.contraction->type == DType::I8 && context.chip->mxu_int8_rate <= 0)
    n.contraction.reset();
  if (n.contraction) {
    n.pieces = pieces_of(context, *n.contraction);
    n.flops = 2 * n.contraction->macs;
    n.roles = contraction_roles(*n.contraction);
    find_steps(n);
    if (!try_emit(n, *context.chip)) {
      n.grid = n.contraction->batch;
      n.grid.insert(n.grid.end(), n.contraction->reuse.begin(), n.contraction->reuse.end());
      if (n.contraction->m) n.grid.push_back(n.contraction->m);
      n.grid.push_back(n.contraction->n);
      return n;
    }
    n.contraction.reset();
  } else {
    if (context.collapse) collapse(n);
  }
  find_steps(n);
  Forbidden forbidden;
  std::string why;
  for (int attempt = 0; attempt < 12; ++attempt) {
    n.roles = choose_roles(n.kernel, forbidden);
    n.step_rows = step_rows_of(n.kernel, n.roles);
    n.scratch_rows = 0;
    const std::optional<Refusal> r = try_emit(n, *context.chip);
    if (!r) {
      n.grid = outer_loops(n.kernel);
      return n;
    }
    why = r->reason;
    if (!r->var || !forbidden.insert({r->var, r->role}).second) break;
  }
  return NotLowered{why};
}

}  // namespace tenfold::tpu
