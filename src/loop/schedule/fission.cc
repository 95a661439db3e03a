// fission (loop distribution): each statement of a loop's body gets loops of its own.
#include "loop/schedule/dependence.h"

namespace tenfold::loop {

using namespace sched;

namespace {}  // namespace

Result<std::vector<std::string>> Schedule::fission(const std::string& loop,
                                                   const std::string& through) {
  const std::string& first = through.empty() ? loop : through;
  TF_ASSIGN(Place p, find_loop(*k_, "fission", first));
  TF_ASSIGN(Place inner, find_loop(*k_, "fission", loop));
  std::vector<Stmt*> chain = perfect_chain(p.stmt());
  size_t at = 0;
  while (at < chain.size() && chain[at] != inner.stmt()) ++at;
  if (at == chain.size())
    return refuse("fission", loop, "it is not perfectly nested in loop " + first);
  // Branches directly below the loop are distributed as well.
  size_t end = at + 1;
  while (end < chain.size() && chain[end]->kind == Stmt::Kind::If) ++end;
  chain.resize(end);
  Body& body = chain.back()->body;
  for (Stmt* s : chain) {
    if (s->kind == Stmt::Kind::If && s->cond->has_load)
      return refuse("fission", loop, "a branch around the statements reads memory");
    if (s->kind == Stmt::Kind::For && (s->begin->has_load || s->extent->has_load))
      return refuse("fission", loop, "the bounds of " + s->var->name + " read memory");
    if (s->kind == Stmt::Kind::For && s->loop_kind == LoopKind::Parallel && s != chain[0])
      return refuse("fission", loop, "loop " + s->var->name + " is parallel");
  }

  // Each proper statement is a group; what it alone declares comes along.
  struct Item {
    size_t index;
    std::vector<size_t> users;
  };
  std::vector<size_t> proper;
  std::vector<Item> declared;
  for (size_t i = 0; i < body.size(); ++i) {
    const Stmt& s = *body[i];
    if (s.kind == Stmt::Kind::Alloc || s.kind == Stmt::Kind::Let)
      declared.push_back({i, {}});
    else
      proper.push_back(i);
  }
  if (proper.size() < 2) return refuse("fission", loop, "its body is one statement");
  // Uses of declarations, through other declarations (a Let using a Let) from the last backwards.
  std::vector<std::vector<size_t>> needs(proper.size());  // declarations of each group
  for (size_t gi = 0; gi < proper.size(); ++gi) {
    std::vector<const Stmt*> work = {body[proper[gi]].get()};
    for (size_t d = declared.size(); d-- > 0;) {
      const Stmt& s = *body[declared[d].index];
      bool used = false;
      for (const Stmt* w : work)
        used = used || (s.kind == Stmt::Kind::Let
                            ? uses_var(*w, s.var.get())
                            : reads(*w, s.buffer.get()) || writes(*w, s.buffer.get()));
      if (!used) continue;
      needs[gi].push_back(declared[d].index);
      declared[d].users.push_back(gi);
      work.push_back(&s);
    }
  }
  for (const Item& d : declared) {
    const Stmt& s = *body[d.index];
    if (d.users.size() < 2) continue;
    if (s.kind == Stmt::Kind::Alloc)
      return refuse(
          "fission", loop,
          "buffer " + s.buffer->name + " is shared by several statements: expand it first");
    if (s.value->has_load)
      return refuse(
          "fission", loop,
          "the value " + s.var->name + " read from memory is shared by several statements");
  }

  {
    const Region region(*k_, p);
    if (!region.problem.empty()) return refuse("fission", loop, region.problem);
    std::vector<size_t> order;
    for (const Stmt* s : chain)
      for (size_t d : region.dims_of(s)) order.push_back(d);
    std::unordered_map<const Stmt*, size_t> group_of;
    for (size_t gi = 0; gi < proper.size(); ++gi) {
      group_of[body[proper[gi]].get()] = gi;
      for_each_stmt(body[proper[gi]]->body, [&](const Stmt& s) { group_of[&s] = gi; });
      for_each_stmt(body[proper[gi]]->else_body, [&](const Stmt& s) { group_of[&s] = gi; });
      for (size_t d : needs[gi])
        if (body[d]->kind == Stmt::Kind::Let) group_of[body[d].get()] = gi;
    }
    for (const Access& a : region.accesses) {
      for (const Access& b : region.accesses) {
        // b in a later statement, in an earlier iteration than a: would move behind it.
        if ((!a.write && !b.write) || a.storage != b.storage) continue;
        auto ga = group_of.find(a.stmt), gb = group_of.find(b.stmt);
        if (ga == group_of.end() || gb == group_of.end() || ga->second >= gb->second) continue;
        for (size_t n = 0; n < order.size(); ++n) {
          std::vector<Dir> d(region.dims.size(), Dir::Any);
          for (size_t m = 0; m < n; ++m) d[order[m]] = Dir::Equal;
          d[order[n]] = Dir::Greater;
          if (region.may_meet(a, b, d)) return refuse("fission", loop, region.describe(a, b));
        }
      }
    }
  }

  Names names(*k_);
  std::vector<Body> groups(proper.size());
  for (size_t gi = 0; gi < proper.size(); ++gi) {
    std::vector<size_t> ds = needs[gi];
    std::sort(ds.begin(), ds.end());
    for (size_t d : ds) groups[gi].push_back(clone(*body[d]));
    groups[gi].push_back(std::move(body[proper[gi]]));
  }
  std::vector<std::string> result;
  std::vector<StmtPtr> nests;
  for (size_t gi = 0; gi < groups.size(); ++gi) {
    Body b = std::move(groups[gi]);
    for (size_t c = chain.size(); c-- > 0;) {
      StmtPtr s = chain[c]->kind == Stmt::Kind::If
                      ? make_if(chain[c]->cond)
                      : make_for_like(*chain[c], chain[c]->var, chain[c]->begin, chain[c]->extent,
                                      chain[c]->loop_kind);
      s->body = std::move(b);
      b.clear();
      b.push_back(std::move(s));
    }
    if (gi > 0) {
      // Fresh names for the copied loops and declarations; those of the statement itself stay,
      // being only here.
      Substitution vars;
      Stmt* s = b[0].get();
      for (size_t c = 0; c < chain.size(); ++c) {
        if (s->kind == Stmt::Kind::For) {
          const Var v = make_var(names.unique(s->var->name + "_" + std::to_string(gi)));
          vars.emplace_back(s->var, var_ref(v));
          s->var = v;
        }
        if (c + 1 < chain.size()) s = s->body[0].get();
      }
      for (StmtPtr& d : s->body) {
        if (d->kind != Stmt::Kind::Let || d == s->body.back()) continue;
        auto v = std::make_shared<VarDef>(*d->var);
        v->name = names.unique(v->name + "_" + std::to_string(gi));
        vars.emplace_back(d->var, var_ref(v));
        d->var = v;
      }
      substitute(b, vars);
    }
    Stmt* s = b[0].get();
    for (size_t c = 0; c < chain.size(); ++c) {
      if (s->kind == Stmt::Kind::For) result.push_back(s->var->name);
      if (c + 1 < chain.size()) s = s->body[0].get();
    }
    nests.push_back(std::move(b[0]));
  }
  Body& parent = p.body();
  const auto where = parent.begin() + static_cast<std::ptrdiff_t>(p.index());
  parent.erase(where);
  for (size_t n = 0; n < nests.size(); ++n)
    parent.insert(parent.begin() + static_cast<std::ptrdiff_t>(p.index() + n), std::move(nests[n]));
  k_->trace.push_back("fission " + word(loop) + (through.empty() ? "" : " " + word(through)));
  return result;
}

}  // namespace tenfold::loop
