// stablehlo.reverse
#include "ops/_view.h"

namespace tenfold {
namespace {

using Index = std::vector<loop::Expr>;

Index reversed(ElementContext& ctx, const Index& index) {
  Index at = index;
  const Shape& shape = ops::type(*ctx.op, 0).shape;
  for (int64_t d : ctx.op->i64s("dimensions")) at[d] = ctx.dim(shape[d]) - 1 - index[d];
  return at;
}

}  // namespace

extern const OpDef op_reverse;
const OpDef op_reverse = {
    .name = "stablehlo.reverse",
    .summary = "Reverses the order of elements along dimensions.",
    .kind = OpKind::View,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"dimensions", AttrKind::I64s, true, {}, AttrRole::DimIndex}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      const TensorType& x = ops::type(op, 0);
      ops::check_unique(diag, "C2", "dimensions", op.i64s("dimensions"));
      ops::check_range(diag, "C3", "dimensions", op.i64s("dimensions"), x.rank());
      return {x};
    },
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      const Literal& x = ctx.args[0];
      std::vector<int64_t> strides = row_major_strides(x.dims());
      int64_t offset = 0;
      for (int64_t d : ctx.op->i64s("dimensions")) {
        offset += (x.dims()[d] - 1) * strides[d];
        strides[d] = -strides[d];
      }
      return ops::one(ops::gather_strided(x, x.dims(), offset, strides));
    },
    .element = [](ElementContext& ctx,
                  const Index& index) { return ctx.operand(0, reversed(ctx, index)); },
    .forward = reversed,
    .any_layout = true,
    .constraints = {"C2", "C3"},
};

}  // namespace tenfold
