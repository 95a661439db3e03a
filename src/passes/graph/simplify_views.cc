// Identities on data movement and the arithmetic identities that hold bit for bit: x*1, x/1, x-0,
// integer x+0; views of views; views that move nothing.
#include <algorithm>
#include <numeric>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

using Replacement = Value*;  // null: no rewrite

bool is_identity(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return true;
}

bool same_shape(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

Replacement transpose(Module& m, Op* op) {
  const auto& perm = op->i64s("permutation");
  Value* x = op->operand();
  if (is_identity(perm)) return x;
  if (const Literal* l = constant_of(x); l && l->size() > 0 && l->is_splat()) {
    std::vector<int64_t> dims;
    for (int64_t i : perm) dims.push_back(l->dims()[i]);
    return builder_at(m, op).constant(l->reshaped(dims));
  }
  if (Op* inner = def_of(x, "stablehlo.transpose")) {
    const auto& p = inner->i64s("permutation");
    std::vector<int64_t> both;
    for (int64_t i : perm) both.push_back(p[i]);
    return builder_at(m, op).transpose(inner->operand(), both);
  }
  // Only dimensions of size 1 move: the order of the elements stays.
  std::vector<int64_t> moved;
  for (int64_t i : perm)
    if (!(x->type.shape[i] == Dim(1))) moved.push_back(i);
  if (std::is_sorted(moved.begin(), moved.end()))
    return builder_at(m, op).reshape(x, op->result()->type.shape);
  return nullptr;
}

Replacement reshape(Module& m, Op* op) {
  Value* x = op->operand();
  if (same_shape(x->type.shape, op->result()->type.shape)) return x;
  if (Op* inner = def_of(x, "stablehlo.reshape"))
    return builder_at(m, op).reshape(inner->operand(), op->result()->type.shape);
  return nullptr;
}

Replacement broadcast(Module& m, Op* op) {
  Value* x = op->operand();
  const auto& dims = op->i64s("broadcast_dimensions");
  const Shape& out = op->result()->type.shape;
  if (is_identity(dims) && same_shape(x->type.shape, out)) return x;
  if (Op* inner = def_of(x, "stablehlo.broadcast_in_dim")) {
    std::vector<int64_t> both;
    for (int64_t i : inner->i64s("broadcast_dimensions")) both.push_back(dims[i]);
    return builder_at(m, op).broadcast_in_dim(inner->operand(), out, both);
  }
  // A reshape that only adds or drops unit dimensions of a broadcast operand.
  if (Op* inner = def_of(x, "stablehlo.reshape")) {
    const Shape& from = inner->operand()->type.shape;
    std::vector<int64_t> both;
    size_t j = 0;
    bool ok = true;
    for (size_t i = 0; i < from.size() && ok; ++i) {
      if (from[i] == Dim(1)) {
        ok = false;  // keep it simple: unit dimensions have no unique place
        break;
      }
      while (j < x->type.shape.size() && x->type.shape[j] == Dim(1)) ++j;
      ok = j < x->type.shape.size() && x->type.shape[j] == from[i];
      if (ok) both.push_back(dims[j++]);
    }
    while (ok && j < x->type.shape.size()) ok = x->type.shape[j++] == Dim(1);
    if (ok && !from.empty()) return builder_at(m, op).broadcast_in_dim(inner->operand(), out, both);
  }
  // Every result dimension beyond the operand's is 1 and nothing is repeated.
  if (std::is_sorted(dims.begin(), dims.end()) && x->type.num_elements() == product(out))
    return builder_at(m, op).reshape(x, out);
  return nullptr;
}

bool all_zero(const Op& op, std::string_view attr) {
  const Attr* a = op.attr(attr);
  if (!a) return true;
  if (auto* d = std::get_if<std::vector<Dim>>(&a->v))
    return std::all_of(d->begin(), d->end(), [](const Dim& x) { return x == Dim(0); });
  const auto& v = a->as<std::vector<int64_t>>();
  return std::all_of(v.begin(), v.end(), [](int64_t x) { return x == 0; });
}

Replacement pad(Module&, Op* op) {
  bool nothing = all_zero(*op, "edge_padding_low") && all_zero(*op, "edge_padding_high") &&
                 all_zero(*op, "interior_padding");
  return nothing ? op->operand() : nullptr;
}

Replacement slice(Module&, Op* op) {
  const auto& strides = op->i64s("strides");
  bool whole = all_zero(*op, "start_indices") &&
               std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; }) &&
               same_shape(op->operand()->type.shape, op->result()->type.shape);
  return whole ? op->operand() : nullptr;
}

Replacement concatenate(Module& m, Op* op) {
  if (op->num_operands() == 1) return op->operand();
  // Empty operands contribute nothing.
  int64_t d = op->i64("dimension");
  std::vector<Value*> kept;
  for (Value* v : op->operands())
    if (!(v->type.shape[d] == Dim(0))) kept.push_back(v);
  if (kept.empty() || static_cast<int>(kept.size()) == op->num_operands()) return nullptr;
  return kept.size() == 1 ? kept[0] : builder_at(m, op).concatenate(kept, d);
}

Replacement dims(Module& m, Op* op) {
  const auto& ds = op->dims("dims");
  std::vector<int64_t> v;
  for (const auto& d : ds) {
    if (!d.is_const()) return nullptr;
    v.push_back(d.value());
  }
  return builder_at(m, op).constant(convert(Literal::i64s(v), op->result()->type.dtype));
}

Replacement get_dimension_size(Module& m, Op* op) {
  const Dim& d = op->operand()->type.shape[op->i64("dimension")];
  return builder_at(m, op).dim_scalar(d, op->result()->type.dtype);
}

