#include "passes/lower/merge_dims.h"

#include <algorithm>
#include <unordered_map>

#include "loop/walk.h"
#include "passes/lower/nest.h"

namespace tenfold {
namespace {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;

bool divides(const Expr& e) {
  bool found = false;
  loop::visit_once(e, [&](const Expr& x) {
    found |=
        x->kind == ExprNode::Kind::Op && (x->prim == Prim::FloorDiv || x->prim == Prim::FloorMod);
  });
  return found;
}

// Dimensions first, first+1, ... of a parameter as one.
struct Group {
  size_t first, count;
};

Expr merged(const std::vector<Expr>& index, const std::vector<Expr>& shape, Group g) {
  Expr at = index[g.first];
  for (size_t d = g.first + 1; d < g.first + g.count; ++d) at = at * shape[d] + index[d];
  return at;
}

// The groups that every access agrees on; empty: nothing to gain.
std::vector<Group> groups_of(const loop::BufferDef& b,
                             const std::vector<const std::vector<Expr>*>& at) {
  std::vector<Group> out;
  bool gain = false;
  for (size_t d = 0; d < b.shape.size();) {
    size_t take = 1;
    for (size_t n = b.shape.size() - d; n > 1 && take == 1; --n) {
      auto joins = [&](const std::vector<Expr>* index) {
        return std::all_of(index->begin() + static_cast<long>(d),
                           index->begin() + static_cast<long>(d + n), divides) &&
               !divides(loop::simplify(merged(*index, b.shape, {d, n})));
      };
      if (std::all_of(at.begin(), at.end(), joins)) take = n;
    }
    gain |= take > 1;
    out.push_back({d, take});
    d += take;
  }
  if (!gain) out.clear();
  return out;
}

}  // namespace

void merge_dims(loop::Kernel& k, const std::function<bool(int)>& fixed) {
  std::unordered_map<const loop::BufferDef*, std::vector<const std::vector<Expr>*>> uses;
  std::unordered_map<const loop::BufferDef*, bool> closed;  // an intrinsic or a view knows its form
  const std::vector<Access> all = accesses(k.body);
  for (const Access& a : all) {
    uses[a.buffer.get()].push_back(a.index);
    if (a.buffer->alias_of) closed[loop::storage_of(a.buffer.get())] = true;
  }
  for_each_stmt(k.body, [&](const Stmt& s) {
    for (const Expr& e : s.args)
      loop::visit_once(e, [&](const Expr& x) {
        if (x->buffer) closed[loop::storage_of(x->buffer.get())] = true;
      });
    if (s.buffer && s.buffer->alias_of) closed[loop::storage_of(s.buffer.get())] = true;
  });
  struct Flat {
    loop::Buffer buffer;
    std::vector<Group> groups;
  };
  std::unordered_map<const loop::BufferDef*, Flat> flat;
  for (size_t i = 0; i < k.params.size(); ++i) {
    const loop::Buffer p = k.params[i];
    if (fixed(static_cast<int>(i)) || closed.count(p.get()) || !uses.count(p.get())) continue;
    std::vector<Group> groups = groups_of(*p, uses.at(p.get()));
    if (groups.empty()) continue;
    auto b = std::make_shared<loop::BufferDef>(*p);
    b->shape.clear();
    for (Group g : groups) {
      Expr n = p->shape[g.first];
      for (size_t d = g.first + 1; d < g.first + g.count; ++d) n = n * p->shape[d];
      b->shape.push_back(loop::simplify(n));
    }
    k.params[i] = b;
    flat[p.get()] = {b, std::move(groups)};
  }
  if (flat.empty()) return;
  auto flatten = [](const Flat& f, const loop::BufferDef& from, const std::vector<Expr>& index) {
    std::vector<Expr> out;
    for (Group g : f.groups) out.push_back(loop::simplify(merged(index, from.shape, g)));
    return out;
  };
  loop::rewrite_exprs(k.body, [&](const Expr& e) {
    return loop::transform(e, [&](const Expr& x) {
      if (x->kind != ExprNode::Kind::Load) return x;
      auto f = flat.find(x->buffer.get());
      if (f == flat.end()) return x;
      return loop::load(f->second.buffer, flatten(f->second, *x->buffer, x->args));
    });
  });
  auto stores = [&](loop::Body& b, auto&& self) -> void {
    for (auto& s : b) {
      if (s->kind == Stmt::Kind::Store)
        if (auto f = flat.find(s->buffer.get()); f != flat.end()) {
          s->index = flatten(f->second, *s->buffer, s->index);
          s->buffer = f->second.buffer;
        }
      self(s->body, self);
      self(s->else_body, self);
    }
  };
  stores(k.body, stores);
}

}  // namespace tenfold
