// The decomposed form of attention becomes tenfold.attention, which never writes the scores:
//
//   p = softmax(mask ? scale (q . k) + bias : masked)        y = p . v
//
// Scale, bias and mask may be missing, the scale may be a division, keys and values may be
// transposed or repeated for groups of heads (views). Scores that something else reads stay as they
// are.
#include <cmath>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

// Fewer queries than this leave most lanes of a block empty: a product of its own is quicker.
constexpr int64_t kFewQueries = 8;

// `dot` multiplies over batch dimensions 0..r-3 in order, summing one dimension of each operand;
// the other of rhs.
struct Product {
  Value *lhs = nullptr, *rhs = nullptr;
  int64_t summed = 0;  // dimension of rhs
};

std::optional<Product> batched(const Op* dot) {
  if (!dot || !dot->is("stablehlo.dot_general")) return std::nullopt;
  const int64_t r = dot->operand(0)->type.rank();
  if (r < 2 || dot->operand(1)->type.rank() != r || dot->result()->type.rank() != r)
    return std::nullopt;
  std::vector<int64_t> batch;
  for (int64_t i = 0; i < r - 2; ++i) batch.push_back(i);
  const auto &lc = dot->i64s("lhs_contracting_dimensions"),
             &rc = dot->i64s("rhs_contracting_dimensions");
  if (dot->i64s("lhs_batching_dimensions") != batch ||
      dot->i64s("rhs_batching_dimensions") != batch || lc != std::vector<int64_t>{r - 1} ||
      rc.size() != 1)
    return std::nullopt;
  return Product{dot->operand(0), dot->operand(1), rc[0]};
}

// rhs with the dimension `last` last of its two.
Value* with_last(GraphBuilder& b, Value* v, int64_t last) {
  const int64_t r = v->type.rank();
  if (last == r - 1) return v;
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < r; ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(r - 1)], perm[static_cast<size_t>(r - 2)]);
  return b.transpose(v, perm);
}

bool alone(const Value* v) { return v->users().size() == 1; }

bool rewrite(Module& m, Op* op) {
  const auto second = batched(op);
  if (!second || op->result()->type.dtype != DType::F32) return false;
  Op* soft = only_def_of(second->lhs, "tenfold.softmax");
  const int64_t r = op->result()->type.rank();
  if (!soft || soft->i64("axis") != r - 1 || soft->flag("log")) return false;
  Value* s = soft->operand();
  Value *mask = nullptr, *bias = nullptr;
  double masked = 0, scale = 1;
  if (Op* select = only_def_of(s, "stablehlo.select");
      select && select->operand(0)->type.rank() == r) {
    const auto other = splat_of(select->operand(2));
    if (!other) return false;
    mask = select->operand(0);
    masked = *other;
    s = select->operand(1);
  }
  const auto scaled = [&] {
    for (const Prim p : {Prim::Mul, Prim::Div}) {
      Op* x = alone(s) ? prim_of(s, p) : nullptr;
      if (!x) continue;
      for (int side : {1, 0}) {
        const auto by = splat_of(x->operand(side));
        if (!by || !std::isfinite(*by) || *by == 0 || (p == Prim::Div && side == 0)) continue;
        scale *= p == Prim::Mul ? *by : 1 / *by;
        s = x->operand(1 - side);
        return;
      }
    }
  };
  scaled();
  if (Op* add = alone(s) ? prim_of(s, Prim::Add) : nullptr) {
    if (scale != 1) return false;  // scale (q k + bias)
    const bool left = batched(add->operand(0)->def()) || prim_of(add->operand(0), Prim::Mul) ||
                      prim_of(add->operand(0), Prim::Div);
    bias = add->operand(left ? 1 : 0);
    s = add->operand(left ? 0 : 1);
    scaled();
  }
  const auto first = alone(s) ? batched(s->def()) : std::nullopt;
  if (!first || s->type.dtype != DType::F32 || first->lhs->type.dtype != DType::F32) return false;
  const auto queries = s->type.shape[static_cast<size_t>(r - 2)].constant();
  if (queries && *queries < kFewQueries) return false;

  GraphBuilder b = builder_at(m, op);
  for (const Op* part : {s->def(), soft}) merge_origins(b.origins, part->origins);
  std::vector<Value*> operands = {
      first->lhs, with_last(b, first->rhs, first->summed),
      with_last(b, second->rhs, second->summed == r - 2 ? r - 1 : r - 2)};
  if (bias) operands.push_back(bias);
  if (mask) operands.push_back(mask);
  Op* attention =
      b.create("tenfold.attention", operands, {{"scale", Attr{scale}}, {"masked", Attr{masked}}});
  if (!b.errors.empty()) return false;
  attention->result()->name = op->result()->name;
  op->result()->replace_all_uses_with(attention->result());
  erase_dead(op);
  return true;
}

Result<bool> run(Module& m, PassContext&) {
  std::vector<Op*> work;
  for_each_op(m, [&](Op* op) {
    if (op->is("stablehlo.dot_general")) work.push_back(op);
  });
  bool changed = false;
  // Last first: a product that goes takes the one before it along.
  std::vector<Op*> seconds;
  for (Op* op : work)
    if (op->operand(0)->def() && op->operand(0)->def()->is("tenfold.softmax"))
      seconds.push_back(op);
  for (Op* op : seconds) changed |= rewrite(m, op);
  return changed;
}

}  // namespace

extern const GraphPass pass_fuse_attention;
const GraphPass pass_fuse_attention = {
    .name = "fuse_attention",
    .summary = "softmax(q k + bias) v becomes attention, which streams over the keys.",
    .why_here = "after clean-up, while the products still have the exporter's batch dimensions",
    .run = run,
};

}  // namespace tenfold
