// contraction(x, W) followed by per-feature constants (+ b, - m, * s, / d: batch normalisation,
// bias, scale) becomes contraction(x, W * scale) + shift: the multiplications cost nothing at run
// time.
#include "passes/rewrite.h"

namespace tenfold {
namespace {

struct Target {
  Op* op = nullptr;
  int weight = 1;      // operand
  int weight_dim = 0;  // feature dimension of the weight
  int result_dim = 0;  // feature dimension of the result
};

std::optional<Target> target(Op* op) {
  Target t;
  t.op = op;
  if (op->is("stablehlo.convolution")) {
    t.weight_dim = static_cast<int>(op->i64("kernel_output_feature_dimension"));
    t.result_dim = static_cast<int>(op->i64("output_feature_dimension"));
  } else if (op->is("stablehlo.dot_general")) {
    const auto& batch = op->i64s("rhs_batching_dimensions");
    const auto& contract = op->i64s("rhs_contracting_dimensions");
    int free = -1, count = 0;
    for (int i = 0; i < op->operand(1)->type.rank(); ++i) {
      bool used = std::count(batch.begin(), batch.end(), i) ||
                  std::count(contract.begin(), contract.end(), i);
      if (!used) free = i, ++count;
    }
    if (count != 1) return std::nullopt;
    t.weight_dim = free;
    t.result_dim = op->result()->type.rank() - 1;
  } else {
    return std::nullopt;
  }
  const Literal* w = constant_of(op->operand(1));
  if (!w || w->dtype() != DType::F32 || op->result()->type.dtype != DType::F32) return std::nullopt;
  return t;
}

bool fold(Module& m, Op* op) {
  auto t = target(op);
  if (!t) return false;
  const Literal& w = *constant_of(op->operand(1));
  int64_t n = w.dims()[t->weight_dim];
  std::vector<double> scale(static_cast<size_t>(n), 1), shift(static_cast<size_t>(n), 0);
  Value* last = op->result();
  int steps = 0, multiplies = 0;
  std::vector<std::string> origins;
  while (last->users().size() == 1) {
    Op* u = last->users()[0];
    if (!u->def->prim || u->num_operands() != 2 || u->parent() != op->parent()) break;
    Prim p = *u->def->prim;
    bool left = u->operand(0) == last;
    if (p != Prim::Add && p != Prim::Sub && p != Prim::Mul && p != Prim::Div) break;
    if (p == Prim::Div && !left) break;
    auto c = per_index(u->operand(left ? 1 : 0), t->result_dim, n);
    if (!c) break;
    bool finite = true;
    for (double x : *c) finite &= std::isfinite(x) && (p != Prim::Div || x != 0);
    if (!finite) break;
    for (int64_t i = 0; i < n; ++i) {
      double x = (*c)[i];
      switch (p) {
        case Prim::Add:
          shift[i] += x;
          break;
        case Prim::Sub:
          if (left)
            shift[i] -= x;
          else
            scale[i] = -scale[i], shift[i] = x - shift[i];
          break;
        case Prim::Mul:
          scale[i] *= x, shift[i] *= x;
          break;
        default:
          scale[i] /= x, shift[i] /= x;
          break;
      }
    }
    multiplies += p == Prim::Mul || p == Prim::Div || (p == Prim::Sub && !left);
    ++steps;
    merge_origins(origins, u->origins);
    last = u->result();
  }
  // One addition on its own is already what this pass would write.
  if (steps == 0 || (steps == 1 && !multiplies)) return false;
  Op* end = last->def();
  GraphBuilder b = builder_at(m, end);
  merge_origins(b.origins, op->origins);
  merge_origins(b.origins, origins);
  Literal scaled(DType::F32, w.dims());
  auto out = scaled.mutable_data<float>();
  auto in = w.data<float>();
  int64_t inner = row_major_strides(w.dims())[t->weight_dim];
  for (int64_t i = 0; i < w.size(); ++i)
    out[i] = static_cast<float>(in[i] * scale[(i / inner) % n]);
  AttrDict attrs = op->attrs;
  Value* y = b.create(op->def->name, {op->operand(0), b.constant(std::move(scaled))}, attrs,
                      {op->result()->type})
                 ->result();
  bool shifted = std::any_of(shift.begin(), shift.end(), [](double s) { return s != 0; });
  if (shifted) {
    Literal c(DType::F32, {n});
    for (int64_t i = 0; i < n; ++i) c.set_f64(i, shift[i]);
    y = b.binary(Prim::Add, y,
                 b.broadcast_in_dim(b.constant(std::move(c)), y->type.shape, {t->result_dim}));
  }
  y->name = last->name;
  last->replace_all_uses_with(y);
  erase_dead(end);
  return true;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  std::vector<Op*> work;
  for_each_op(m, [&](Op* op) {
    if (target(op)) work.push_back(op);
  });
  for (Op* op : work) changed |= fold(m, op);
  return changed;
}

}  // namespace

extern const GraphPass pass_fold_affine;
const GraphPass pass_fold_affine = {
    .name = "fold_affine",
    .summary =
        "Per-feature scales and shifts after a contraction move into its weights and one sum.",
    .why_here = "before layouts change, while feature dimensions are where the model put them",
    .run = run,
};

}  // namespace tenfold
