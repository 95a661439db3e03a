// tenfold.nonzero_count: how many elements are not zero.
#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

extern const OpDef op_nonzero_count;
const OpDef op_nonzero_count = {
    .name = "tenfold.nonzero_count",
    .summary = "How many elements are not zero",
    .doc =
        "An i64 scalar, to be bound to a symbol by tenfold.bind_symbol for tenfold.nonzero. NaN is "
        "not zero.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .infer = [](const Op&, Diag&) { return std::vector<TensorType>{{DType::I64, {}}}; },
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> {
      const Literal& x = c.args[0];
      int64_t n = 0;
      for (int64_t i = 0; i < x.size(); ++i) {
        if (is_complex(x.dtype()))
          n += x.as_c128(i) != 0.0;
        else if (is_float(x.dtype()))
          n += x.as_f64(i) != 0;
        else
          n += x.as_i64(i) != 0;
      }
      return std::vector<Literal>{Literal::scalar_i(DType::I64, n)};
    },
    .emit = [](EmitContext& c) -> Status {
      using namespace loop;
      Builder& b = *c.b;
      const TensorType& x = c.op->operand()->type;
      std::vector<Expr> dims;
      for (const Dim& d : x.shape) dims.push_back(c.dim(d));
      for_rows(b, {}, [&](const std::vector<Expr>&) {
        const Buffer n = b.cell("n", int_const(0));
        for_in_order(b, "i", dims, [&](const std::vector<Expr>& at) {
          const Expr set = loop::op(Prim::Ne, {c.operand(0, at), zero(x.dtype)});
          b.set(n, b.get(n) + cast(set, DType::I64));
        });
        c.store(0, {}, b.get(n));
      });
      return ok_status();
    },
};

}  // namespace tenfold
