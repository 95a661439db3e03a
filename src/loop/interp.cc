// The interpreter: a kernel is compiled once to a flat list of typed register instructions, then
// run. Registers hold values in storage form, so that an instruction without a fast path calls
// array/prim.h directly. Every index is checked; every read of Stack or Workspace memory must
// follow a write of those bytes.
#include "loop/interp.h"

#include <cstring>
#include <deque>
#include <unordered_map>

#include "loop/const_value.h"
#include "loop/interp_code.h"
#include "loop/intrinsics.h"
#include "loop/walk.h"

namespace tenfold::loop {

namespace {

using namespace interp;
using Kind = ExprNode::Kind;

class Compiler {
 public:
  Compiler(const Kernel& k, Program& p, bool check_order)
      : k_(k), p_(p), check_order_(check_order) {}

  void run() {
    for (const Var& v : k_.symbols) p_.symbol_regs.push_back(define(v));
    for (const Buffer& b : k_.params) {
      BufferState* s = state(b);
      s->param = static_cast<int>(&b - k_.params.data());
      declare(b, exec_bind_param);
    }
    for (const Buffer& b : k_.params) declare_aliases(b);
    body(k_.body);
    emit(exec_end);
  }

  void collect_aliases() {
    std::unordered_set<const ExprNode*> seen;
    std::unordered_set<const BufferDef*> known;
    auto note = [&](const Buffer& b) {
      for (Buffer x = b; x->alias_of; x = x->alias_of)
        if (known.insert(x.get()).second) aliases_[x->alias_of.get()].push_back(x);
    };
    for (const Buffer& b : k_.params) known.insert(b.get());
    for_each_stmt(k_.body, [&](const Stmt& s) {
      if (s.buffer) note(s.buffer);
      for_each_expr(s, [&](const Expr& e) {
        visit_once(e, seen, [&](const Expr& x) {
          if (x->buffer) note(x->buffer);
        });
      });
    });
  }

 private:
  uint32_t reg() {
    p_.regs.emplace_back();
    return static_cast<uint32_t>(p_.regs.size() - 1);
  }
  uint32_t define(const Var& v) {
    const uint32_t r = reg();
    vars_[v.get()] = r;
    p_.var_names.emplace_back(v->name, r);
    return r;
  }
  Insn& emit(Fn fn, uint32_t dst = 0, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) {
    p_.code.push_back(Insn{fn, dst, a, b, c, {nullptr}});
    return p_.code.back();
  }
  size_t here() const { return p_.code.size(); }
  void patch(size_t at, size_t target) {
    p_.code[at].target = static_cast<int64_t>(target) - static_cast<int64_t>(at);
  }
  BufferState* state(const Buffer& b) {
    auto [it, fresh] = buffers_.try_emplace(b.get(), nullptr);
    if (fresh) {
      p_.buffers.emplace_back();
      it->second = &p_.buffers.back();
      it->second->def = b.get();
      it->second->element = byte_size(b->dtype);
    }
    return it->second;
  }
  void declare(const Buffer& b, Fn fn) {
    BufferState* s = state(b);
    for (const Expr& d : b->shape) s->dim_regs.push_back(eval(d));
    memo_.clear();
    emit(fn).ptr = s;
  }
  void declare_aliases(const Buffer& b) {
    auto it = aliases_.find(b.get());
    if (it == aliases_.end()) return;
    for (const Buffer& a : it->second) {
      state(a)->base = state(b);
      state(a)->dim_regs.clear();
      declare(a, exec_bind_alias);
      declare_aliases(a);
    }
  }

  Access* access(const Buffer& b, const std::vector<Expr>& index) {
    std::vector<uint32_t> regs;
    for (const Expr& i : index) regs.push_back(eval(i));
    p_.accesses.push_back(Access{state(b), std::move(regs)});
    return &p_.accesses.back();
  }

