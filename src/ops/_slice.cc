// See _slice.h.
#include "ops/_slice.h"

namespace tenfold::ops {

TensorType check_slice(Diag& diag, const TensorType& x, const SliceBounds& s) {
  const auto rank = static_cast<int64_t>(x.rank());
  if (!check_size(diag, "C2", "start_indices", static_cast<int64_t>(s.start.size()), rank) ||
      !check_size(diag, "C2", "limit_indices", static_cast<int64_t>(s.limit.size()), rank) ||
      !check_size(diag, "C2", "strides", static_cast<int64_t>(s.stride.size()), rank)) {
    return x;
  }
  TensorType t{x.dtype, {}};
  for (int64_t i = 0; i < rank; ++i) {
    const Dim &a = s.start[i], &b = s.limit[i], &n = x.shape[i];
    if (!diag.at_most(0, a) || !diag.at_most(a, b) || !diag.at_most(b, n)) {
      diag.fail("C3", fmt::format("dimension {}: wanted 0 <= start <= limit <= {}, found start {} "
                                  "and limit {}",
                                  i, n.str(), a.str(), b.str()));
    }
    if (s.stride[i] <= 0) {
      diag.fail("C4",
                fmt::format("stride of dimension {} is {}, wanted at least 1", i, s.stride[i]));
      t.shape.push_back(n);
    } else {
      t.shape.push_back(ceildiv(b - a, s.stride[i]));
    }
  }
  return t;
}

Result<std::vector<Literal>> eval_slice(EvalContext& ctx, const std::vector<int64_t>& start,
                                        const std::vector<int64_t>& limit,
                                        const std::vector<int64_t>& stride) {
  const Literal& x = ctx.args[0];
  std::vector<int64_t> strides = row_major_strides(x.dims()), dims(strides.size());
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (start[i] < 0 || start[i] > limit[i] || limit[i] > x.dims()[i] || stride[i] <= 0) {
      return ctx.error("slice-bounds",
                       fmt::format("dimension {} of size {} is sliced from {} to {} by {}", i,
                                   x.dims()[i], start[i], limit[i], stride[i]));
    }
    dims[i] = (limit[i] - start[i] + stride[i] - 1) / stride[i];
    offset += start[i] * strides[i];
    strides[i] *= stride[i];
  }
  return one(gather_strided(x, std::move(dims), offset, strides));
}

loop::Expr element_slice(ElementContext& ctx, const SliceBounds& s,
                         const std::vector<loop::Expr>& index) {
  std::vector<loop::Expr> at;
  for (size_t i = 0; i < index.size(); ++i) {
    at.push_back(index[i] * s.stride[i] + ctx.dim(s.start[i]));
  }
  return ctx.operand(0, at);
}

}  // namespace tenfold::ops
