// See ms_norm_util.h.
#include "frontends/onnx/ops/ms_norm_util.h"

namespace tenfold::onnx {

Normalized layer_normalize(NodeContext& n, Value* x, Value* gamma, Value* beta, double epsilon,
                           int64_t axis, bool centre) {
  GraphBuilder& b = n.b;
  const DType t = x->type.dtype, w = wide(t);
  const int64_t rank = x->type.rank();
  const Shape shape = x->type.shape;
  const auto dims = iota_list(rank - axis, axis);
  for (Value* v : {gamma, beta}) {
    if (!v) continue;
    n.need_rank(v, rank - axis, rank - axis, "gamma or beta");
    for (size_t i = 0; i < v->type.shape.size(); ++i) {
      n.require_equal(v->type.shape[i], shape[static_cast<size_t>(axis) + i], "gamma or beta");
    }
  }
  Normalized r{};
  Value* v = b.convert(x, w);
  const auto whole = [&](Value* s) { return n.broadcast_to(s, shape); };
  if (centre) {
    r.mean = mean(b, v, dims, true);
    v = sub(b, v, whole(r.mean));
  }
  Value* var = mean(b, square(b, v), dims, true);
  r.inv_std = b.unary(Prim::Rsqrt, add(b, var, epsilon));
  v = mul(b, v, whole(r.inv_std));
  v = mul(b, v, b.broadcast_in_dim(b.convert(gamma, w), shape, dims));
  if (beta) v = add(b, v, b.broadcast_in_dim(b.convert(beta, w), shape, dims));
  r.y = b.convert(v, t);
  return r;
}

}  // namespace tenfold::onnx
