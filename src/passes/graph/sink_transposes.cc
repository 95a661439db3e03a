// Moves transposes towards the results, through every op that works in any order of dimensions, so
// that pairs meet and cancel. Which ops those are, and how their attributes follow, comes from
// their descriptors (OpDef::any_layout, AttrRole), not from their names.
#include <algorithm>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

using Perm = std::vector<int64_t>;  // result dimension i of the transpose is operand dimension p[i]

Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}

// A transposed constant is only a constant that waits to be folded.
Op* transpose_def(const Value* v) {
  Op* t = def_of(v, "stablehlo.transpose");
  return t && !constant_of(t->operand()) ? t : nullptr;
}

// Whether `v` can be had in another order for free: constants, broadcasts, scalars.
bool free_in_any_order(const Value* v) {
  const Op* d = v->def();
  return v->type.rank() == 0 || (d && d->is("stablehlo.transpose") && constant_of(d->operand())) ||
         (d && (d->is("stablehlo.constant") || d->is("stablehlo.iota") ||
                d->is("stablehlo.broadcast_in_dim")));
}

// `v`, whose dimensions are in result order, in the order before the transpose `p`.
Value* before(GraphBuilder& b, Value* v, const Perm& p) {
  if (Op* t = transpose_def(v); t && t->i64s("permutation") == p) return t->operand();
  Perm q = inverse(p);
  Op* d = v->def();
  if (d && d->is("stablehlo.broadcast_in_dim")) {
    Perm dims;
    for (int64_t i : d->i64s("broadcast_dimensions")) dims.push_back(p[i]);
    Shape shape;
    for (int64_t i : q) shape.push_back(v->type.shape[i]);
    return b.broadcast_in_dim(d->operand(), shape, dims);
  }
  return b.transpose(v, q);
}

// Attribute values for the order before `p`, by role. Dimension d of the result is p[d] there.
AttrDict permuted(const Op& op, const Perm& p) {
  Perm q = inverse(p);
  AttrDict out = op.attrs;
  for (auto& [name, a] : out) {
    AttrRole role = AttrRole::Plain;
    for (const auto& s : op.def->attrs)
      if (s.name == name) role = s.role;
    auto reorder = [&](auto& v, size_t width) {
      auto w = v;
      for (size_t i = 0; i < q.size(); ++i)
        for (size_t k = 0; k < width; ++k)
          w[i * width + k] = v[static_cast<size_t>(q[i]) * width + k];
      v = w;
    };
    if (role == AttrRole::DimIndex) {
      if (auto* d = std::get_if<int64_t>(&a.v)) *d = p[*d];
      if (auto* d = std::get_if<std::vector<int64_t>>(&a.v)) {
        for (auto& x : *d) x = p[x];
      }
    } else if (role != AttrRole::Plain) {
      size_t width = role == AttrRole::PerDimPair ? 2 : 1;
      if (auto* d = std::get_if<std::vector<int64_t>>(&a.v); d && d->size() == q.size() * width)
        reorder(*d, width);
      if (auto* d = std::get_if<std::vector<Dim>>(&a.v); d && d->size() == q.size() * width)
        reorder(*d, width);
      if (auto* l = std::get_if<Literal>(&a.v);
          l && l->size() == static_cast<int64_t>(q.size() * width)) {
        Literal r(l->dtype(), l->dims());
        for (size_t i = 0; i < q.size(); ++i)
          for (size_t k = 0; k < width; ++k)
            r.set_f64(static_cast<int64_t>(i * width + k),
                      l->as_f64(static_cast<int64_t>(static_cast<size_t>(q[i]) * width + k)));
        *l = r;
      }
    }
  }
  return out;
}

