// tenfold.nonzero: positions of the elements that are not zero.
#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const auto count = dims_or(op, "count", 0, 0);
  if (count.size() != 1) {
    diag.fail("C1", "count must be one dimension, found " + shape_str(count));
    return {{DType::I64, {op.operand()->type.rank(), 0}}};
  }
  return {{DType::I64, {op.operand()->type.rank(), count[0]}}};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& x = c.args[0];
  Literal out(DType::I64, c.shape(c.op->result()->type));
  const int64_t count = out.dims()[1];
  int64_t found = 0;
  std::vector<int64_t> at(x.dims().size(), 0);
  for (int64_t i = 0; i < x.size(); ++i, next_index(at, x.dims())) {
    const bool set = is_complex(x.dtype()) ? x.as_c128(i) != 0.0
                     : is_float(x.dtype()) ? x.as_f64(i) != 0
                                           : x.as_i64(i) != 0;
    if (!set) continue;
    if (found < count)
      for (size_t d = 0; d < at.size(); ++d)
        out.set_i64(static_cast<int64_t>(d) * count + found, at[d]);
    ++found;
  }
  if (found != count)
    return c.error("nonzero-count", "count says " + std::to_string(count) + " elements, " +
                                        std::to_string(found) + " are not zero");
  return std::vector<Literal>{out};
}

Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const TensorType& x = c.op->operand()->type;
  const Expr count = c.dim(c.op->result()->type.shape[1]);
  std::vector<Expr> dims;
  for (const Dim& d : x.shape) dims.push_back(c.dim(d));
  for_rows(b, {}, [&](const std::vector<Expr>&) {
    const Buffer n = b.cell("n", int_const(0));
    for_in_order(b, "i", dims, [&](const std::vector<Expr>& at) {
      const Expr set = loop::op(Prim::Ne, {c.operand(0, at), zero(x.dtype)});
      b.if_(logical_and(set, lt(b.get(n), count)), [&] {
        for (size_t d = 0; d < at.size(); ++d)
          c.store(0, {int_const(static_cast<int64_t>(d)), b.get(n)}, at[d]);
        b.set(n, b.get(n) + 1);
      });
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_nonzero;
const OpDef op_nonzero = {
    .name = "tenfold.nonzero",
    .summary = "Positions of the elements that are not zero",
    .doc =
        "A [rank, count] tensor of i64 coordinates in row-major order of the elements; count is "
        "what tenfold.nonzero_count gave, as a symbol.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = {{"count", AttrKind::Dims, true, "one dimension: the number of nonzero elements"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1"},
};

}  // namespace tenfold