  // The register with the value of `e`; equal nodes of one statement are computed once.
  uint32_t eval(const Expr& e) {
    if (e->kind == Kind::Var) return vars_.at(e->var.get());
    if (e->kind == Kind::Const) return constant(e);
    if (auto it = memo_.find(e.get()); it != memo_.end()) return it->second;
    const uint32_t r = compute(e);
    memo_[e.get()] = r;
    if (!undo_.empty()) undo_.back().push_back(e.get());
    return r;
  }

  uint32_t constant(const Expr& e) {
    auto [it, fresh] = constants_.try_emplace(e.get(), 0);
    if (fresh) {
      it->second = reg();
      const_to_bytes(*e, p_.regs[it->second].raw);
    }
    return it->second;
  }

  uint32_t compute(const Expr& e) {
    switch (e->kind) {
      case Kind::Load: {
        Access* a = access(e->buffer, e->args);
        const uint32_t r = reg();
        if (check_order_) emit(exec_note_load).ptr = a;
        emit(load_fn(byte_size(e->dtype), storage_of(e->buffer.get())->scope == Scope::Param), r)
            .ptr = a;
        return r;
      }
      case Kind::Op: {
        uint32_t in[3] = {0, 0, 0};
        for (size_t i = 0; i < e->args.size(); ++i) in[i] = eval(e->args[i]);
        const uint32_t r = reg();
        const DType t = e->args[e->prim == Prim::Select ? 1 : 0]->dtype;
        if (Fn fast = fast_op(e->prim, t)) {
          emit(fast, r, in[0], in[1], in[2]);
        } else {
          emit(exec_apply, r, in[0], in[1], in[2]).target =
              static_cast<int64_t>(e->prim) | static_cast<int64_t>(t) << 8;
        }
        return r;
      }
      case Kind::Cast: {
        const uint32_t a = eval(e->args[0]);
        const uint32_t r = reg();
        if (Fn fast = fast_cast(e->args[0]->dtype, e->dtype)) {
          emit(fast, r, a);
        } else {
          emit(exec_cast, r, a).target =
              static_cast<int64_t>(e->args[0]->dtype) | static_cast<int64_t>(e->dtype) << 8;
        }
        return r;
      }
      case Kind::Bitcast: {
        const uint32_t a = eval(e->args[0]);
        const uint32_t r = reg();
        const bool narrow = bit_width(e->dtype) < 8;
        emit(narrow ? exec_bitcast_narrow : exec_move, r, a).target =
            static_cast<int64_t>(e->dtype);
        return r;
      }
      case Kind::Guard: {
        const uint32_t c = eval(e->args[0]);
        const uint32_t r = reg();
        const size_t branch = here();
        emit(exec_jump_if_not, 0, c);
        emit(exec_move, r, scoped(e->args[1]));
        const size_t skip = here();
        emit(exec_jump);
        patch(branch, here());
        emit(exec_move, r, scoped(e->args[2]));
        patch(skip, here());
        return r;
      }
      case Kind::Const:
      case Kind::Var:
        break;
    }
    return 0;
  }

  // Values computed only on one side of a branch are forgotten after it.
  uint32_t scoped(const Expr& e) {
    undo_.emplace_back();
    const uint32_t r = eval(e);
    for (const ExprNode* n : undo_.back()) memo_.erase(n);
    undo_.pop_back();
    return r;
  }

  uint32_t eval_stmt(const Expr& e) {
    memo_.clear();
    return eval(e);
  }

  void body(const Body& b) {
    for (const StmtPtr& s : b) stmt(*s);
  }

