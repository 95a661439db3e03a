// stablehlo.map: a scalar function of one element of each operand.
#include "ops/_view.h"
#include "ops/reduce_util.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  if (op.num_operands() == 0) {
    diag.fail("C2", "has no operands, wanted at least one");
    return ops::stated_types(op);
  }
  TensorType t = ops::type(op, 0);
  const auto& dims = op.i64s("dimensions");
  bool ordered = static_cast<int>(dims.size()) == t.rank();
  for (size_t i = 0; i < dims.size(); ++i) ordered &= dims[i] == static_cast<int64_t>(i);
  if (!ordered) {
    diag.fail("C3", fmt::format("dimensions are {}, wanted 0 to {} in order", ops::str(dims),
                                t.rank() - 1));
  }
  for (int i = 1; i < op.num_operands(); ++i) {
    if (ops::check_shapes(diag, "C1", "operands", t.shape, ops::type(op, i).shape)) {
      t.shape = ops::merge(t.shape, ops::type(op, i).shape);
    }
  }
  const Block& body = *op.region();
  bool fits = body.args.size() == op.operands().size() && !body.ops.empty() &&
              body.results().size() == 1 && body.results()[0]->type.rank() == 0;
  for (size_t i = 0; fits && i < body.args.size(); ++i) {
    fits = body.args[i]->type == TensorType{ops::type(op, static_cast<int>(i)).dtype, {}};
  }
  if (fits) {
    t.dtype = body.results()[0]->type.dtype;
  } else {
    diag.fail("C4",
              "the computation must take one scalar of each operand's element type and "
              "return one scalar");
  }
  return {t};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const std::vector<int64_t> dims = ctx.args[0].dims();
  const int64_t n = ctx.args[0].size();
  std::vector<Literal> args;
  for (const Literal& a : ctx.args) {
    TF_TRY(ops::same_dims(ctx, "operands", dims, a.dims()));
    args.push_back(a.reshaped({n}));
  }
  TF_ASSIGN(auto out, run_region_on_arrays(ctx, *ctx.op->region(), std::move(args), n));
  out[0] = out[0].reshaped(dims);
  return out;
}

Status emit(EmitContext& ctx) {
  ctx.b->nest("i", ops::dims_of(ctx, ctx.op->result()->type.shape),
              [&](const std::vector<loop::Expr>& i) {
                std::vector<loop::Expr> args;
                for (int k = 0; k < ctx.op->num_operands(); ++k) args.push_back(ctx.operand(k, i));
                ctx.store(0, i, ctx.inline_region(*ctx.op->region(), args)[0]);
              });
  return ok_status();
}

}  // namespace

extern const OpDef op_map;
const OpDef op_map = {
    .name = "stablehlo.map",
    .summary = "Applies a scalar computation to corresponding elements of the operands.",
    .kind = OpKind::Opaque,
    .num_regions = 1,
    .attrs = {{"dimensions", AttrKind::I64s}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"C1", "C2", "C3", "C4"},
};

}  // namespace tenfold
