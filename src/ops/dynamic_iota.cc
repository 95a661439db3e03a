// stablehlo.dynamic_iota
#include "ops/_dynamic.h"

namespace tenfold {
namespace {

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  TF_ASSIGN(auto dims, ops::shaped_result(ctx, 0));
  const int64_t d = ctx.op->i64("iota_dimension");
  Literal row(DType::I64, {dims[d]});
  for (int64_t i = 0; i < dims[d]; ++i) row.set_i64(i, i);
  std::vector<int64_t> strides(dims.size(), 0);
  strides[d] = 1;
  row = convert(row, ctx.op->result()->type.dtype);
  return ops::one(ops::gather_strided(row, dims, 0, strides));
}

}  // namespace

extern const OpDef op_dynamic_iota;
const OpDef op_dynamic_iota = {
    .name = "stablehlo.dynamic_iota",
    .summary = "iota of a shape given by an operand.",
    .kind = OpKind::Constant,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"iota_dimension", AttrKind::I64}},
    .infer = [](const Op& op, Diag& diag) -> std::vector<TensorType> {
      auto types = ops::shaped_result(op, 0, diag, "C2");
      ops::check_range(diag, "C1", "iota_dimension", {op.i64("iota_dimension")}, types[0].rank());
      return types;
    },
    .explicit_results = true,
    .eval = eval,
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>& index) {
          return loop::cast(index[ctx.op->i64("iota_dimension")], ctx.op->result()->type.dtype);
        },
    .constraints = {"C1", "C2", "dynamic"},
};

}  // namespace tenfold
