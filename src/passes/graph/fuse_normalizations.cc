// The decomposed forms of row normalisations become the ops that do them in one kernel:
//
//   layer norm   d = x - mean(x)      y = d / sqrt(mean(d^2) + eps)  [* scale] [+ bias]
//   rms norm                          y = x / sqrt(mean(x^2) + eps)  [* scale]
//   softmax      e = exp(x [- max])   y = e / sum(e)                 also log: d - log(sum(exp(d)))
//
// with every way exporters write a square (x*x, pow(x, 2)), a root (sqrt, pow(x, 0.5), rsqrt,
// 1/sqrt) and a mean (sum / n, sum * 1/n). `mean`, `max` and `sum` are along the same dimensions of
// the same value; anything else in their place is left alone.
#include <algorithm>
#include <cmath>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

using Dims = std::vector<int64_t>;

bool is_number(const Value* v, double want) {
  const auto s = splat_of(v);
  return s && std::abs(*s - want) <= 1e-6 * std::abs(want);
}

// Reads values that are constant along `dims` of a tensor: with those dimensions left out, of size
// 1, or spread.
class Rows {
 public:
  Rows(const Shape& shape, Dims dims) : shape_(shape), dims_(std::move(dims)) {
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
      if (!std::count(dims_.begin(), dims_.end(), i)) kept_.push_back(i);
  }

  // Without the views that only spread it.
  Value* root(Value* v) const {
    while (Op* d = v->def()) {
      if (d->is("stablehlo.broadcast_in_dim")) {
        const Dims& to = d->i64s("broadcast_dimensions");
        const Shape& from = d->operand()->type.shape;
        if (v->type.shape.size() != shape_.size()) return v;
        if (!(to == kept_ && leaves_out(from)) && !(to == identity() && is_thin(from))) return v;
      } else if (d->is("stablehlo.reshape")) {
        const Shape &a = d->operand()->type.shape, &b = v->type.shape;
        if (!(leaves_out(a) && is_thin(b)) && !(is_thin(a) && leaves_out(b))) return v;
      } else {
        return v;
      }
      v = d->operand();
    }
    return v;
  }

  // x when v is the reduction of x by `p` along these dimensions.
  Value* reduced(Value* v, Prim p) const {
    Op* r = def_of(root(v), "stablehlo.reduce");
    if (!r || r->num_operands() != 2 || sorted(r->i64s("dimensions")) != dims_) return nullptr;
    const Block& body = *r->region();
    if (body.ops.size() != 2 || body.ops.front()->def->prim != p) return nullptr;
    const auto init = splat_of(r->operand(1));
    const double want = p == Prim::Max ? -HUGE_VAL : 0;
    return init && *init == want && r->operand(0)->type.shape.size() == shape_.size()
               ? r->operand(0)
               : nullptr;
  }

  // x when v is mean(x).
  Value* mean(Value* v) const {
    double n = 1;
    for (int64_t d : dims_) {
      const auto c = shape_[static_cast<size_t>(d)].constant();
      if (!c) return nullptr;
      n *= static_cast<double>(*c);
    }
    v = root(v);
    if (Op* div = prim_of(v, Prim::Div); div && is_number(div->operand(1), n))
      return reduced(div->operand(0), Prim::Add);
    if (Op* mul = prim_of(v, Prim::Mul))
      for (int i : {0, 1})
        if (is_number(mul->operand(i), 1 / n)) return reduced(mul->operand(1 - i), Prim::Add);
    return nullptr;
  }

  static Dims sorted(Dims d) {
    std::sort(d.begin(), d.end());
    return d;
  }

 private:
  Dims identity() const {
    Dims d;
    for (size_t i = 0; i < shape_.size(); ++i) d.push_back(static_cast<int64_t>(i));
    return d;
  }
  bool leaves_out(const Shape& s) const {
    if (s.size() != kept_.size()) return false;
    for (size_t i = 0; i < s.size(); ++i)
      if (!(s[i] == shape_[static_cast<size_t>(kept_[i])])) return false;
    return true;
  }
  bool is_thin(const Shape& s) const {
    if (s.size() != shape_.size()) return false;
    for (size_t i = 0; i < s.size(); ++i) {
      const bool gone = std::count(dims_.begin(), dims_.end(), static_cast<int64_t>(i)) > 0;
      if (!(s[i] == (gone ? Dim(1) : shape_[i]))) return false;
    }
    return true;
  }

