// reorder: permutes perfectly nested loops. Branches between them move to the innermost place.
#include "loop/schedule/dependence.h"

namespace tenfold::loop {

using namespace sched;

namespace {

// Sign of a direction vector read in the given order of dimensions.
int sign(const std::vector<Dir>& d, const std::vector<size_t>& order) {
  for (size_t l : order) {
    if (d[l] == Dir::Less) return 1;
    if (d[l] == Dir::Greater) return -1;
  }
  return 0;
}

struct Legality {
  const Region& region;
  const std::vector<size_t>& before;
  const std::vector<size_t>& after;

  // A pair whose order of execution would change, or null.
  std::string run() {
    const auto& acc = region.accesses;
    for (size_t i = 0; i < acc.size(); ++i)
      for (size_t j = i; j < acc.size(); ++j) {
        if ((!acc[i].write && !acc[j].write) || acc[i].storage != acc[j].storage) continue;
        if (violates(acc[i], acc[j])) return region.describe(acc[i], acc[j]);
      }
    return {};
  }

  bool violates(const Access& a, const Access& b) {
    std::vector<Dir> d(region.dims.size(), Dir::Any);
    // Directions that some dimension alone rules out.
    std::vector<std::vector<Dir>> open;
    for (size_t l : before) {
      open.emplace_back();
      for (Dir x : {Dir::Less, Dir::Equal, Dir::Greater}) {
        d[l] = x;
        if (region.may_meet(a, b, d)) open.back().push_back(x);
      }
      d[l] = Dir::Any;
      if (open.back().empty()) return false;
    }
    return search(a, b, d, open, 0);
  }

  bool search(const Access& a, const Access& b, std::vector<Dir>& d,
              const std::vector<std::vector<Dir>>& open, size_t n) {
    if (n == before.size()) return sign(d, before) * sign(d, after) < 0 && region.may_meet(a, b, d);
    for (Dir x : open[n]) {
      d[before[n]] = x;
      if (search(a, b, d, open, n + 1)) return true;
    }
    d[before[n]] = Dir::Any;
    return false;
  }
};

}  // namespace

Status Schedule::reorder(const std::vector<std::string>& loops) {
  const std::string all = join(loops);
  if (loops.size() < 2) return refuse("reorder", all, "it takes two loops or more");
  std::unordered_set<std::string> wanted(loops.begin(), loops.end());
  if (wanted.size() != loops.size()) return refuse("reorder", all, "a loop is named twice");
  // The outermost of them, then the chain down to the innermost.
  Place p;
  if (!find_stmt(
          k_->body,
          [&](const Stmt& s) { return s.kind == Stmt::Kind::For && wanted.count(s.var->name); },
          &p))
    return refuse("reorder", all, "the kernel has no such loop");
  std::vector<Stmt*> chain = perfect_chain(p.stmt());
  size_t found = 0, last = 0;
  for (size_t i = 0; i < chain.size(); ++i)
    if (chain[i]->kind == Stmt::Kind::For && wanted.count(chain[i]->var->name)) {
      ++found;
      last = i;
    }
  if (found != loops.size()) {
    for (const std::string& l : loops) TF_TRY(find_loop(*k_, "reorder", l));
    return refuse("reorder", all, "the loops are not perfectly nested");
  }
  chain.resize(last + 1);

  std::vector<Stmt*> old_loops, new_loops, branches;
  std::unordered_map<std::string, Stmt*> by_name;
  for (Stmt* s : chain) {
    if (s->kind == Stmt::Kind::If) {
      if (s->cond->has_load && last > 0)
        return refuse("reorder", all, "a branch between the loops reads memory");
      branches.push_back(s);
    } else {
      old_loops.push_back(s);
      by_name[s->var->name] = s;
    }
  }
  size_t next = 0;
  for (Stmt* s : old_loops)
    new_loops.push_back(wanted.count(s->var->name) ? by_name[loops[next++]] : s);
  // Bounds may use only what is outside.
  for (size_t i = 0; i < new_loops.size(); ++i) {
    if (new_loops[i]->begin->has_load || new_loops[i]->extent->has_load)
      return refuse("reorder", all, "the bounds of " + new_loops[i]->var->name + " read memory");
    for (size_t j = i; j < new_loops.size(); ++j)
      if (uses(new_loops[i]->begin, new_loops[j]->var.get()) ||
          uses(new_loops[i]->extent, new_loops[j]->var.get()))
        return refuse(
            "reorder", all,
            "the bounds of " + new_loops[i]->var->name + " depend on " + new_loops[j]->var->name);
  }
  const bool all_independent = std::all_of(old_loops.begin(), old_loops.end(),
                                           [](const Stmt* s) { return independent(*s); });
  if (!all_independent) {
    const Region region(*k_, p);
    if (!region.problem.empty()) return refuse("reorder", all, region.problem);
    std::vector<size_t> before, after;
    for (const Stmt* s : old_loops)
      for (size_t d : region.dims_of(s)) before.push_back(d);
    for (const Stmt* s : new_loops)
      for (size_t d : region.dims_of(s)) after.push_back(d);
    if (const std::string why = Legality{region, before, after}.run(); !why.empty())
      return refuse("reorder", all, why);
  }

  // Rebuild the headers in the new order around the innermost body.
  struct Header {
    Var var;
    Expr begin, extent;
    LoopKind kind;
    bool independent;
  };
  std::vector<Header> headers;
  for (Stmt* s : new_loops) {
    // A parallel loop runs at top level only; moved inwards it is a plain one again.
    const bool sunk = s->loop_kind == LoopKind::Parallel && s != new_loops[0];
    headers.push_back(
        {s->var, s->begin, s->extent, sunk ? LoopKind::Serial : s->loop_kind, independent(*s)});
  }
  std::vector<Expr> conds;
  for (Stmt* s : branches) conds.push_back(s->cond);
  Body inner = std::move(chain.back()->body);
  for (size_t i = conds.size(); i-- > 0;) {
    StmtPtr c = make_if(conds[i]);
    c->body = std::move(inner);
    inner.clear();
    inner.push_back(std::move(c));
  }
  for (size_t i = headers.size(); i-- > 0;) {
    StmtPtr f = make_for(headers[i].var, headers[i].begin, headers[i].extent, headers[i].kind);
    f->independent = headers[i].independent;
    f->body = std::move(inner);
    inner.clear();
    inner.push_back(std::move(f));
  }
  p.body()[p.index()] = std::move(inner[0]);
  k_->trace.push_back("reorder " + all);
  return ok_status();
}

}  // namespace tenfold::loop
