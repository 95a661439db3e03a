// stablehlo.set_dimension_size: the operand cut to a smaller size in one dimension.
#include "ops/_view.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  TensorType t = ops::type(op, 0);
  const int64_t d = op.i64("dimension");
  if (!ops::check_range(diag, "C3", "dimension", {d}, t.rank())) return {t};
  const TensorType& size = ops::type(op, 1);
  if (size.rank() != 0 || !is_integer(size.dtype)) {
    diag.fail("I2", fmt::format("the size is {}, wanted an integer scalar", size.str()));
    return {t};
  }
  const auto n = ops::known_shape(op, 1, diag);
  if (!n) return {t};
  if (!diag.at_most(0, n->front()) || !diag.at_most(n->front(), t.shape[d])) {
    diag.fail("size", fmt::format("the new size is {}, wanted 0 to {}", n->front().str(),
                                  t.shape[d].str()));
  }
  t.shape[d] = n->front();
  return ops::check_result(op, diag, "C1", t);
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Literal& x = ctx.args[0];
  const int64_t d = ctx.op->i64("dimension"), n = ctx.args[1].as_i64(0);
  std::vector<int64_t> dims = x.dims();
  if (n < 0 || n > dims[d]) {
    return ctx.error("slice-bounds", fmt::format("the new size is {}, wanted 0 to {}", n, dims[d]));
  }
  dims[d] = n;
  return ops::one(ops::gather_strided(x, dims, 0, row_major_strides(x.dims())));
}

}  // namespace

extern const OpDef op_set_dimension_size;
const OpDef op_set_dimension_size = {
    .name = "stablehlo.set_dimension_size",
    .summary = "The operand cut to a size, given by an operand, in one dimension.",
    .kind = OpKind::View,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"dimension", AttrKind::I64}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .element = [](ElementContext& ctx,
                  const std::vector<loop::Expr>& index) { return ctx.operand(0, index); },
    .constraints = {"I2", "C1", "C3", "size", "dynamic"},
};

}  // namespace tenfold