// Rebuilds `op` before the transpose `p`; its result is then transposed.
bool sink_through(Module& m, Op* op, const Perm& p) {
  GraphBuilder b = builder_at(m, op);
  std::vector<Value*> operands;
  for (Value* v : op->operands())
    operands.push_back(v->type.rank() == static_cast<int>(p.size()) ? before(b, v, p) : v);
  std::vector<TensorType> types;
  for (int i = 0; i < op->num_results(); ++i) {
    TensorType t = op->result(i)->type;
    Shape s;
    for (int64_t d : inverse(p)) s.push_back(t.shape[d]);
    types.push_back({t.dtype, s});
  }
  Op* n = b.create_open(op->def->name, operands, permuted(*op, p));
  for (int r = 0; r < op->num_regions(); ++r) {
    Block* region = n->add_region();
    std::unordered_map<const Value*, Value*> map;
    for (auto& a : op->region(r)->args) map[a.get()] = region->add_arg(a->type, a->name);
    for (auto& o : op->region(r)->ops) region->append(clone_op(*o, map));
  }
  b.finish(n, types);
  std::vector<Value*> values;
  for (int i = 0; i < n->num_results(); ++i) values.push_back(b.transpose(n->result(i), p));
  replace_op(op, values);
  return true;
}

// reduce(transpose(x)) reduces x over the dimensions where they were; the result's dimensions, in
// x's order, are transposed to the wanted one.
bool sink_through_reduce(Module& m, Op* op, const Perm& p) {
  GraphBuilder b = builder_at(m, op);
  AttrDict attrs = op->attrs;
  std::vector<int64_t> dims, kept;
  for (int64_t d : op->i64s("dimensions")) dims.push_back(p[d]);
  std::sort(dims.begin(), dims.end());
  for (size_t i = 0; i < p.size(); ++i)
    if (!std::count(op->i64s("dimensions").begin(), op->i64s("dimensions").end(),
                    static_cast<int64_t>(i)))
      kept.push_back(p[i]);  // result dimension k is x's dimension kept[k]
  for (auto& [n, a] : attrs)
    if (n == "dimensions") a = {dims};
  std::vector<Value*> operands = op->operands();
  operands[0] = before(b, operands[0], p);
  Op* n = b.create_open(op->def->name, operands, attrs);
  Block* region = n->add_region();
  std::unordered_map<const Value*, Value*> map;
  for (auto& a : op->region()->args) map[a.get()] = region->add_arg(a->type, a->name);
  for (auto& o : op->region()->ops) region->append(clone_op(*o, map));
  b.finish(n);
  std::vector<int64_t> sorted = kept;
  std::sort(sorted.begin(), sorted.end());
  Perm back;
  for (int64_t k : kept)
    back.push_back(std::find(sorted.begin(), sorted.end(), k) - sorted.begin());
  replace_op(op, {b.transpose(n->result(), back)});
  return true;
}

bool visit(Module& m, Op* op) {
  Op* t = nullptr;
  int transposed = 0, others = 0;
  if (op->is("stablehlo.reduce") && op->num_operands() == 2) {
    t = transpose_def(op->operand(0));
    return t && sink_through_reduce(m, op, t->i64s("permutation"));
  }
  bool elementwise = op->def->kind == OpKind::Elementwise;
  if (!elementwise && !op->def->any_layout) return false;
  for (Value* v : op->operands()) {
    if (v->type.rank() != op->result()->type.rank()) continue;
    Op* d = transpose_def(v);
    if (d && (!t || d->i64s("permutation") == t->i64s("permutation")))
      t = d, ++transposed;
    else if (!free_in_any_order(v))
      ++others;
  }
  if (!t || transposed < others) return false;
  return sink_through(m, op, t->i64s("permutation"));
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  // In block order one sweep carries a transpose through a whole chain.
  for_each_op(m, [&](Op* op) {
    if (op->parent()->parent_op() && op->parent()->parent_op()->def->kind != OpKind::Region) return;
    changed |= visit(m, op);
  });
  return changed;
}

}  // namespace

extern const GraphPass pass_sink_transposes;
const GraphPass pass_sink_transposes = {
    .name = "sink_transposes",
    .summary = "Transposes move towards the results until they cancel.",
    .run = run,
};

}  // namespace tenfold
