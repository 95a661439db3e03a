// tenfold.resize_linear: multilinear interpolation, two input elements for each resized dimension.
#include "ops/resize_util.h"

namespace tenfold {

namespace {

loop::Expr element(ElementContext& c, const std::vector<loop::Expr>& index) {
  using namespace loop;
  const Resize r = read_resize(*c.op, ResizeMode::Linear);
  const DType t = c.op->result()->type.dtype;
  const DType compute = resize_compute_type(t);
  const DimExpr dim = [&](const Dim& d) { return c.dim(d); };
  std::vector<Expr> from = index;
  Expr outside;
  const std::function<Expr(size_t)> interpolate = [&](size_t d) -> Expr {
    if (d == index.size()) return cast(c.operand(0, from), compute);
    const ResizeAxis& a = r.axes[d];
    if (a.identity) return interpolate(d + 1);
    const Expr x = resize_coordinate(r, a, index[d], dim);
    const Expr left = op(Prim::Floor, {x});
    const Expr weight = cast(op(Prim::Sub, {x, left}), compute);
    const Expr i = cast(left, DType::I64);
    from[d] = resize_clamp(a, i, dim);
    const Expr low = interpolate(d + 1);
    from[d] = resize_clamp(a, i + 1, dim);
    const Expr high = interpolate(d + 1);
    const Expr one = float_const(1, compute);
    return op(Prim::Add,
              {op(Prim::Mul, {low, op(Prim::Sub, {one, weight})}), op(Prim::Mul, {high, weight})});
  };
  const Expr v = resize_result(interpolate(0), t);
  for (size_t d = 0; d < index.size(); ++d) {
    if (r.axes[d].identity) continue;
    const Expr x = resize_coordinate(r, r.axes[d], index[d], dim);
    if (const Expr out = resize_outside(r, r.axes[d], x, dim))
      outside = outside ? logical_or(outside, out) : out;
  }
  if (!outside) return v;
  return select(outside, cast(float_const(r.extrapolation, DType::F64), t), v);
}

}  // namespace

extern const OpDef op_resize_linear;
const OpDef op_resize_linear = {
    .name = "tenfold.resize_linear",
    .summary = "Resize by multilinear interpolation",
    .doc =
        "tenfold.resize with mode = linear and neither antialias nor exclude_outside, in a form "
        "that "
        "fuses into its users. Meant for up to three resized dimensions: an element reads 2 to the "
        "power of their number.",
    .kind = OpKind::GatherScatter,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = resize_attrs(false),
    .infer = [](const Op& op, Diag& d) { return infer_resize(op, ResizeMode::Linear, d); },
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> {
      return std::vector<Literal>{eval_resize(read_resize(*c.op, ResizeMode::Linear), c)};
    },
    .element = element,
    .constraints = resize_constraints(),
};

}  // namespace tenfold
