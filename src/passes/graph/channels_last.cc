// Convolutions get their feature dimension last ([b, spatial, f] x [spatial, i, o]): contiguous
// features are what vector loads, packed weights and register blocks want. Transposes go around
// each convolution; sink_transposes then makes most of them meet and vanish. A 1x1 convolution
// without padding or stride becomes a matrix multiplication.
#include <algorithm>

#include "passes/rewrite.h"

namespace tenfold {
namespace {

std::vector<int64_t> order(int64_t first, const std::vector<int64_t>& middle, int64_t last) {
  std::vector<int64_t> o{first};
  o.insert(o.end(), middle.begin(), middle.end());
  o.push_back(last);
  return o;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& p) {
  std::vector<int64_t> q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}

bool is_identity(const std::vector<int64_t>& p) {
  for (size_t i = 0; i < p.size(); ++i)
    if (p[i] != static_cast<int64_t>(i)) return false;
  return true;
}

std::vector<int64_t> counted(int64_t from, size_t n) {
  std::vector<int64_t> v;
  for (size_t i = 0; i < n; ++i) v.push_back(from + static_cast<int64_t>(i));
  return v;
}

// [1, ..., i, o] as [i, o], before it is widened as well.
Value* as_matrix(GraphBuilder& b, Value* w) {
  const Shape& s = w->type.shape;
  const Shape matrix{s[s.size() - 2], s.back()};
  if (Op* widen = def_of(w, "stablehlo.convert"))
    return b.convert(b.reshape(widen->operand(), matrix), w->type.dtype);
  return b.reshape(w, matrix);
}

bool uniform(const Op& op, std::string_view attr, int64_t value) {
  const Attr* a = op.attr(attr);
  if (!a) return true;
  auto same = [&](const auto& x) { return x == value; };
  if (auto* d = std::get_if<std::vector<Dim>>(&a->v))
    return std::all_of(d->begin(), d->end(), same);
  if (auto* n = std::get_if<int64_t>(&a->v)) return *n == value;
  const auto& v = a->as<std::vector<int64_t>>();
  return std::all_of(v.begin(), v.end(), same);
}

bool rewrite(Module& m, Op* op) {
  auto spatial = op->i64s("input_spatial_dimensions");
  auto x_order =
      order(op->i64("input_batch_dimension"), spatial, op->i64("input_feature_dimension"));
  const auto& ks = op->i64s("kernel_spatial_dimensions");
  std::vector<int64_t> w_order = ks;
  w_order.push_back(op->i64("kernel_input_feature_dimension"));
  w_order.push_back(op->i64("kernel_output_feature_dimension"));
  auto y_order = order(op->i64("output_batch_dimension"), op->i64s("output_spatial_dimensions"),
                       op->i64("output_feature_dimension"));
  size_t n = spatial.size();
  bool plain = uniform(*op, "window_strides", 1) && uniform(*op, "padding", 0) &&
               uniform(*op, "lhs_dilation", 1) && uniform(*op, "feature_group_count", 1) &&
               uniform(*op, "batch_group_count", 1);
  const Shape& kernel = op->operand(1)->type.shape;
  for (int64_t k : ks) plain &= kernel[k] == Dim(1);
  if (is_identity(x_order) && is_identity(w_order) && is_identity(y_order) && !plain) return false;
  GraphBuilder b = builder_at(m, op);
  Value* x = transpose_early(b, op->operand(0), x_order);
  Value* w = transpose_early(b, op->operand(1), w_order);
  Shape out;
  for (int64_t d : y_order) out.push_back(op->result()->type.shape[d]);
  Value* y;
  if (plain) {
    Dim pixels = 1;
    for (size_t i = 0; i + 1 < out.size(); ++i) pixels = pixels * out[i];
    Value* a = b.reshape(x, {pixels, x->type.shape.back()});
    y = b.dot_general(a, as_matrix(b, w), {}, {}, {1}, {0}, op->result()->type.dtype);
    y = b.reshape(y, out);
  } else {
    AttrDict attrs = op->attrs;
    auto set = [&](std::string_view name, Attr v) {
      for (auto& [k, a] : attrs)
        if (k == name) a = std::move(v);
    };
    int64_t f = static_cast<int64_t>(n) + 1;
    set("input_batch_dimension", {int64_t{0}});
    set("input_feature_dimension", {f});
    set("input_spatial_dimensions", {counted(1, n)});
    set("kernel_spatial_dimensions", {counted(0, n)});
    set("kernel_input_feature_dimension", {static_cast<int64_t>(n)});
    set("kernel_output_feature_dimension", {f});
    set("output_batch_dimension", {int64_t{0}});
    set("output_feature_dimension", {f});
    set("output_spatial_dimensions", {counted(1, n)});
    y = b.create("stablehlo.convolution", {x, w}, attrs, {{op->result()->type.dtype, out}})
            ->result();
  }
  replace_op(op, {b.transpose(y, inverse(y_order))});
  return true;
}

Result<bool> run(Module& m, PassContext&) {
  bool changed = false;
  for_each_op(m, [&](Op* op) {
    if (op->is("stablehlo.convolution")) changed |= rewrite(m, op);
  });
  return changed;
}

}  // namespace

extern const GraphPass pass_channels_last;
const GraphPass pass_channels_last = {
    .name = "channels_last",
    .summary = "Convolutions with features last; pointwise ones as matrix multiplications.",
    .run = run,
};

}  // namespace tenfold