  const Shape& shape_;
  Dims dims_, kept_;
};

// x when v is x * x or pow(x, 2).
Value* squared(Value* v) {
  if (Op* mul = prim_of(v, Prim::Mul))
    return mul->operand(0) == mul->operand(1) ? mul->operand() : nullptr;
  Op* pow = prim_of(v, Prim::Pow);
  return pow && splat_of(pow->operand(1)) == 2.0 ? pow->operand() : nullptr;
}

// The dimensions of the first reduction that v is made of by row arithmetic.
std::optional<Dims> reduced_dims(const Value* v, int depth = 8) {
  const Op* d = v->def();
  if (!d || depth == 0) return std::nullopt;
  if (d->is("stablehlo.reduce")) return Rows::sorted(d->i64s("dimensions"));
  const bool view = d->is("stablehlo.broadcast_in_dim") || d->is("stablehlo.reshape");
  if (!view && !d->def->prim) return std::nullopt;
  for (const Value* o : d->operands())
    if (auto r = reduced_dims(o, depth - 1)) return r;
  return std::nullopt;
}

// eps and t when v (or its reciprocal, as said) is sqrt(t + eps).
struct Root {
  Value* t = nullptr;
  double epsilon = 0;
};
std::optional<Root> root_of(const Rows& rows, Value* v, bool reciprocal) {
  v = rows.root(v);
  Value* under = nullptr;
  const auto plain = [&](Value* s) -> Value* {
    s = rows.root(s);
    if (Op* q = prim_of(s, Prim::Sqrt)) return q->operand();
    Op* p = prim_of(s, Prim::Pow);
    return p && splat_of(p->operand(1)) == 0.5 ? p->operand() : nullptr;
  };
  if (!reciprocal) {
    under = plain(v);
  } else if (Op* q = prim_of(v, Prim::Rsqrt)) {
    under = q->operand();
  } else if (Op* div = prim_of(v, Prim::Div); div && splat_of(div->operand(0)) == 1.0) {
    under = plain(div->operand(1));
  } else if (Op* p = prim_of(v, Prim::Pow); p && splat_of(p->operand(1)) == -0.5) {
    under = p->operand();
  }
  Op* add = under ? prim_of(rows.root(under), Prim::Add) : nullptr;
  if (!add) return std::nullopt;
  for (int i : {1, 0})
    if (auto e = splat_of(add->operand(i)); e && *e >= 0) return Root{add->operand(1 - i), *e};
  return std::nullopt;
}

// `v` when it is spread along the dimensions before `axis` only, and so has one value for each
// place in a row.
Value* along_row(const Value* v, int64_t axis) {
  Op* b = def_of(v, "stablehlo.broadcast_in_dim");
  if (!b) return nullptr;
  const Dims& to = b->i64s("broadcast_dimensions");
  const int64_t r = v->type.rank();
  if (static_cast<int64_t>(to.size()) != r - axis) return nullptr;
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] != axis + static_cast<int64_t>(i) ||
        !(b->operand()->type.shape[i] == v->type.shape[static_cast<size_t>(to[i])]))
      return nullptr;
  return b->operand();
}

