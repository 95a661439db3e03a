// See kernel_key.h.
#include "backends/cpu/kernel_key.h"

#include <bit>
#include <cstring>
#include <unordered_map>

namespace tenfold::cpu {
namespace {

using loop::Body;
using loop::Buffer;
using loop::Expr;
using loop::Stmt;
using EK = loop::ExprNode::Kind;

class Writer {
 public:
  std::string out;
  void number(int64_t v) {
    char b[8];
    std::memcpy(b, &v, 8);
    // Small numbers, the most of them, in one byte.
    if (v >= 0 && v < 250)
      out.push_back(static_cast<char>(v));
    else
      out.append("\xff", 1).append(b, 8);
  }
  void var(const loop::VarDef* v) {
    auto [it, fresh] = vars_.emplace(v, static_cast<int64_t>(vars_.size()));
    number(it->second);
    if (fresh) {
      number(static_cast<int64_t>(v->dtype));
      number(v->min);
      number(v->max);
    }
  }
  void buffer(const Buffer& b) {
    auto [it, fresh] = buffers_.emplace(b.get(), static_cast<int64_t>(buffers_.size()));
    number(it->second);
    if (!fresh) return;
    number(static_cast<int64_t>(b->dtype));
    number(static_cast<int64_t>(b->scope));
    number(b->alignment);
    list(b->shape);
    number(b->alias_of != nullptr);
    if (b->alias_of) buffer(b->alias_of);
  }
  void list(const std::vector<Expr>& es) {
    number(static_cast<int64_t>(es.size()));
    for (const Expr& e : es) expr(e);
  }
  void expr(const Expr& e) {
    if (!e) return number(200);
    // A shared subexpression is written once.
    auto [it, fresh] = seen_.emplace(e.get(), static_cast<int64_t>(seen_.size()));
    if (!fresh) {
      number(201);
      return number(it->second);
    }
    number(static_cast<int64_t>(e->kind));
    number(static_cast<int64_t>(e->dtype));
    switch (e->kind) {
      case EK::Const:
        number(e->i);
        number(std::bit_cast<int64_t>(e->f));
        number(std::bit_cast<int64_t>(e->f2));
        return;
      case EK::Var:
        return var(e->var.get());
      case EK::Load:
        buffer(e->buffer);
        break;
      case EK::Op:
        number(static_cast<int64_t>(e->prim));
        break;
      default:
        break;
    }
    list(e->args);
  }
  void body(const Body& b) {
    number(static_cast<int64_t>(b.size()));
    for (const auto& s : b) {
      number(static_cast<int64_t>(s->kind));
      number(static_cast<int64_t>(s->loop_kind));
      if (s->var) var(s->var.get());
      for (const Expr* e : {&s->begin, &s->extent, &s->cond, &s->value}) expr(*e);
      if (s->buffer) buffer(s->buffer);
      list(s->index);
      list(s->args);
      number(static_cast<int64_t>(s->name.size()));
      out += s->name;
      body(s->body);
      body(s->else_body);
    }
  }

 private:
  std::unordered_map<const loop::VarDef*, int64_t> vars_;
  std::unordered_map<const loop::BufferDef*, int64_t> buffers_;
  std::unordered_map<const loop::ExprNode*, int64_t> seen_;
};

}  // namespace

std::string kernel_key(const loop::Kernel& k) {
  Writer w;
  w.number(static_cast<int64_t>(k.symbols.size()));
  for (const auto& s : k.symbols) w.var(s.get());
  w.number(static_cast<int64_t>(k.params.size()));
  for (size_t i = 0; i < k.params.size(); ++i) {
    w.buffer(k.params[i]);
    w.number(k.param_written[i]);
  }
  w.body(k.body);
  return std::move(w.out);
}

}  // namespace tenfold::cpu
