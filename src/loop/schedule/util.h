// What the schedule primitives share: finding statements, fresh names, copies with new names,
// the facts that hold at a place. Internal to loop/schedule.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loop/rules/algebra.h"
#include "loop/schedule.h"
#include "loop/walk.h"

namespace tenfold::loop::sched {

// A statement by the bodies that lead to it, outermost first.
struct Place {
  struct Step {
    Body* body;
    size_t index;
    Stmt* stmt() const { return (*body)[index].get(); }
  };
  std::vector<Step> path;
  Stmt* stmt() const { return path.back().stmt(); }
  Body& body() const { return *path.back().body; }
  size_t index() const { return path.back().index; }
  bool top() const { return path.size() == 1; }
};

bool find_stmt(Body& b, const std::function<bool(const Stmt&)>& is, Place* out);
Result<Place> find_loop(Kernel& k, const char* primitive, const std::string& name);
Result<Place> find_alloc(Kernel& k, const char* primitive, const std::string& buffer);
// A parameter, allocated buffer or alias in use, by name.
Buffer find_buffer(const Kernel& k, const std::string& name);

Error refuse(const char* primitive, const std::string& subject, const std::string& reason);

// Names not used in the kernel.
class Names {
 public:
  explicit Names(const Kernel& k);
  std::string unique(const std::string& stem);

 private:
  std::unordered_set<std::string> used_;
};

// Binds the kernel's symbols and everything that encloses `p`: loops, lets, branch conditions.
void bind_scope(Algebra& g, const Kernel& k, const Place& p);
// Binds one statement met on the way down (For, Let).
void bind_stmt(Algebra& g, const Stmt& s);

// Gives every variable and buffer declared in `b` a fresh object and name.
void rename(Body& b, Names& names, const std::string& suffix);

// Every access of a storage is rewritten: loads by `load`, stores' indices by `index`.
void rewrite_accesses(Body& b, const BufferDef* buffer,
                      const std::function<Expr(const std::vector<Expr>&)>& load_at,
                      const std::function<void(Stmt&)>& store_at);

bool mentions_buffer(const Expr& e, const BufferDef* storage);
bool reads(const Stmt& s, const BufferDef* storage);  // anywhere inside
bool writes(const Stmt& s, const BufferDef* storage);
bool has_intrinsic_on(const Stmt& s, const BufferDef* storage);
bool uses_var(const Stmt& s, const VarDef* v);

StmtPtr make_for(Var v, Expr begin, Expr extent, LoopKind kind = LoopKind::Serial);
// A loop like `s` in everything but its bounds and body.
StmtPtr make_for_like(const Stmt& s, Var v, Expr begin, Expr extent, LoopKind kind);
inline bool independent(const Stmt& s) {
  return s.independent || s.loop_kind == LoopKind::Parallel;
}
StmtPtr make_if(Expr cond);
StmtPtr make_store(Buffer b, std::vector<Expr> index, Expr value);
StmtPtr make_alloc(Buffer b);
Var make_var(std::string name);

// The chain of loops and else-less branches from `first` while each holds exactly one statement.
// Stops after `last` when given.
std::vector<Stmt*> perfect_chain(Stmt* first, const Stmt* last = nullptr);

std::string join(const std::vector<std::string>& v);
// One word of a trace line, quoted where needed.
std::string word(const std::string& s);

}  // namespace tenfold::loop::sched
