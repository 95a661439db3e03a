// Well-formedness of kernels: what every pass, backend and the interpreter may rely on.
//   names unique among variables and among buffers; variables and buffers used only where they are
//   visible; ranks, index and value types; a written Param is declared so; Stack shapes constant;
//   Parallel loops at top level; Vectorized and Unrolled loops of constant extent.
#include <unordered_map>

#include "loop/intrinsics.h"
#include "loop/text.h"
#include "loop/walk.h"

namespace tenfold::loop {

namespace {

using Kind = ExprNode::Kind;
constexpr size_t kMaxErrors = 20;

class Verifier {
 public:
  explicit Verifier(const Kernel& k) : k_(k) {}

  Status run() {
    if (k_.param_written.size() != k_.params.size())
      fail("param_written has " + std::to_string(k_.param_written.size()) + " entries for " +
           std::to_string(k_.params.size()) + " parameters");
    for (const Var& v : k_.symbols) {
      define(v);
      if (v->dtype != DType::I64) fail("symbol " + v->name + " is not i64");
    }
    for (size_t i = 0; i < k_.params.size(); ++i) {
      const BufferDef& b = *k_.params[i];
      declare(b);
      if (b.scope != Scope::Param) fail("parameter " + b.name + " is not of scope param");
      written_[&b] = i < k_.param_written.size() && k_.param_written[i];
    }
    body(k_.body, true);
    if (errors_.empty()) return ok_status();
    return std::move(errors_);
  }

 private:
  void fail(std::string m) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({"loop-verify", "kernel '" + k_.name + "': " + std::move(m), {}, {}});
  }

  void define(const Var& v) {
    if (!var_names_.insert(v->name).second) fail("two variables named " + v->name);
    visible_vars_.insert(v.get());
    checked_.clear();
  }
  void declare(const BufferDef& b) {
    if (!buffer_names_.insert(b.name).second) fail("two buffers named " + b.name);
    visible_buffers_.insert(&b);
    known_.insert(&b);
    for (const Expr& d : b.shape) {
      expr(d);
      if (d && d->dtype != DType::I64) fail("a dimension of buffer " + b.name + " is not i64");
      if (b.scope == Scope::Stack && d && !is_const(d))
        fail("the stack buffer " + b.name + " has a shape that is not constant");
    }
  }

  // A buffer in use: itself visible, or an alias of one that is.
  void use(const Buffer& b) {
    const BufferDef* s = b.get();
    while (!visible_buffers_.count(s) && s->alias_of) s = s->alias_of.get();
    if (!visible_buffers_.count(s)) fail("buffer " + b->name + " is used where it is not visible");
    if (b->alias_of && known_.insert(b.get()).second && !buffer_names_.insert(b->name).second)
      fail("two buffers named " + b->name);
  }

  void expr(const Expr& e) {
    if (!e) return fail("an expression is missing");
    visit_once(e, checked_, [&](const Expr& x) { node(*x); });
  }

  void node(const ExprNode& e) {
    switch (e.kind) {
      case Kind::Const:
        break;
      case Kind::Var:
        if (!visible_vars_.count(e.var.get()))
          fail("variable " + e.var->name + " is used where it is not visible");
        break;
      case Kind::Load:
        use(e.buffer);
        index(*e.buffer, e.args);
        if (e.dtype != e.buffer->dtype) fail("a load of " + e.buffer->name + " has another type");
        break;
      case Kind::Op: {
        const std::string n(tenfold::name(e.prim));
        if (static_cast<int>(e.args.size()) != arity(e.prim)) return fail(n + ": operand count");
        const bool select = e.prim == Prim::Select;
        const DType t = e.args[select ? 1 : 0]->dtype;
        if (select && e.args[0]->dtype != DType::Bool) fail("select: condition is not i1");
        for (size_t i = select ? 1 : 0; i < e.args.size(); ++i)
          if (e.args[i]->dtype != t) fail(n + ": operands of different types");
        if (!supports(e.prim, t))
          fail(n + " is not defined on " + std::string(tenfold::name(t)));
        else if (result_dtype(e.prim, t) != e.dtype)
          fail(n + ": result type");
        break;
      }
      case Kind::Cast:
      case Kind::Bitcast:
        if (e.args.size() != 1) return fail("a cast takes one operand");
        if (e.kind == Kind::Bitcast && bit_width(e.args[0]->dtype) != bit_width(e.dtype))
          fail("a bitcast changes the width");
        break;
      case Kind::Guard:
        if (e.args.size() != 3 || e.args[0]->dtype != DType::Bool || e.args[1]->dtype != e.dtype ||
            e.args[2]->dtype != e.dtype)
          fail("guard: operand types");
        break;
    }
  }

