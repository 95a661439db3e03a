// See emit_kernel.h. One class is both contexts: `element` asks it for operand elements, `emit` for
// loops, buffers and stores. Values computed outside the group are loaded from parameters; members
// are expanded in place.
#include "passes/lower/emit_kernel.h"

#include <algorithm>
#include <map>

namespace tenfold {
namespace {

using loop::Expr;
using Index = std::vector<Expr>;

class KernelEmitter final : public EmitContext {
 public:
  KernelEmitter(const Group& g, EmittedKernel& out, int in_place_operand)
      : group_(g), out_(out), builder_(&out.kernel), in_place_operand_(in_place_operand) {
    b = &builder_;
  }

  Status run() {
    const Op& root = *group_.root;
    for (int i = 0; i < root.num_results(); ++i) param(root.result(i), true);
    if (group_.hero) {
      op = group_.hero;
      TF_TRY(group_.hero->def->emit(*this));
    } else {
      const TensorType& t = root.result()->type;
      std::vector<Expr> shape;
      for (const auto& d : t.shape) shape.push_back(dim(d));
      builder_.nest("i", shape, [&](const Index& i) {
        builder_.store(buffer_of(root.result()), i, compute(root, i));
      });
    }
    return ok_status();
  }

  // --- EmitContext
  Expr dim(const Dim& d) override {
    std::vector<SymbolRef> used;
    d.collect_symbols(used);
    for (const auto& s : used) {
      bool known = std::any_of(out_.symbols.begin(), out_.symbols.end(),
                               [&](const SymbolRef& k) { return k->name == s->name; });
      if (known) continue;
      auto v = std::make_shared<loop::VarDef>();
      v->name = s->name;
      v->min = s->min;
      v->max = s->max;
      out_.kernel.symbols.push_back(std::move(v));
      out_.symbols.push_back(s);
    }
    return loop::from_dim(d, out_.kernel.symbols);
  }
  Expr operand(int i, const Index& index) override { return element(op->operand(i), index); }
  loop::Buffer operand_buffer(int i) override { return param(op->operand(i), false); }
  loop::Buffer result_buffer(int i) override { return param(op->result(i), true); }
  bool in_place() const override { return in_place_operand_ >= 0; }

  void store(int result, const Index& index, Expr value) override {
    const Op* hero = group_.hero;
    if (group_.epilogue.empty()) {
      builder_.store(param(hero->result(result), true), index, std::move(value));
      return;
    }
    at_.clear();
    at_[hero->result()] = {builder_.let("v", std::move(value)), index};
    for (const Op* e : group_.epilogue) {
      const Placed* from = nullptr;
      for (const Value* v : e->operands())
        if (auto it = at_.find(v); it != at_.end()) from = &it->second;
      TF_CHECK(from, "an epilogue op does not follow the hero: " + e->name());
      Placed p;
      if (e->def->forward) {
        View view(*this, e);
        p = {from->value, e->def->forward(view, from->index)};
      } else {
        p.index = from->index;
        p.value = compute(*e, p.index);
        if (e->result()->users().size() > 1) p.value = builder_.let("v", p.value);
      }
      at_[e->result()] = std::move(p);
    }
    const Placed& last = at_.at(group_.root->result());
    builder_.store(param(group_.root->result(), true), last.index, last.value);
    at_.clear();
  }

  std::vector<Expr> inline_region(const Block& region, const std::vector<Expr>& args) override {
    Env env;
    for (size_t i = 0; i < args.size(); ++i) env[region.args[i].get()] = args[i];
    env_.push_back(&env);
    for (auto& o : region.ops) {
      if (o->def->kind == OpKind::Terminator) break;
      Expr e = compute(*o, {});
      if (o->result()->users().size() > 1 && guard_depth_ == 0) e = builder_.let("r", e);
      env[o->result()] = e;
    }
    std::vector<Expr> out;
    for (const Value* v : region.results()) out.push_back(element(v, {}));
    env_.pop_back();
    return out;
  }

 private:
  struct Placed {
    Expr value;
    Index index;
  };
  using Env = std::unordered_map<const Value*, Expr>;

  // The ElementContext of one member.
  class View final : public ElementContext {
   public:
    View(KernelEmitter& e, const Op* o) : emitter_(e) { op = o; }
    Expr operand(int i, const Index& index) override {
      return emitter_.element(op->operand(i), index);
    }
    Expr dim(const Dim& d) override { return emitter_.dim(d); }

   private:
    KernelEmitter& emitter_;
  };

