// tenfold.resize_nearest: resize that picks one input element for each output element.
#include "ops/resize_util.h"

namespace tenfold {

namespace {

loop::Expr element(ElementContext& c, const std::vector<loop::Expr>& index) {
  using namespace loop;
  const Resize r = read_resize(*c.op, ResizeMode::Nearest);
  const DType t = c.op->result()->type.dtype;
  const DimExpr dim = [&](const Dim& d) { return c.dim(d); };
  std::vector<Expr> from = index;
  Expr outside;
  for (size_t d = 0; d < index.size(); ++d) {
    const ResizeAxis& a = r.axes[d];
    if (a.identity) continue;
    const Expr x = resize_coordinate(r, a, index[d], dim);
    const Expr half = float_const(0.5, DType::F64);
    Expr i;
    switch (r.nearest) {
      case ResizeNearest::RoundPreferFloor:
        i = op(Prim::Ceil, {op(Prim::Sub, {x, half})});
        break;
      case ResizeNearest::RoundPreferCeil:
        i = op(Prim::Floor, {op(Prim::Add, {x, half})});
        break;
      case ResizeNearest::Floor:
        i = op(Prim::Floor, {x});
        break;
      case ResizeNearest::Ceil:
        i = op(Prim::Ceil, {x});
        break;
    }
    from[d] = resize_clamp(a, cast(i, DType::I64), dim);
    if (const Expr out = resize_outside(r, a, x, dim))
      outside = outside ? logical_or(outside, out) : out;
  }
  const Expr v = c.operand(0, from);
  if (!outside) return v;
  return select(outside, cast(float_const(r.extrapolation, DType::F64), t), v);
}

}  // namespace

extern const OpDef op_resize_nearest;
const OpDef op_resize_nearest = {
    .name = "tenfold.resize_nearest",
    .summary = "Resize that picks the nearest input element",
    .doc = "tenfold.resize with mode = nearest, in a form that fuses into its users.",
    .kind = OpKind::GatherScatter,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = resize_attrs(false),
    .infer = [](const Op& op, Diag& d) { return infer_resize(op, ResizeMode::Nearest, d); },
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> {
      return std::vector<Literal>{eval_resize(read_resize(*c.op, ResizeMode::Nearest), c)};
    },
    .element = element,
    .constraints = resize_constraints(),
};

}  // namespace tenfold
