#include "loop/walk.h"

#include <unordered_map>

namespace tenfold::loop {

namespace {

struct Transformer {
  const std::function<Expr(const Expr&)>& f;
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> memo;  // keeps the keys alive

  Expr run(const Expr& e) {
    const bool shared = e.use_count() > 1;
    if (shared)
      if (auto it = memo.find(e.get()); it != memo.end()) return it->second.second;
    Expr r = e;
    if (!e->args.empty()) {
      std::vector<Expr> args;
      args.reserve(e->args.size());
      bool changed = false;
      for (const Expr& a : e->args) {
        args.push_back(run(a));
        changed = changed || args.back() != a;
      }
      if (changed) r = with_args(e, std::move(args));
    }
    r = f(r);
    if (shared) memo.emplace(e.get(), std::pair(e, r));
    return r;
  }
};

}  // namespace

Expr transform(const Expr& e, const std::function<Expr(const Expr&)>& f) {
  return e ? Transformer{f, {}}.run(e) : e;
}

const BufferDef* storage_of(const BufferDef* b) {
  while (b->alias_of) b = b->alias_of.get();
  return b;
}

namespace {

Buffer mapped(const Buffer& b, BufferMap& map,
              const std::function<std::string(const std::string&)>& fresh) {
  if (auto it = map.find(b.get()); it != map.end()) return it->second;
  if (!b->alias_of) return b;
  const Buffer base = mapped(b->alias_of, map, fresh);
  if (base == b->alias_of) return b;
  auto copy = std::make_shared<BufferDef>(*b);
  copy->alias_of = base;
  copy->name = fresh(b->name);
  map[b.get()] = copy;
  return copy;
}

}  // namespace

void replace_buffers(Body& b, const BufferMap& given,
                     const std::function<std::string(const std::string&)>& fresh) {
  BufferMap map = given;
  std::function<void(Body&)> go = [&](Body& body) {
    for (StmtPtr& s : body) {
      if (s->buffer) s->buffer = mapped(s->buffer, map, fresh);
      for_each_expr(*s, [&](Expr& e) {
        if (!e->has_load) return;
        e = transform(e, [&](const Expr& x) {
          if (x->kind != ExprNode::Kind::Load) return x;
          const Buffer n = mapped(x->buffer, map, fresh);
          return n == x->buffer ? x : load(n, x->args);
        });
      });
      go(s->body);
      go(s->else_body);
    }
  };
  go(b);
}

}  // namespace tenfold::loop
