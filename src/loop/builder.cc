// Builder: statements appended at an insertion point, names kept unique per kernel.
#include "loop/builder.h"

namespace tenfold::loop {

namespace {

void collect_names(const Body& b, std::unordered_set<std::string>& out) {
  for (const StmtPtr& s : b) {
    if (s->var) out.insert(s->var->name);
    if (s->kind == Stmt::Kind::Alloc) out.insert(s->buffer->name);
    collect_names(s->body, out);
    collect_names(s->else_body, out);
  }
}

}  // namespace

std::string Builder::unique(std::string_view stem) {
  if (!scanned_) {
    scanned_ = true;
    for (const Buffer& p : kernel_->params) used_.insert(p->name);
    for (const Var& v : kernel_->symbols) used_.insert(v->name);
    collect_names(kernel_->body, used_);
  }
  std::string s(stem.empty() ? "v" : stem);
  if (used_.insert(s).second) return s;
  int& n = next_[s];
  for (;;) {
    std::string t = s + "_" + std::to_string(++n);
    if (used_.insert(t).second) return t;
  }
}

Stmt* Builder::push(Stmt::Kind k) {
  auto s = std::make_unique<Stmt>();
  s->kind = k;
  stack_.back()->push_back(std::move(s));
  return stack_.back()->back().get();
}

void Builder::for_range(std::string_view name, Expr begin, Expr extent,
                        const std::function<void(Expr)>& f, LoopKind kind) {
  Stmt* s = push(Stmt::Kind::For);
  s->loop_kind = kind;
  s->var = std::make_shared<VarDef>(VarDef{unique(name), DType::I64});
  s->begin = std::move(begin);
  s->extent = std::move(extent);
  stack_.push_back(&s->body);
  f(var_ref(s->var));
  stack_.pop_back();
}

void Builder::for_(std::string_view name, Expr extent, const std::function<void(Expr)>& f,
                   LoopKind kind) {
  for_range(name, int_const(0), std::move(extent), f, kind);
}

void Builder::nest(std::string_view stem, const std::vector<Expr>& shape,
                   const std::function<void(const std::vector<Expr>&)>& f) {
  std::vector<Expr> index;
  const bool top = at_top();
  std::function<void(size_t)> go = [&](size_t d) {
    if (d == shape.size()) {
      f(index);
      return;
    }
    const LoopKind kind = top && d == 0 ? LoopKind::Parallel : LoopKind::Serial;
    const std::string n = std::string(stem) + std::to_string(d);
    Body& here = *stack_.back();
    for_(
        n, shape[d],
        [&](Expr v) {
          index.push_back(std::move(v));
          go(d + 1);
          index.pop_back();
        },
        kind);
    here.back()->independent = true;
  };
  go(0);
}

void Builder::while_(Expr cond, const std::function<void()>& f) {
  Stmt* s = push(Stmt::Kind::While);
  s->cond = std::move(cond);
  stack_.push_back(&s->body);
  f();
  stack_.pop_back();
}

void Builder::if_(Expr cond, const std::function<void()>& then_body,
                  const std::function<void()>& else_body) {
  int64_t c = 0;
  if (is_const(cond, &c)) {  // decided: no branch
    if (c)
      then_body();
    else if (else_body)
      else_body();
    return;
  }
  Stmt* s = push(Stmt::Kind::If);
  s->cond = std::move(cond);
  stack_.push_back(&s->body);
  then_body();
  stack_.pop_back();
  if (!else_body) return;
  stack_.push_back(&s->else_body);
  else_body();
  stack_.pop_back();
}

Expr Builder::let(std::string_view name, Expr value) {
  if (value->kind == ExprNode::Kind::Const || value->kind == ExprNode::Kind::Var) return value;
  Stmt* s = push(Stmt::Kind::Let);
  s->var = std::make_shared<VarDef>(VarDef{unique(name), value->dtype});
  s->value = std::move(value);
  return var_ref(s->var);
}

Buffer Builder::alloc(std::string_view name, DType t, std::vector<Expr> shape, Scope scope) {
  auto b = std::make_shared<BufferDef>();
  b->name = unique(name);
  b->dtype = t;
  b->shape = std::move(shape);
  b->scope = scope;
  push(Stmt::Kind::Alloc)->buffer = b;
  return b;
}

Buffer Builder::cell(std::string_view name, Expr init) {
  Buffer b = alloc(name, init->dtype, {}, Scope::Stack);
  store(b, {}, std::move(init));
  return b;
}

void Builder::store(const Buffer& b, std::vector<Expr> index, Expr value) {
  TF_CHECK(index.size() == b->shape.size(), "store: index rank of buffer " + b->name);
  TF_CHECK(value->dtype == b->dtype, "store: element type of buffer " + b->name);
  Stmt* s = push(Stmt::Kind::Store);
  s->buffer = b;
  s->index = std::move(index);
  s->value = std::move(value);
}

}  // namespace tenfold::loop
