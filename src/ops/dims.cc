// tenfold.dims: dimension values as a rank-1 integer tensor; what ONNX's Shape becomes.
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const auto& dims = op.dims("dims");
  TensorType t = op.num_results() ? op.result()->type : TensorType{};
  if (!is_integer(t.dtype)) {
    diag.fail("C1", "gives integers, but its result is " + t.str());
  }
  if (t.rank() != 1 || equal(t.shape[0], Dim(static_cast<int64_t>(dims.size()))) != Truth::Yes) {
    diag.fail("C2",
              "has " + std::to_string(dims.size()) + " dimensions, but its result is " + t.str());
  }
  return {t};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const auto& dims = c.op->dims("dims");
  Literal l(c.op->result()->type.dtype, {static_cast<int64_t>(dims.size())});
  for (size_t i = 0; i < dims.size(); ++i) l.set_i64(static_cast<int64_t>(i), c.dim(dims[i]));
  return std::vector<Literal>{std::move(l)};
}

loop::Expr element(ElementContext& c, const std::vector<loop::Expr>& index) {
  const auto& dims = c.op->dims("dims");
  const DType t = c.op->result()->type.dtype;
  if (dims.empty()) return loop::zero(t);  // no element is ever asked for
  loop::Expr value = loop::cast(c.dim(dims.back()), t);
  for (int64_t i = static_cast<int64_t>(dims.size()) - 2; i >= 0; --i) {
    value =
        loop::guard(loop::eq(index[0], loop::int_const(i)), loop::cast(c.dim(dims[i]), t), value);
  }
  return value;
}

}  // namespace

extern const OpDef op_dims;
const OpDef op_dims = {
    .name = "tenfold.dims",
    .summary = "Dimension values as a rank-1 integer tensor.",
    .doc =
        "Result i is the value of dimension expression i of `dims` under the symbols' current "
        "values, wrapped to the result's element type.",
    .kind = OpKind::Constant,
    .max_operands = 0,
    .attrs = {{"dims", AttrKind::Dims, true, "the dimension expressions"}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .element = element,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