  void stmt(const Stmt& s) {
    memo_.clear();
    switch (s.kind) {
      case Stmt::Kind::For: {
        const uint32_t begin = eval(s.begin), extent = eval(s.extent);
        const uint32_t v = define(s.var), end = reg();
        const bool note = check_order_ && (s.independent || s.loop_kind == LoopKind::Parallel);
        if (note) emit(exec_enter_loop);
        const size_t head = here();
        emit(exec_for_begin, v, begin, extent, end);
        const size_t top = here();
        if (note) emit(exec_next_iteration);
        body(s.body);
        const size_t tail = here();
        emit(exec_for_next, v, end);
        patch(tail, top);
        patch(head, here());
        if (note) emit(exec_leave_loop);
        break;
      }
      case Stmt::Kind::While: {
        const size_t top = here();
        const uint32_t c = eval_stmt(s.cond);
        const size_t exit = here();
        emit(exec_jump_if_not, 0, c);
        body(s.body);
        const size_t back = here();
        emit(exec_jump);
        patch(back, top);
        patch(exit, here());
        break;
      }
      case Stmt::Kind::If: {
        const uint32_t c = eval(s.cond);
        const size_t branch = here();
        emit(exec_jump_if_not, 0, c);
        body(s.body);
        if (s.else_body.empty()) {
          patch(branch, here());
        } else {
          const size_t skip = here();
          emit(exec_jump);
          patch(branch, here());
          body(s.else_body);
          patch(skip, here());
        }
        break;
      }
      case Stmt::Kind::Let: {
        const uint32_t r = eval(s.value);
        const uint32_t v = define(s.var);
        emit(exec_move, v, r);
        break;
      }
      case Stmt::Kind::Alloc:
        if (s.buffer->alias_of) break;  // bound with its base
        declare(s.buffer, exec_alloc);
        declare_aliases(s.buffer);
        break;
      case Stmt::Kind::Store: {
        const uint32_t v = eval(s.value);
        Access* a = access(s.buffer, s.index);
        if (check_order_) emit(exec_note_store).ptr = a;
        emit(
            store_fn(byte_size(s.buffer->dtype), storage_of(s.buffer.get())->scope == Scope::Param),
            0, v)
            .ptr = a;
        break;
      }
      case Stmt::Kind::Intrinsic: {
        const Intrinsic* in = find_intrinsic(s.name);
        if (!in || !in->reference) break;  // prefetch and the like have no effect on values
        p_.bodies.push_back(in->reference(s.args));
        body(p_.bodies.back());
        break;
      }
    }
  }

  const Kernel& k_;
  Program& p_;
  const bool check_order_;
  std::unordered_map<const VarDef*, uint32_t> vars_;
  std::unordered_map<const BufferDef*, BufferState*> buffers_;
  std::unordered_map<const BufferDef*, std::vector<Buffer>> aliases_;
  std::unordered_map<const ExprNode*, uint32_t> memo_, constants_;
  std::vector<std::vector<const ExprNode*>> undo_;
};

Error fail(const Kernel& k, std::string message) {
  return Error{"loop-interpret", "kernel '" + k.name + "': " + std::move(message), {}, {}};
}

}  // namespace

Status interpret(const Kernel& k, std::vector<Literal*> buffers,
                 const std::vector<int64_t>& symbols, const InterpretOptions& options) {
  TF_TRY(verify(k));
  if (buffers.size() != k.params.size())
    return fail(k, "got " + std::to_string(buffers.size()) + " buffers for " +
                       std::to_string(k.params.size()) + " parameters");
  if (symbols.size() != k.symbols.size())
    return fail(k, "got " + std::to_string(symbols.size()) + " symbol values for " +
                       std::to_string(k.symbols.size()) + " symbols");
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i] < k.symbols[i]->min || symbols[i] > k.symbols[i]->max)
      return fail(k, "symbol " + k.symbols[i]->name + " = " + std::to_string(symbols[i]) +
                         " is out of its bounds");
  Program p;
  Compiler c(k, p, options.check_independence);
  c.collect_aliases();
  c.run();
  for (size_t i = 0; i < symbols.size(); ++i) p.regs[p.symbol_regs[i]].i = symbols[i];
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool written = i < k.param_written.size() && k.param_written[i];
    p.params.push_back({buffers[i], written});
  }
  std::string error = execute(p);
  if (!error.empty()) return fail(k, std::move(error));
  return ok_status();
}

}  // namespace tenfold::loop
