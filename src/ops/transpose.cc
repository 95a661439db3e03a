// stablehlo.transpose
#include "ops/_view.h"

namespace tenfold {
namespace {

using Index = std::vector<loop::Expr>;

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = ops::type(op, 0);
  const auto& perm = op.i64s("permutation");
  if (!ops::check_size(diag, "C2", "permutation", static_cast<int64_t>(perm.size()), x.rank()) ||
      !ops::check_range(diag, "C2", "permutation", perm, x.rank()) ||
      !ops::check_unique(diag, "C2", "permutation", perm)) {
    return {x};
  }
  TensorType t{x.dtype, {}};
  for (int64_t p : perm) t.shape.push_back(x.shape[p]);
  return {t};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Literal& x = ctx.args[0];
  const std::vector<int64_t> from = row_major_strides(x.dims());
  std::vector<int64_t> dims, strides;
  for (int64_t p : ctx.op->i64s("permutation")) {
    dims.push_back(x.dims()[p]);
    strides.push_back(from[p]);
  }
  return ops::one(ops::gather_strided(x, std::move(dims), 0, strides));
}

}  // namespace

extern const OpDef op_transpose;
const OpDef op_transpose = {
    .name = "stablehlo.transpose",
    .summary = "Permutes the dimensions: dimension i of the result is permutation[i].",
    .kind = OpKind::View,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"permutation", AttrKind::I64s}},
    .infer = infer,
    .eval = eval,
    .element =
        [](ElementContext& ctx, const Index& index) {
          const auto& perm = ctx.op->i64s("permutation");
          Index at(index.size());
          for (size_t i = 0; i < perm.size(); ++i) at[perm[i]] = index[i];
          return ctx.operand(0, at);
        },
    .forward =
        [](ElementContext& ctx, const Index& index) {
          Index at;
          for (int64_t p : ctx.op->i64s("permutation")) at.push_back(index[p]);
          return at;
        },
    .constraints = {"C2"},
};

}  // namespace tenfold
