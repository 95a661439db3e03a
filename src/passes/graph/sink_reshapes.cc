// A reshape after a contraction moves behind the elementwise ops that follow it, so that these
// become the contraction's epilogue in its own, simple index space, and the reshape renames storage
// only. (1x1 convolutions made into matrix products leave such reshapes.)
#include "passes/rewrite.h"

namespace tenfold {
namespace {

// The contraction behind `v`, through elementwise ops that may become its epilogue.
bool follows_contraction(const Value* v) {
  for (int depth = 0; depth < 64; ++depth) {
    const Op* d = v->def();
    if (!d) return false;
    if (d->def->kind == OpKind::Contraction || d->def->kind == OpKind::Window) return true;
    if (d->def->kind != OpKind::Elementwise || v->users().size() != 1) return false;
    const Value* next = nullptr;
    for (const Value* o : d->operands())
      if (o->def() &&
          (o->def()->def->kind == OpKind::Elementwise ||
           o->def()->def->kind == OpKind::Contraction || o->def()->def->kind == OpKind::Window))
        next = o;
    if (!next) return false;
    v = next;
  }
  return false;
}

// `v`, of the reshape's result shape, in the shape before it; null when that would cost.
Value* before(GraphBuilder& b, Value* v, const Shape& shape) {
  Op* d = v->def();
  if (d && d->is("stablehlo.reshape") && d->operand()->type.shape == shape) return d->operand();
  if (d && d->is("stablehlo.broadcast_in_dim")) {
    Value* x = d->operand();
    if (x->type.rank() == 0) return b.broadcast_in_dim(x, shape, {});
    // Along the last dimension only.
    const auto& dims = d->i64s("broadcast_dimensions");
    int last = v->type.rank() - 1;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != last && !(x->type.shape[i] == Dim(1))) return nullptr;
    if (dims.empty() || dims.back() != last || !(x->type.shape.back() == shape.back()))
      return nullptr;
    Value* row = b.reshape(x, {x->type.shape.back()});
    return b.broadcast_in_dim(row, shape, {static_cast<int64_t>(shape.size()) - 1});
  }
  return b.reshape(v, shape);
}

bool visit(Module& m, Op* op) {
  if (op->def->kind != OpKind::Elementwise || op->num_results() != 1) return false;
  Op* r = nullptr;
  for (Value* v : op->operands())
    if (Op* d = only_def_of(v, "stablehlo.reshape"); d && follows_contraction(d->operand())) r = d;
  if (!r) return false;
  const Shape& from = r->operand()->type.shape;
  const Shape& to = op->result()->type.shape;
  if (from.empty() || to.empty() || !(from.back() == to.back())) return false;
  GraphBuilder b = builder_at(m, op);
  std::vector<Value*> operands;
  for (Value* v : op->operands()) {
    if (v->type.rank() == 0) {
      operands.push_back(v);
      continue;
    }
    Value* w = before(b, v, from);
    if (!w) return false;
    operands.push_back(w);
  }
  Value* y =
      b.create(op->def->name, operands, op->attrs, {{op->result()->type.dtype, from}})->result();
  replace_op(op, {b.reshape(y, to)});
  return true;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  for_each_op(m, [&](Op* op) { changed |= visit(m, op); });
  return changed;
}

}  // namespace

extern const GraphPass pass_sink_reshapes;
const GraphPass pass_sink_reshapes = {
    .name = "sink_reshapes",
    .summary = "Reshapes after contractions move behind the elementwise ops that follow.",
    .run = run,
};

}  // namespace tenfold
