// stablehlo.iota
#include "ops/_view.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  if (op.num_results() == 0) return {TensorType{}};
  const TensorType& t = op.result()->type;
  ops::check_range(diag, "C1", "iota_dimension", {op.i64("iota_dimension")}, t.rank());
  if (t.dtype == DType::Bool) diag.fail("O1", "the element type is i1, wanted a number's");
  return {t};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const TensorType& t = ctx.op->result()->type;
  const std::vector<int64_t> dims = ctx.shape(t);
  const int64_t d = ctx.op->i64("iota_dimension");
  Literal row(DType::I64, {dims[d]});
  int64_t n = 0;
  for (int64_t& v : row.mutable_data<int64_t>()) v = n++;
  std::vector<int64_t> strides(dims.size(), 0);
  strides[d] = 1;
  return ops::one(ops::gather_strided(convert(row, t.dtype), dims, 0, strides));
}

}  // namespace

extern const OpDef op_iota;
const OpDef op_iota = {
    .name = "stablehlo.iota",
    .summary = "Each element is its index in one dimension.",
    .kind = OpKind::Constant,
    .max_operands = 0,
    .attrs = {{"iota_dimension", AttrKind::I64}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .element =
        [](ElementContext& ctx, const std::vector<loop::Expr>& index) {
          return loop::cast(index[ctx.op->i64("iota_dimension")], ctx.op->result()->type.dtype);
        },
    .constraints = {"C1", "O1"},
};

}  // namespace tenfold
