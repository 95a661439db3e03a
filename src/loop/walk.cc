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

}  // namespace tenfold::loop