  loop::Buffer buffer_of(const Value* v) { return param(v, false); }

  loop::Buffer param(const Value* v, bool written) {
    auto it = params_.find(v);
    if (it == params_.end()) {
      const Op& root = *group_.root;
      if (in_place_operand_ >= 0 && v == root.operand(in_place_operand_))
        return param(root.result(), true);
      auto d = std::make_shared<loop::BufferDef>();
      std::string stem = written ? "out" : "in";
      d->name = stem + std::to_string(out_.params.size());
      d->dtype = v->type.dtype;
      d->alignment = byte_size(d->dtype);  // callers bring memory of their own
      for (const auto& x : v->type.shape) d->shape.push_back(dim(x));
      out_.kernel.params.push_back(d);
      out_.kernel.param_written.push_back(written);
      out_.params.push_back(v);
      it = params_.emplace(v, Param{d, out_.params.size() - 1}).first;
    }
    if (written) out_.kernel.param_written[it->second.position] = true;
    return it->second.buffer;
  }

  // Element of `v` at `index`: already placed by the epilogue, a region's local, an immediate, a
  // member's own expression, or a load.
  Expr element(const Value* v, const Index& index) {
    if (auto it = at_.find(v); it != at_.end()) return it->second.value;
    for (auto e = env_.rbegin(); e != env_.rend(); ++e)
      if (auto it = (*e)->find(v); it != (*e)->end()) return it->second;
    const Op* d = v->def();
    if (d && is_immediate(*d)) return immediate(d->lit("value"));
    if (!d || !group_.members.count(d) || d == group_.hero) return loop::load(buffer_of(v), index);
    // A view costs index arithmetic only, and heroes want to see the load itself.
    bool shared = v->users().size() > 1 && guard_depth_ == 0 && d->def->kind != OpKind::View &&
                  !is_widening(*d);
    if (!shared) return compute(*d, index);
    Memo key{v, &builder_.current(), index};
    for (auto& [k, e] : memo_)
      if (k.same(key)) return e;
    Expr e = compute(*d, index);
    if (e->kind != loop::ExprNode::Kind::Const && e->kind != loop::ExprNode::Kind::Var)
      e = builder_.let("t", e);
    memo_.emplace_back(std::move(key), e);
    if (memo_.size() > 64) memo_.erase(memo_.begin());
    return e;
  }

  Expr compute(const Op& o, const Index& index) {
    if (o.def->prim) {
      std::vector<Expr> args;
      for (const Value* v : o.operands()) args.push_back(element(v, index));
      return loop::op(*o.def->prim, std::move(args));
    }
    TF_CHECK(o.def->element, "no element expression for " + o.name());
    View view(*this, &o);
    guard_depth_ += o.def->guards_operands;
    Expr e = o.def->element(view, index);
    guard_depth_ -= o.def->guards_operands;
    return e;
  }

  static Expr immediate(const Literal& l) {
    DType t = l.dtype();
    if (is_complex(t)) return loop::complex_const(l.as_c128(0).real(), l.as_c128(0).imag(), t);
    if (is_float(t)) return loop::float_const(l.as_f64(0), t);
    return loop::int_const(l.as_i64(0), t);
  }

  struct Param {
    loop::Buffer buffer;
    size_t position;
  };
  struct Memo {
    const Value* value;
    const void* scope;
    Index index;
    bool same(const Memo& o) const {
      return value == o.value && scope == o.scope && index == o.index;
    }
  };

  const Group& group_;
  EmittedKernel& out_;
  loop::Builder builder_;
  int in_place_operand_;
  std::unordered_map<const Value*, Param> params_;
  std::unordered_map<const Value*, Placed> at_;
  std::vector<const Env*> env_;
  std::vector<std::pair<Memo, Expr>> memo_;
  int guard_depth_ = 0;
};

void collect_origins(const Group& g, std::vector<std::string>& out) {
  std::vector<const Op*> ops(g.members.begin(), g.members.end());
  for (const Op* o : ops)
    for (const auto& n : o->origins)
      if (std::find(out.begin(), out.end(), n) == out.end()) out.push_back(n);
  std::sort(out.begin(), out.end());
}

}  // namespace

Result<EmittedKernel> emit_kernel(const Group& g, std::string name, int in_place_operand) {
  EmittedKernel out;
  out.kernel.name = std::move(name);
  out.in_place = in_place_operand;
  TF_TRY(KernelEmitter(g, out, in_place_operand).run());
  collect_origins(g, out.kernel.origins);
  return out;
}

}  // namespace tenfold
