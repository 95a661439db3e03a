// rfactor: a reduction loop accumulates into several partial results, iteration i into number
// i mod lanes, which are combined at the end: the upper half into the lower one while there are
// halves, then in order. The order is fixed, whatever runs it.
#include <cmath>

#include "loop/schedule/util.h"

namespace tenfold::loop {

using namespace sched;

namespace {

using Kind = ExprNode::Kind;

struct Reduction {
  Buffer dst;
  std::vector<Expr> index;
  Prim op;
  Buffer partial;
};

// The value that leaves others unchanged; null: none.
Expr identity(Prim p, DType t) {
  switch (p) {
    case Prim::Add:
      if (is_float(t)) {
        const Expr z = float_const(-0.0, t);  // -0 + x is x for every x
        return z->f == 0 ? z : nullptr;
      }
      return is_complex(t) ? complex_const(-0.0, -0.0, t) : zero(t);
    case Prim::Mul:
      return is_complex(t) ? nullptr : int_const(1, t);
    case Prim::Max:
    case Prim::Min: {
      if (is_complex(t) || t == DType::Bool) return nullptr;
      if (is_float(t)) {
        const Expr e = float_const(p == Prim::Max ? -HUGE_VAL : HUGE_VAL, t);
        return std::isinf(e->f) ? e : nullptr;
      }
      const int bits = bit_width(t);
      const int64_t top = bits >= 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
      if (is_signed(t)) return int_const(p == Prim::Max ? -top - 1 : top, t);
      return int_const(p == Prim::Max ? 0 : -1, t);
    }
    case Prim::And:
      return t == DType::Bool ? bool_const(true) : is_integer(t) ? int_const(-1, t) : nullptr;
    case Prim::Or:
    case Prim::Xor:
      return is_float(t) || is_complex(t) ? nullptr : zero(t);
    default:
      return nullptr;
  }
}

}  // namespace

Result<std::string> Schedule::rfactor(const std::string& loop, int64_t lanes,
                                      const std::string& through) {
  TF_ASSIGN(Place p, find_loop(*k_, "rfactor", loop));
  Stmt* s = p.stmt();
  // The loops from `through` to this one, all of one reduction.
  size_t top = p.path.size() - 1;
  if (!through.empty() && through != loop) {
    do {
      if (top == 0) return refuse("rfactor", loop, "loop " + through + " is not around it");
      const Stmt& c = *p.path[--top].stmt();
      if (c.kind != Stmt::Kind::For || c.loop_kind != LoopKind::Serial || c.body.size() != 1 ||
          c.begin->has_load || c.extent->has_load)
        return refuse("rfactor", loop, "it is not perfectly nested in serial loop " + through);
    } while (p.path[top].stmt()->var->name != through);
  }
  if (lanes < 2 || lanes > 1024) return refuse("rfactor", loop, "lanes must be 2 to 1024");
  if (s->loop_kind != LoopKind::Serial) return refuse("rfactor", loop, "it is not a serial loop");
  std::unordered_set<const VarDef*> inner;
  for (size_t d = top; d < p.path.size(); ++d) inner.insert(p.path[d].stmt()->var.get());
  std::unordered_set<const BufferDef*> own;
  std::vector<const Stmt*> stores;
  std::string why;
  for_each_stmt(s->body, [&](const Stmt& c) {
    if (c.var) inner.insert(c.var.get());
    if (c.kind == Stmt::Kind::Alloc) own.insert(c.buffer.get());
    if (c.kind == Stmt::Kind::Store) stores.push_back(&c);
    if (c.kind == Stmt::Kind::Intrinsic || c.kind == Stmt::Kind::While)
      why = "its body holds an intrinsic or a while loop";
  });
  if (!why.empty()) return refuse("rfactor", loop, why);
  std::vector<Reduction> reductions;
  for (const Stmt* c : stores) {
    if (own.count(storage_of(c->buffer.get()))) continue;
    Reduction r{c->buffer, c->index, Prim::Add, nullptr};
    const Expr& v = c->value;
    const Expr self = load(c->buffer, c->index);
    // Stores that reduce nothing stay: iterations keep their order.
    if (!mentions_buffer(v, storage_of(c->buffer.get()))) continue;
    if (v->kind != Kind::Op || v->args.size() != 2 || !identity(v->prim, c->buffer->dtype))
      return refuse("rfactor", loop, "a store to " + c->buffer->name + " is no reduction");
    const int at = same(v->args[0], self) ? 0 : same(v->args[1], self) ? 1 : -1;
    if (at < 0 || (at == 1 && v->prim != Prim::Add && v->prim != Prim::Mul &&
                   v->prim != Prim::Max && v->prim != Prim::Min))
      return refuse("rfactor", loop, "a store to " + c->buffer->name + " is no reduction");
    if (mentions_buffer(v->args[static_cast<size_t>(1 - at)], storage_of(c->buffer.get())))
      return refuse("rfactor", loop, "the reduction into " + c->buffer->name + " reads itself");
    r.op = v->prim;
    for (const Expr& e : c->index) {
      if (e->has_load) return refuse("rfactor", loop, "an index reads memory");
      bool varies = false;
      visit_once(e, [&](const Expr& x) {
        varies = varies || (x->kind == Kind::Var && inner.count(x->var.get()));
      });
      if (varies)
        return refuse(
            "rfactor", loop,
            "the element of " + c->buffer->name + " that is reduced into changes inside the loop");
    }
    for (const Reduction& o : reductions)
      if (storage_of(o.dst.get()) == storage_of(c->buffer.get()))
        return refuse("rfactor", loop, "two stores reduce into " + c->buffer->name);
    reductions.push_back(std::move(r));
  }
  if (reductions.empty()) return refuse("rfactor", loop, "it holds no reduction");
  // The accumulators are read and written by their own updates alone.
  for (const Reduction& r : reductions) {
    const auto writes = std::count_if(stores.begin(), stores.end(), [&](const Stmt* c) {
      return storage_of(c->buffer.get()) == storage_of(r.dst.get());
    });
    if (writes != 1) return refuse("rfactor", loop, r.dst->name + " is also written otherwise");
    int count = 0;
    for_each_stmt(s->body, [&](const Stmt& c) {
      for_each_expr(c,
                    [&](const Expr& e) { count += mentions_buffer(e, storage_of(r.dst.get())); });
    });
    if (count != 1) return refuse("rfactor", loop, r.dst->name + " is also read inside the loop");
  }

  Names names(*k_);
  Algebra g;
  bind_scope(g, *k_, p);
  const Var outer = make_var(names.unique(loop + "o")), lane = make_var(names.unique(loop + "i"));
  const Expr n = g.simplify(s->extent), f = int_const(lanes);
  std::vector<StmtPtr> before, after;
  for (Reduction& r : reductions) {
    auto b = std::make_shared<BufferDef>();
    b->name = names.unique(r.dst->name + "_r");
    b->dtype = r.dst->dtype;
    b->shape = {f};
    b->scope = Scope::Stack;
    r.partial = b;
    before.push_back(make_alloc(b));
    const Var v = make_var(names.unique(b->name + "0"));
    StmtPtr init = make_for(v, int_const(0), f, LoopKind::Vectorized);
    init->body.push_back(make_store(b, {var_ref(v)}, identity(r.op, b->dtype)));
    before.push_back(std::move(init));
    int64_t left = lanes;
    for (; left % 2 == 0 && left > 1; left /= 2) {
      const Var w = make_var(names.unique(b->name + std::to_string(left / 2)));
      StmtPtr halve = make_for(w, int_const(0), int_const(left / 2), LoopKind::Vectorized);
      const Expr low = load(b, {var_ref(w)}), high = load(b, {var_ref(w) + left / 2});
      halve->body.push_back(make_store(b, {var_ref(w)}, op(r.op, {low, high})));
      after.push_back(std::move(halve));
    }
    for (int64_t i = 0; i < left; ++i)
      after.push_back(
          make_store(r.dst, r.index, op(r.op, {load(r.dst, r.index), load(b, {int_const(i)})})));
  }
  Body body = std::move(s->body);
  for (const Reduction& r : reductions) {
    const std::vector<Expr> at = {var_ref(lane)};
    rewrite_accesses(
        body, r.dst.get(), [&](const std::vector<Expr>&) { return load(r.partial, at); },
        [&](Stmt& st) {
          st.buffer = r.partial;
          st.index = at;
        });
  }
  const Expr i = var_ref(outer) * lanes + var_ref(lane);
  substitute(body, {{s->var, s->begin + i}});
  StmtPtr inner_loop = make_for(lane, int_const(0), f);
  int64_t rest = -1;
  const bool exact = is_const(g.simplify(imod(n, f)), &rest) && rest == 0;
  const bool sums_only = std::all_of(body.begin(), body.end(), [&](const StmtPtr& c) {
    return c->kind == Stmt::Kind::Store && c->index.size() == 1 && c->buffer->shape.size() == 1 &&
           std::any_of(reductions.begin(), reductions.end(),
                       [&](const Reduction& r) { return r.partial == c->buffer; });
  });
  if (exact) {
    inner_loop->body = std::move(body);
  } else if (sums_only) {
    // What lies past the end adds nothing: a value, so that the stores need no mask.
    for (StmtPtr& c : body) {
      const Expr& v = c->value;
      const bool first = v->args[0]->kind == Kind::Load && v->args[0]->buffer == c->buffer;
      const Expr x = guard(lt(i, n), v->args[first ? 1 : 0], identity(v->prim, c->buffer->dtype));
      c->value = first ? op(v->prim, {v->args[0], x}) : op(v->prim, {x, v->args[1]});
    }
    inner_loop->body = std::move(body);
  } else {
    StmtPtr c = make_if(lt(i, n));
    c->body = std::move(body);
    inner_loop->body.push_back(std::move(c));
  }
  StmtPtr main = make_for(outer, int_const(0), g.simplify(idiv(n + (lanes - 1), f)));
  main->body.push_back(std::move(inner_loop));
  p.body()[p.index()] = std::move(main);
  Body& parent = *p.path[top].body;
  const auto pos = static_cast<std::ptrdiff_t>(p.path[top].index);
  parent.insert(parent.begin() + pos + 1, std::make_move_iterator(after.begin()),
                std::make_move_iterator(after.end()));
  parent.insert(parent.begin() + pos, std::make_move_iterator(before.begin()),
                std::make_move_iterator(before.end()));
  k_->trace.push_back("rfactor " + word(loop) + " " + std::to_string(lanes) +
                      (through.empty() ? "" : " " + word(through)));
  return lane->name;
}

}  // namespace tenfold::loop