// A slice whose start is known is a plain one; the start is clamped as the op does.
Replacement dynamic_slice(Module& m, Op* op) {
  const auto& sizes = op->dims("slice_sizes");
  std::vector<Dim> start, limit;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Literal* c = constant_of(op->operand(static_cast<int>(i) + 1));
    const Dim& d = op->operand()->type.shape[i];
    if (!c || !d.is_const() || !sizes[i].is_const()) return nullptr;
    int64_t s = std::clamp<int64_t>(c->as_i64(0), 0, d.value() - sizes[i].value());
    start.push_back(s);
    limit.push_back(sizes[i] + s);
  }
  return builder_at(m, op).slice(op->operand(), start, limit,
                                 std::vector<int64_t>(sizes.size(), 1));
}

Replacement arithmetic(Module&, Op* op) {
  if (!op->def->prim || op->num_operands() != 2) return nullptr;
  DType t = op->result()->type.dtype;
  if (is_complex(t) || t == DType::Bool) return nullptr;
  auto a = splat_of(op->operand(0)), b = splat_of(op->operand(1));
  switch (*op->def->prim) {
    case Prim::Mul:
      if (b && *b == 1) return op->operand(0);
      if (a && *a == 1) return op->operand(1);
      return nullptr;
    case Prim::Div:
      return b && *b == 1 ? op->operand(0) : nullptr;
    case Prim::Sub:  // x - (+0) is x for every x; x - (-0) is not for x = -0
      return b && *b == 0 && !std::signbit(*b) ? op->operand(0) : nullptr;
    case Prim::Add:
      if (is_float(t)) {  // only -0 is neutral
        if (b && *b == 0 && std::signbit(*b)) return op->operand(0);
        if (a && *a == 0 && std::signbit(*a)) return op->operand(1);
        return nullptr;
      }
      if (b && *b == 0) return op->operand(0);
      if (a && *a == 0) return op->operand(1);
      return nullptr;
    default:
      return nullptr;
  }
}

Replacement convert(Module&, Op* op) {
  return op->operand()->type.dtype == op->result()->type.dtype ? op->operand() : nullptr;
}

Replacement select(Module&, Op* op) {
  if (op->operand(1) == op->operand(2)) return op->operand(1);
  auto p = op->operand(0)->type.rank() == op->operand(1)->type.rank() ? splat_of(op->operand(0))
                                                                      : std::nullopt;
  if (!p) return nullptr;
  return op->operand(*p != 0 ? 1 : 2);
}

// An elementwise op on constants that were spread alike is computed before they are spread, where
// it folds to a constant.
Replacement spread_constants(Module& m, Op* op) {
  if (op->def->kind != OpKind::Elementwise || op->num_operands() == 0) return nullptr;
  GraphBuilder b = builder_at(m, op);
  std::vector<Value*> small;
  std::vector<int64_t> dims;
  for (Value* v : op->operands()) {
    if (v->type.rank() != op->result()->type.rank() || v->type.rank() == 0) return nullptr;
    Value* from = nullptr;
    std::vector<int64_t> to;
    if (const Literal* l = constant_of(v); l && l->size() > 0 && l->is_splat()) {
      if (is_complex(l->dtype())) return nullptr;
      from = b.constant(is_float(l->dtype()) ? Literal::scalar(l->dtype(), l->as_f64(0))
                                             : Literal::scalar_i(l->dtype(), l->as_i64(0)));
    } else if (Op* d = def_of(v, "stablehlo.broadcast_in_dim"); d && constant_of(d->operand())) {
      from = d->operand();
      to = d->i64s("broadcast_dimensions");
    }
    if (!from) return nullptr;
    if (!small.empty() && (to != dims || !same_shape(from->type.shape, small[0]->type.shape)))
      return nullptr;
    small.push_back(from);
    dims = std::move(to);
  }
  const TensorType type{op->result()->type.dtype, small[0]->type.shape};
  Value* v = op->is("stablehlo.convert")
                 ? b.constant(tenfold::convert(*constant_of(small[0]), type.dtype))
                 : b.create(op->def->name, small, op->attrs, {type})->result();
  return b.broadcast_in_dim(v, op->result()->type.shape, dims);
}

struct Rule {
  std::string_view op;
  Replacement (*apply)(Module&, Op*);
};
constexpr Rule kRules[] = {
    {"stablehlo.transpose", transpose},
    {"stablehlo.reshape", reshape},
    {"stablehlo.broadcast_in_dim", broadcast},
    {"stablehlo.pad", pad},
    {"stablehlo.slice", slice},
    {"stablehlo.concatenate", concatenate},
    {"tenfold.dims", dims},
    {"stablehlo.get_dimension_size", get_dimension_size},
    {"stablehlo.dynamic_slice", dynamic_slice},
    {"stablehlo.convert", convert},
    {"stablehlo.select", select},
};

Result<bool> run(Module& m, PassContext&) {
  bool any = false;
  for (int round = 0; round < 8; ++round) {
    bool changed = false;
    for_each_op(m, [&](Op* op) {
      Replacement r = nullptr;
      for (const auto& rule : kRules)
        if (op->is(rule.op)) r = rule.apply(m, op);
      if (!r) r = arithmetic(m, op);
      if (!r) r = spread_constants(m, op);
      if (!r || !same_shape(r->type.shape, op->result()->type.shape)) return;
      replace_op(op, {r});
      changed = true;
    });
    any |= changed;
    if (!changed) break;
  }
  return any;
}

}  // namespace

extern const GraphPass pass_simplify_views;
const GraphPass pass_simplify_views = {
    .name = "simplify_views",
    .summary = "Views of views, views that move nothing, exact arithmetic identities.",
    .run = run,
};

}  // namespace tenfold