  void index(const BufferDef& b, const std::vector<Expr>& ix) {
    if (ix.size() != b.shape.size())
      fail("buffer " + b.name + " of rank " + std::to_string(b.shape.size()) + " is indexed with " +
           std::to_string(ix.size()) + " values");
    for (const Expr& i : ix)
      if (i && i->dtype != DType::I64) fail("an index of buffer " + b.name + " is not i64");
  }

  void typed(const Expr& e, DType t, const std::string& what) {
    expr(e);
    if (e && e->dtype != t) fail(what + " is of type " + std::string(tenfold::name(e->dtype)));
  }

  void body(const Body& b, bool top) {
    std::vector<const VarDef*> vars;
    std::vector<const BufferDef*> buffers;
    for (const StmtPtr& s : b) stmt(*s, top, vars, buffers);
    for (const VarDef* v : vars) visible_vars_.erase(v);
    for (const BufferDef* x : buffers) visible_buffers_.erase(x);
    if (!vars.empty() || !buffers.empty()) checked_.clear();
  }

  void stmt(const Stmt& s, bool top, std::vector<const VarDef*>& vars,
            std::vector<const BufferDef*>& buffers) {
    switch (s.kind) {
      case Stmt::Kind::For: {
        if (!s.var) return fail("a loop lacks its variable");
        const std::string what = "loop " + s.var->name;
        typed(s.begin, DType::I64, what + ": begin");
        typed(s.extent, DType::I64, what + ": extent");
        if (s.var->dtype != DType::I64) fail(what + ": variable is not i64");
        if (s.loop_kind == LoopKind::Parallel && !top) fail(what + " is parallel below top level");
        if ((s.loop_kind == LoopKind::Vectorized || s.loop_kind == LoopKind::Unrolled) &&
            s.extent && !is_const(s.extent))
          fail(what + " is " + std::string(name(s.loop_kind)) + " but its extent not constant");
        define(s.var);
        body(s.body, false);
        visible_vars_.erase(s.var.get());
        checked_.clear();
        break;
      }
      case Stmt::Kind::While:
        typed(s.cond, DType::Bool, "a while condition");
        body(s.body, false);
        break;
      case Stmt::Kind::If:
        typed(s.cond, DType::Bool, "an if condition");
        body(s.body, false);
        body(s.else_body, false);
        break;
      case Stmt::Kind::Let:
        if (!s.var) return fail("a let lacks its variable");
        typed(s.value, s.var->dtype, "let " + s.var->name);
        define(s.var);
        vars.push_back(s.var.get());
        break;
      case Stmt::Kind::Alloc:
        if (!s.buffer) return fail("an alloc lacks its buffer");
        if (s.buffer->scope == Scope::Param)
          fail("buffer " + s.buffer->name + " is allocated with scope param");
        if (s.buffer->alias_of) use(s.buffer->alias_of);
        declare(*s.buffer);
        buffers.push_back(s.buffer.get());
        break;
      case Stmt::Kind::Store: {
        if (!s.buffer) return fail("a store lacks its buffer");
        use(s.buffer);
        for (const Expr& i : s.index) expr(i);
        index(*s.buffer, s.index);
        typed(s.value, s.buffer->dtype, "a store to " + s.buffer->name);
        auto it = written_.find(storage_of(s.buffer.get()));
        if (it != written_.end() && !it->second)
          fail("parameter " + it->first->name + " is stored to but not declared written");
        break;
      }
      case Stmt::Kind::Intrinsic: {
        for (const Expr& a : s.args) expr(a);
        const Intrinsic* in = find_intrinsic(s.name);
        if (!in)
          fail("unknown intrinsic " + s.name);
        else if (in->reference && in->reference(s.args).empty())
          fail("the arguments of " + s.name + " do not fit it");
        break;
      }
    }
  }

  const Kernel& k_;
  Errors errors_;
  std::unordered_set<std::string> var_names_, buffer_names_;
  std::unordered_set<const VarDef*> visible_vars_;
  std::unordered_set<const BufferDef*> visible_buffers_, known_;
  std::unordered_set<const ExprNode*> checked_;  // nodes known to be right in this scope
  std::unordered_map<const BufferDef*, bool> written_;
};

}  // namespace

Status verify(const Kernel& k) { return Verifier(k).run(); }

}  // namespace tenfold::loop
