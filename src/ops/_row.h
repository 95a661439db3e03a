// Row kernels (softmax, layer norm): each row over the trailing or one axis is read once into a
// scratch row in the accumulator's type, then worked on there.
#pragma once

#include "ops/_check.h"

namespace tenfold::ops {

inline DType row_accumulator(DType t) { return t == DType::F64 ? DType::F64 : DType::F32; }

// Serial loops over `dims`.
inline void each(loop::Builder& b, std::string_view name, const std::vector<loop::Expr>& dims,
                 const std::function<void(const std::vector<loop::Expr>&)>& f) {
  std::vector<loop::Expr> index;
  const std::function<void()> level = [&] {
    if (index.size() == dims.size()) return f(index);
    b.for_(name, dims[index.size()], [&](loop::Expr i) {
      index.push_back(i);
      level();
      index.pop_back();
    });
  };
  level();
}

// The axis attribute, counted from the front (layout changes rewrite it); fails with "axis".
inline bool check_axis(const Op& op, Diag& diag) {
  return check_range(diag, "axis", "axis", {op.i64("axis")}, type(op, 0).rank());
}

// layer_norm and rms_norm: x and scale (and bias) over the dimensions from `axis` on.
std::vector<TensorType> infer_norm(const Op& op, Diag& diag);
Result<std::vector<Literal>> eval_norm(EvalContext& ctx, bool centered);
Status emit_norm(EmitContext& ctx, bool centered);

}  // namespace tenfold::ops
