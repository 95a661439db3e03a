#include "ops/batch_norm_util.h"

namespace tenfold {

bool check_batch_norm(const Op& op, int first_vector, int last_vector, Diag& diag) {
  const TensorType& x = op.operand()->type;
  const int64_t f = op.i64("feature_index");
  if (!is_float(x.dtype)) diag.fail("C2", "wanted floats, found " + x.str());
  for (const Value* v : op.operands())
    if (v->type.dtype != x.dtype)
      diag.fail("C2",
                "operands must have one element type, found " + x.str() + " and " + v->type.str());
  if (f < 0 || f >= x.rank()) {
    diag.fail("C1", "feature_index is " + std::to_string(f) + " for " + x.str());
    return false;
  }
  static constexpr std::string_view kLabels[] = {"C3", "C4", "C5", "C6"};
  for (int i = first_vector; i <= last_vector; ++i) {
    const TensorType& t = op.operand(i)->type;
    if (t.rank() != 1 || !diag.equal(t.shape[0], x.shape[f]))
      diag.fail(kLabels[i - first_vector], "operand " + std::to_string(i) + " is " + t.str() +
                                               ", wanted a vector of " + x.shape[f].str());
  }
  return diag.ok();
}

FeatureView feature_view(const Literal& x, int64_t feature_index) {
  FeatureView v;
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < feature_index ? v.outer : d == feature_index ? v.features : v.inner) *= x.dims()[d];
  return v;
}

Literal spread_apply(Prim p, const FeatureView& v, const Literal& a, const Literal& b) {
  const int64_t total = v.outer * v.features * v.inner;
  // An operand of `features` elements that is not itself the array is a vector.
  const auto is_vector = [&](const Literal& l) { return l.rank() == 1 && l.size() == v.features; };
  const Literal& shape = is_vector(a) && !is_vector(b) ? b : a;
  Literal out(a.dtype(), shape.dims());
  if (total == 0 || out.size() == 0) return out;
  std::byte* to = out.mutable_bytes();
  const int64_t size = byte_size(a.dtype());
  if (out.size() == v.features && total != v.features) {  // vector with vector
    const void* args[] = {a.bytes(), b.bytes()};
    const int64_t unit[] = {1, 1};
    apply(p, a.dtype(), args, unit, to, v.features);
    return out;
  }
  for (int64_t row = 0; row < v.outer * v.features; ++row) {
    const int64_t f = row % v.features;
    const auto start = [&](const Literal& l, int64_t& stride) {
      const bool whole = l.size() == total && !(is_vector(l) && total != v.features);
      stride = whole ? 1 : 0;
      return l.bytes() + (whole ? row * v.inner : f) * size;
    };
    int64_t strides[2];
    const void* args[] = {start(a, strides[0]), start(b, strides[1])};
    apply(p, a.dtype(), args, strides, to + row * v.inner * size, v.inner);
  }
  return out;
}

}  // namespace tenfold