bool fuse_norm(Module& m, Op* op) {
  const bool divides = op->def->prim == Prim::Div;
  const Shape& shape = op->result()->type.shape;
  if (op->result()->type.dtype != DType::F32) return false;
  for (int side : {1, 0}) {
    if (divides && side == 0) continue;
    Value* d = op->operand(1 - side);
    const auto dims = reduced_dims(op->operand(side));
    if (!dims || dims->empty()) continue;
    const int64_t axis = dims->front(), r = op->result()->type.rank();
    if (dims->back() != r - 1 || static_cast<int64_t>(dims->size()) != r - axis) continue;
    const Rows rows(shape, *dims);
    const auto root = root_of(rows, op->operand(side), !divides);
    Value* square = root ? rows.mean(root->t) : nullptr;
    if (!square || squared(square) != d) continue;
    Op* sub = prim_of(d, Prim::Sub);
    const bool centred = sub && rows.mean(sub->operand(1)) == sub->operand(0);
    Value* x = centred ? sub->operand(0) : d;
    // Scale and bias that follow, when they are all that follows.
    Op* last = op;
    const auto next = [&](Prim p) -> Value* {
      if (last->result()->users().size() != 1) return nullptr;
      Op* u = last->result()->users()[0];
      if (u->def->prim != p || u->parent() != op->parent()) return nullptr;
      Value* c = along_row(u->operand(u->operand(0) == last->result() ? 1 : 0), axis);
      if (c) last = u;
      return c;
    };
    Value* scale = next(Prim::Mul);
    Value* bias = centred ? next(Prim::Add) : nullptr;
    GraphBuilder b = builder_at(m, last);
    for (const Op* part : {op, d->def()})
      if (part) merge_origins(b.origins, part->origins);
    const Shape row(shape.begin() + axis, shape.end());
    if (!scale) scale = b.splat({DType::F32, row}, 1);
    std::vector<Value*> operands{x, scale};
    if (bias) operands.push_back(bias);
    Op* norm = b.create(centred ? "tenfold.layer_norm" : "tenfold.rms_norm", operands,
                        {{"axis", Attr{axis}}, {"epsilon", Attr{root->epsilon}}});
    if (!b.errors.empty()) return false;
    norm->result()->name = last->result()->name;
    last->result()->replace_all_uses_with(norm->result());
    return true;
  }
  return false;
}

// x when v is exp(x - max(x)) or exp(x): softmax of either is the same.
Value* logits(const Rows& rows, Value* shifted) {
  Op* sub = prim_of(shifted, Prim::Sub);
  if (sub && rows.reduced(sub->operand(1), Prim::Max) == sub->operand(0)) return sub->operand(0);
  return shifted;
}

bool fuse_softmax(Module& m, Op* op) {
  const bool log = op->def->prim == Prim::Sub;
  if (!is_float(op->result()->type.dtype) || op->result()->type.rank() == 0) return false;
  const auto dims = reduced_dims(op->operand(1));
  if (!dims || dims->size() != 1) return false;
  const Rows rows(op->result()->type.shape, *dims);
  Value* sum = rows.root(op->operand(1));
  if (log) {
    Op* l = prim_of(sum, Prim::Log);
    if (!l) return false;
    sum = l->operand();
  }
  Value* e = rows.reduced(sum, Prim::Add);
  Op* exp = e ? prim_of(e, Prim::Exp) : nullptr;
  if (!exp || (log ? exp->operand() : e) != op->operand(0)) return false;
  Value* x = logits(rows, exp->operand());
  GraphBuilder b = builder_at(m, op);
  merge_origins(b.origins, exp->origins);
  Value* y = b.create("tenfold.softmax", {x}, {{"axis", Attr{dims->front()}}, {"log", Attr{log}}})
                 ->result();
  y->name = op->result()->name;
  op->result()->replace_all_uses_with(y);
  return true;
}

Result<bool> run(Module& m, PassContext&) {
  std::vector<Op*> work;
  for_each_op(m, [&](Op* op) {
    const auto p = op->def->prim;
    if (p == Prim::Div || p == Prim::Mul || p == Prim::Sub) work.push_back(op);
  });
  bool changed = false;
  for (Op* op : work) {
    if (!op->result()->has_users()) continue;
    changed |= (op->def->prim != Prim::Sub && fuse_norm(m, op)) ||
               (op->def->prim != Prim::Mul && fuse_softmax(m, op));
  }
  return changed;
}

}  // namespace

extern const GraphPass pass_fuse_normalizations;
const GraphPass pass_fuse_normalizations = {
    .name = "fuse_normalizations",
    .summary = "Written-out layer norm, rms norm and softmax become the ops that do them at once.",
    .why_here = "after equal values have become one, so that `the same operand` is the same value",
    .run = run,
};

}  // namespace tenfold
