#include "loop/schedule/util.h"

#include "loop/intrinsics.h"
#include "loop/text.h"

namespace tenfold::loop::sched {

bool find_stmt(Body& b, const std::function<bool(const Stmt&)>& is, Place* out) {
  for (size_t i = 0; i < b.size(); ++i) {
    out->path.push_back({&b, i});
    if (is(*b[i]) || find_stmt(b[i]->body, is, out) || find_stmt(b[i]->else_body, is, out))
      return true;
    out->path.pop_back();
  }
  return false;
}

Error refuse(const char* primitive, const std::string& subject, const std::string& reason) {
  return {"schedule-refused", std::string(primitive) + " '" + subject + "': " + reason, {}, {}};
}

Result<Place> find_loop(Kernel& k, const char* primitive, const std::string& name) {
  Place p;
  if (find_stmt(
          k.body, [&](const Stmt& s) { return s.kind == Stmt::Kind::For && s.var->name == name; },
          &p))
    return p;
  return refuse(primitive, name, "the kernel has no such loop");
}

Result<Place> find_alloc(Kernel& k, const char* primitive, const std::string& buffer) {
  Place p;
  if (find_stmt(
          k.body,
          [&](const Stmt& s) { return s.kind == Stmt::Kind::Alloc && s.buffer->name == buffer; },
          &p))
    return p;
  return refuse(primitive, buffer, "the kernel allocates no such buffer");
}

Buffer find_buffer(const Kernel& k, const std::string& name) {
  for (const Buffer& b : k.params)
    if (b->name == name) return b;
  Buffer found;
  std::unordered_set<const ExprNode*> seen;
  for_each_stmt(k.body, [&](const Stmt& s) {
    if (s.buffer && s.buffer->name == name) found = s.buffer;
    for_each_expr(s, [&](const Expr& e) {
      visit_once(e, seen, [&](const Expr& x) {
        if (x->buffer && x->buffer->name == name) found = x->buffer;
      });
    });
  });
  return found;
}

Names::Names(const Kernel& k) {
  for (const Buffer& b : k.params) used_.insert(b->name);
  for (const Var& v : k.symbols) used_.insert(v->name);
  std::unordered_set<const ExprNode*> seen;
  for_each_stmt(k.body, [&](const Stmt& s) {
    if (s.var) used_.insert(s.var->name);
    if (s.buffer) used_.insert(s.buffer->name);
    for_each_expr(s, [&](const Expr& e) {
      if (!e->has_load) return;
      visit_once(e, seen, [&](const Expr& x) {
        if (x->buffer) used_.insert(x->buffer->name);
      });
    });
  });
}

std::string Names::unique(const std::string& stem) {
  if (used_.insert(stem).second) return stem;
  for (int i = 1;; ++i) {
    std::string s = stem + "_" + std::to_string(i);
    if (used_.insert(s).second) return s;
  }
}

void bind_stmt(Algebra& g, const Stmt& s) {
  if (s.kind == Stmt::Kind::For) {
    g.bind_loop(s.var, s.begin, s.extent);
  } else if (s.kind == Stmt::Kind::Let) {
    if (s.value->dtype == DType::I64 && !s.value->has_load)
      g.bind_alias(s.var, s.value);
    else
      g.bind_let(s.var, s.value);
  }
}

void bind_scope(Algebra& g, const Kernel& k, const Place& p) {
  for (const Var& v : k.symbols) g.bind_symbol(v);
  for (size_t d = 0; d < p.path.size(); ++d) {
    const Place::Step& step = p.path[d];
    for (size_t i = 0; i < step.index; ++i)
      if ((*step.body)[i]->kind == Stmt::Kind::Let) bind_stmt(g, *(*step.body)[i]);
    if (d + 1 == p.path.size()) break;
    const Stmt& s = *step.stmt();
    bind_stmt(g, s);
    if (s.kind == Stmt::Kind::If)
      g.push_fact(s.cond, p.path[d + 1].body == &s.body);
    else if (s.kind == Stmt::Kind::For && !is_const(s.extent))
      g.push_fact(op(Prim::Ge, {s.extent, int_const(1)}), true);
  }
}

void rename(Body& b, Names& names, const std::string& suffix) {
  Substitution vars;
  BufferMap buffers;
  std::function<void(Body&)> go = [&](Body& body) {
    for (StmtPtr& s : body) {
      if (s->var) {
        auto v = std::make_shared<VarDef>(*s->var);
        v->name = names.unique(v->name + suffix);
        vars.emplace_back(s->var, var_ref(v));
        s->var = v;
      }
      if (s->kind == Stmt::Kind::Alloc) {
        auto n = std::make_shared<BufferDef>(*s->buffer);
        n->name = names.unique(n->name + suffix);
        buffers[s->buffer.get()] = n;
      }
      go(s->body);
      go(s->else_body);
    }
  };
  go(b);
  if (!vars.empty()) substitute(b, vars);
  for (auto& [old, n] : buffers) {  // shapes may mention renamed variables
    auto copy = std::make_shared<BufferDef>(*n);
    for (Expr& e : copy->shape) e = substitute(e, vars);
    n = copy;
  }
  if (!buffers.empty())
    replace_buffers(b, buffers, [&](const std::string& n) { return names.unique(n + suffix); });
}

void rewrite_accesses(Body& b, const BufferDef* buffer,
                      const std::function<Expr(const std::vector<Expr>&)>& load_at,
                      const std::function<void(Stmt&)>& store_at) {
  for (StmtPtr& s : b) {
    for_each_expr(*s, [&](Expr& e) {
      if (!e->has_load) return;
      e = transform(e, [&](const Expr& x) {
        return x->kind == ExprNode::Kind::Load && x->buffer.get() == buffer ? load_at(x->args) : x;
      });
    });
    if (s->kind == Stmt::Kind::Store && s->buffer.get() == buffer) store_at(*s);
    rewrite_accesses(s->body, buffer, load_at, store_at);
    rewrite_accesses(s->else_body, buffer, load_at, store_at);
  }
}

bool mentions_buffer(const Expr& e, const BufferDef* storage) {
  if (!e || !e->has_load) return false;
  bool found = false;
  visit_once(e, [&](const Expr& x) {
    found = found || (x->kind == ExprNode::Kind::Load && storage_of(x->buffer.get()) == storage);
  });
  return found;
}

bool reads(const Stmt& s, const BufferDef* storage) {
  bool found = false;
  for_each_expr(s, [&](const Expr& e) { found = found || mentions_buffer(e, storage); });
  for (const Body* b : {&s.body, &s.else_body})
    for (const StmtPtr& c : *b) found = found || reads(*c, storage);
  return found;
}

bool writes(const Stmt& s, const BufferDef* storage) {
  if (s.kind == Stmt::Kind::Store && storage_of(s.buffer.get()) == storage) return true;
  if (s.kind == Stmt::Kind::Intrinsic) {
    const Intrinsic* in = find_intrinsic(s.name);
    if (in && in->reference) {
      for (const StmtPtr& c : in->reference(s.args))
        if (writes(*c, storage)) return true;
    }
  }
  for (const Body* b : {&s.body, &s.else_body})
    for (const StmtPtr& c : *b)
      if (writes(*c, storage)) return true;
  return false;
}

bool has_intrinsic_on(const Stmt& s, const BufferDef* storage) {
  if (s.kind == Stmt::Kind::Intrinsic)
    for (const Expr& a : s.args)
      if (mentions_buffer(a, storage)) return true;
  for (const Body* b : {&s.body, &s.else_body})
    for (const StmtPtr& c : *b)
      if (has_intrinsic_on(*c, storage)) return true;
  return false;
}

bool uses_var(const Stmt& s, const VarDef* v) {
  bool found = false;
  for_each_expr(s, [&](const Expr& e) { found = found || uses(e, v); });
  if (s.kind == Stmt::Kind::Alloc)
    for (const Expr& e : s.buffer->shape) found = found || uses(e, v);
  for (const Body* b : {&s.body, &s.else_body})
    for (const StmtPtr& c : *b) found = found || uses_var(*c, v);
  return found;
}

Var make_var(std::string name) {
  return std::make_shared<VarDef>(VarDef{std::move(name), DType::I64});
}

StmtPtr make_for_like(const Stmt& s, Var v, Expr begin, Expr extent, LoopKind kind) {
  StmtPtr f = make_for(std::move(v), std::move(begin), std::move(extent), kind);
  f->independent = independent(s);
  return f;
}

StmtPtr make_for(Var v, Expr begin, Expr extent, LoopKind kind) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::For;
  s->loop_kind = kind;
  s->var = std::move(v);
  s->begin = std::move(begin);
  s->extent = std::move(extent);
  return s;
}

StmtPtr make_if(Expr cond) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::If;
  s->cond = std::move(cond);
  return s;
}

StmtPtr make_store(Buffer b, std::vector<Expr> index, Expr value) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::Store;
  s->buffer = std::move(b);
  s->index = std::move(index);
  s->value = std::move(value);
  return s;
}

StmtPtr make_alloc(Buffer b) {
  auto s = std::make_unique<Stmt>();
  s->kind = Stmt::Kind::Alloc;
  s->buffer = std::move(b);
  return s;
}

std::vector<Stmt*> perfect_chain(Stmt* first, const Stmt* last) {
  std::vector<Stmt*> chain;
  for (Stmt* s = first;;) {
    const bool link =
        s->kind == Stmt::Kind::For || (s->kind == Stmt::Kind::If && s->else_body.empty());
    if (!link) return chain;
    chain.push_back(s);
    if (s == last || s->body.size() != 1) return chain;
    s = s->body[0].get();
  }
}

std::string word(const std::string& s) { return plain_name(s) ? s : quote(s); }

std::string join(const std::vector<std::string>& v) {
  std::string s;
  for (const std::string& x : v) s += (s.empty() ? "" : " ") + word(x);
  return s;
}

}  // namespace tenfold::loop::sched
