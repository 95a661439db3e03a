// stablehlo.dynamic_slice: a slice of known size whose start is data, moved inside the operand.
#include <algorithm>

#include "ops/_view.h"

namespace tenfold {
namespace {

using Index = std::vector<loop::Expr>;

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& x = ops::type(op, 0);
  const auto& sizes = op.dims("slice_sizes");
  ops::check_size(diag, "C2", "start_indices", op.num_operands() - 1, x.rank());
  for (int i = 1; i < op.num_operands(); ++i) {
    const TensorType& s = ops::type(op, i);
    ops::check_type(op, i, ops::kInt, diag);
    if (s.rank() != 0) {
      diag.fail("I2", fmt::format("start index {} is {}, wanted a scalar", i - 1, s.str()));
    }
    ops::check_dtypes(diag, "C3", "start indices", ops::type(op, 1).dtype, s.dtype);
  }
  if (!ops::check_size(diag, "C2", "slice_sizes", static_cast<int64_t>(sizes.size()), x.rank())) {
    return {x};
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (diag.at_most(0, sizes[i]) && diag.at_most(sizes[i], x.shape[i])) {
      continue;
    }
    diag.fail("C4", fmt::format("slice size of dimension {} is {}, wanted 0 to {}", i,
                                sizes[i].str(), x.shape[i].str()));
  }
  return {{x.dtype, sizes}};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Literal& x = ctx.args[0];
  const std::vector<int64_t> dims = ctx.shape(ctx.op->result()->type);
  const std::vector<int64_t> strides = row_major_strides(x.dims());
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t room = x.dims()[i] - dims[i];
    if (room < 0) {
      return ctx.error("slice-bounds",
                       fmt::format("dimension {} has size {}, less than the slice's "
                                   "{}",
                                   i, x.dims()[i], dims[i]));
    }
    const Literal& s = ctx.args[i + 1];
    int64_t start = s.as_i64(0);
    if (s.dtype() == DType::U64 && start < 0) start = room;
    offset += std::clamp<int64_t>(start, 0, room) * strides[i];
  }
  return ops::one(ops::gather_strided(x, dims, offset, strides));
}

}  // namespace

extern const OpDef op_dynamic_slice;
const OpDef op_dynamic_slice = {
    .name = "stablehlo.dynamic_slice",
    .summary = "A slice of known size from a run-time start, which is clamped to stay inside.",
    .kind = OpKind::View,
    .min_operands = 1,
    .attrs = {{"slice_sizes", AttrKind::Dims}},
    .infer = infer,
    .eval = eval,
    .element =
        [](ElementContext& ctx, const Index& index) {
          const Shape &from = ops::type(*ctx.op, 0).shape, &to = ctx.op->dims("slice_sizes");
          Index at;
          for (size_t i = 0; i < index.size(); ++i) {
            if (from[i] == to[i]) {
              at.push_back(index[i]);
              continue;
            }
            loop::Expr start = ctx.operand(static_cast<int>(i) + 1, {});
            const loop::Expr room = ctx.dim(from[i] - to[i]);
            if (start->dtype == DType::U64) {  // huge starts must not wrap to negative ones
              start = loop::op(Prim::Min, {start, loop::cast(room, DType::U64)});
            }
            start = loop::imin(loop::cast(start, DType::I64), room);
            at.push_back(index[i] + loop::imax(start, loop::int_const(0)));
          }
          return ctx.operand(0, at);
        },
    .constraints = {"I2", "C2", "C3", "C4"},
};

}  // namespace tenfold
