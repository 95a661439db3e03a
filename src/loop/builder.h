// Writes loop nests. Names are made unique per kernel.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "loop/ir.h"

namespace tenfold::loop {

class Builder {
 public:
  explicit Builder(Kernel* k) : kernel_(k), stack_{&k->body} {}
  Kernel* kernel() const { return kernel_; }

  // for (var = 0; var < extent; ++var) f(var)
  void for_(std::string_view name, Expr extent, const std::function<void(Expr)>& f,
            LoopKind kind = LoopKind::Serial);
  void for_range(std::string_view name, Expr begin, Expr extent, const std::function<void(Expr)>& f,
                 LoopKind kind = LoopKind::Serial);
  // Perfect nest over `shape`, whose iterations the caller promises to be independent; the
  // outermost loop is Parallel when at_top and rank > 0.
  void nest(std::string_view stem, const std::vector<Expr>& shape,
            const std::function<void(const std::vector<Expr>&)>& f);
  void while_(Expr cond, const std::function<void()>& f);
  void if_(Expr cond, const std::function<void()>& then_body,
           const std::function<void()>& else_body = nullptr);
  Expr let(std::string_view name, Expr value);
  Buffer alloc(std::string_view name, DType t, std::vector<Expr> shape, Scope scope = Scope::Stack);
  // Rank-0 Stack cell with an initial value.
  Buffer cell(std::string_view name, Expr init);
  void store(const Buffer& b, std::vector<Expr> index, Expr value);
  void set(const Buffer& cell, Expr value) { store(cell, {}, std::move(value)); }
  Expr get(const Buffer& cell) { return load(cell, {}); }
  const Body& current() const { return *stack_.back(); }  // the insertion point's Body
  bool at_top() const { return stack_.size() == 1; }
  std::string unique(std::string_view stem);

 private:
  Kernel* kernel_;
  std::vector<Body*> stack_;
  std::unordered_set<std::string> used_;  // every name of the kernel; filled at first use
  std::unordered_map<std::string, int> next_;
  bool scanned_ = false;
  Stmt* push(Stmt::Kind k);
};

}  // namespace tenfold::loop
