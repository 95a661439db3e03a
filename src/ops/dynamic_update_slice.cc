// stablehlo.dynamic_update_slice: overwrites a part of the operand, in place where its buffer dies.
#include <algorithm>

#include "ops/_view.h"

namespace tenfold {
namespace {

using loop::Expr;
using Index = std::vector<Expr>;

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &x = ops::type(op, 0), &u = ops::type(op, 1);
  ops::check_dtypes(diag, "C2", "operand and update", x.dtype, u.dtype);
  ops::check_size(diag, "C4", "start_indices", op.num_operands() - 2, x.rank());
  for (int i = 2; i < op.num_operands(); ++i) {
    const TensorType& s = ops::type(op, i);
    ops::check_type(op, i, ops::kInt, diag);
    if (s.rank() != 0) {
      diag.fail("I3", fmt::format("start index {} is {}, wanted a scalar", i - 2, s.str()));
    }
    ops::check_dtypes(diag, "C5", "start indices", ops::type(op, 2).dtype, s.dtype);
  }
  if (u.rank() != x.rank()) {
    diag.fail("C3", fmt::format("update has rank {}, wanted {}", u.rank(), x.rank()));
    return {x};
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (diag.at_most(u.shape[i], x.shape[i])) continue;
    diag.fail("C6", fmt::format("update is {} in dimension {}, wanted at most {}", u.shape[i].str(),
                                i, x.shape[i].str()));
  }
  return {x};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  Literal out = std::move(ctx.args[0]);
  const Literal& u = ctx.args[1];
  const std::vector<int64_t> strides = row_major_strides(out.dims());
  int64_t offset = 0;
  for (int i = 0; i < out.rank(); ++i) {
    const int64_t room = out.dims()[i] - u.dims()[i];
    if (room < 0) {
      return ctx.error("slice-bounds", fmt::format("update {} is larger than the operand {}",
                                                   ops::str(u.dims()), ops::str(out.dims())));
    }
    const Literal& s = ctx.args[i + 2];
    int64_t start = s.as_i64(0);
    if (s.dtype() == DType::U64 && start < 0) start = room;
    offset += std::clamp<int64_t>(start, 0, room) * strides[i];
  }
  const int size = byte_size(out.dtype());
  if (u.size() > 0) {
    ops::copy_strided(size, u.dims(), out.mutable_bytes() + offset * size, strides, u.bytes(),
                      row_major_strides(u.dims()));
  }
  return ops::one(std::move(out));
}

Status emit(EmitContext& ctx) {
  loop::Builder& b = *ctx.b;
  const TensorType &x = ops::type(*ctx.op, 0), &u = ops::type(*ctx.op, 1);
  if (!ctx.in_place()) {
    b.nest("i", ops::dims_of(ctx, x.shape),
           [&](const Index& i) { b.store(ctx.result_buffer(0), i, ctx.operand(0, i)); });
  }
  b.nest("u", ops::dims_of(ctx, u.shape), [&](const Index& i) {
    Index at;
    for (size_t d = 0; d < i.size(); ++d) {
      Expr start = ctx.operand(static_cast<int>(d) + 2, {});
      const Expr room = ctx.dim(x.shape[d] - u.shape[d]);
      if (start->dtype == DType::U64) {  // huge starts must not wrap to negative ones
        start = loop::op(Prim::Min, {start, loop::cast(room, DType::U64)});
      }
      start = loop::imin(loop::cast(start, DType::I64), room);
      at.push_back(i[d] + loop::imax(start, loop::int_const(0)));
    }
    b.store(ctx.result_buffer(0), at, ctx.operand(1, i));
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_dynamic_update_slice;
const OpDef op_dynamic_update_slice = {
    .name = "stablehlo.dynamic_update_slice",
    .summary = "The operand with a part overwritten from a run-time start, clamped to stay inside.",
    .kind = OpKind::GatherScatter,
    .min_operands = 2,
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .in_place_operand = 0,
    .constraints = {"I3", "C2", "C3", "C4", "C5", "C6"},
};

}  // namespace tenfold
