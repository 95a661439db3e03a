// See _elementwise.h.
#include "ops/_elementwise.h"

#include <cstring>

namespace tenfold::ops {

Literal LiteralAlgebra::op(Prim p, std::vector<Literal> args) {
  const std::vector<int64_t>* dims = &args[0].dims();
  for (const Literal& a : args) {
    if (a.rank() > 0) dims = &a.dims();
  }
  const DType t = args[p == Prim::Select ? 1 : 0].dtype();
  Literal out(result_dtype(p, t), *dims);
  const void* in[3];
  int64_t strides[3];
  for (size_t i = 0; i < args.size(); ++i) {
    in[i] = args[i].bytes();
    strides[i] = args[i].rank() == 0 ? 0 : 1;
  }
  if (out.size() > 0) apply(p, t, in, strides, out.mutable_bytes(), out.size());
  return out;
}

Literal LiteralAlgebra::bitcast(const Literal& x, DType t) {
  TF_CHECK(byte_size(t) == byte_size(x.dtype()));
  Literal out(t, x.dims());
  if (x.byte_count() > 0) std::memcpy(out.mutable_bytes(), x.bytes(), x.byte_count());
  return out;
}

Status check_elementwise_args(const EvalContext& ctx) {
  const Literal* first = nullptr;
  for (const Literal& a : ctx.args) {
    if (a.rank() == 0) continue;
    if (!first) first = &a;
    TF_TRY(same_dims(ctx, "operands", first->dims(), a.dims()));
  }
  return ok_status();
}

loop::Expr operand_at(ElementContext& ctx, int i, const std::vector<loop::Expr>& index) {
  if (ctx.op->operand(i)->type.rank() == 0) return ctx.operand(i, {});
  return ctx.operand(i, index);
}

OpDef elementwise(std::string_view op_name, Prim p, TypeSet types, std::string_view summary,
                  std::string_view doc) {
  OpDef d;
  d.name = op_name;
  d.summary = summary;
  d.doc = doc;
  d.kind = OpKind::Elementwise;
  d.min_operands = d.max_operands = arity(p);
  d.prim = p;
  if (types != kAny) d.constraints = {"I1"};
  if (arity(p) > 1) d.constraints.push_back("C1");
  d.infer = [p, types](const Op& op, Diag& diag) -> std::vector<TensorType> {
    TensorType t = type(op, 0);
    if (check_type(op, 0, types, diag) && !supports(p, t.dtype)) {
      diag.fail("unsupported",
                fmt::format("is not implemented on element type {}; convert first", name(t.dtype)));
    }
    for (int i = 1; i < op.num_operands(); ++i) {
      const TensorType& u = type(op, i);
      check_dtypes(diag, "C1", "operands", t.dtype, u.dtype);
      if (check_shapes(diag, "C1", "operands", t.shape, u.shape)) {
        t.shape = merge(t.shape, u.shape);
      }
    }
    if (diag.ok()) t.dtype = result_dtype(p, t.dtype);
    return {t};
  };
  d.eval = [p](EvalContext& ctx) -> Result<std::vector<Literal>> {
    TF_TRY(check_elementwise_args(ctx));
    return one(LiteralAlgebra::op(p, ctx.args));
  };
  return d;
}

}  // namespace tenfold::ops
