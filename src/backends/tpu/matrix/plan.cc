// See plan.h.
#include "backends/tpu/matrix/plan.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "fmt/format.h"

namespace tenfold::tpu::matrix {

namespace {

bool all(const std::vector<int64_t>& v, int64_t x) {
  return std::all_of(v.begin(), v.end(), [&](int64_t e) { return e == x; });
}

// Strides of a reshape's result, when the operand's express them.
std::optional<std::vector<int64_t>> reshaped(const std::vector<int64_t>& from,
                                             const std::vector<int64_t>& strides,
                                             const std::vector<int64_t>& to) {
  std::vector<int64_t> dims, steps;  // without ones
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) dims.push_back(from[i]), steps.push_back(strides[i]);
  }
  std::vector<int64_t> out(to.size(), 0);
  size_t i = 0;
  for (size_t o = 0; o < to.size();) {
    if (to[o] == 1) {
      ++o;
      continue;
    }
    // A run of result dimensions against a run of operand dimensions of the same size.
    if (i >= dims.size()) return std::nullopt;
    size_t ie = i + 1, oe = o + 1;
    int64_t a = dims[i], b = to[o];
    while (a != b) {
      if (a < b) {
        if (ie >= dims.size()) return std::nullopt;
        a *= dims[ie++];
      } else {
        if (oe >= to.size()) return std::nullopt;
        b *= to[oe++];
      }
    }
    for (size_t k = i; k + 1 < ie; ++k) {
      if (steps[k] != steps[k + 1] * dims[k + 1]) return std::nullopt;
    }
    int64_t step = steps[ie - 1];
    for (size_t k = oe; k-- > o;) {
      out[k] = step;
      step *= to[k];
    }
    i = ie;
    o = oe;
  }
  return out;
}

}  // namespace

std::vector<int64_t> dims_of(const Value* v) { return v->type.static_shape(); }

bool is_view(const Op& op) {
  return op.is("stablehlo.transpose") || op.is("stablehlo.reshape") ||
         op.is("stablehlo.broadcast_in_dim") || op.is("stablehlo.slice");
}

std::optional<Prim> reducer_of(const Op& op) {
  if (op.num_regions() != 1 || op.region()->args.size() != 2) return std::nullopt;
  const Block& b = *op.region();
  if (b.ops.size() != 2 || b.results().size() != 1) return std::nullopt;
  const Op& body = *b.ops.front();
  if (!body.def->prim || body.num_operands() != 2 || b.results()[0] != body.result()) {
    return std::nullopt;
  }
  const bool both = (body.operand(0) == b.args[0].get() && body.operand(1) == b.args[1].get()) ||
                    (body.operand(1) == b.args[0].get() && body.operand(0) == b.args[1].get());
  if (!both) return std::nullopt;
  return body.def->prim;
}

bool Planner::pieces(const Value* v, const Value* root, const StridesOf& strides,
                     const Densify& densify, std::vector<Piece>& out) {
  const std::vector<int64_t> dims = dims_of(v);
  const std::vector<int64_t> origin(dims.size(), 0);
  if (c_.is_constant(v)) {
    out.push_back({origin, dims, {}, {}});
    return true;
  }
  if (v != root && is_int8(v->type.dtype)) {
    out.push_back({origin, dims, {{v, 0, strides(v)}}, {}});
    return true;
  }
  const Op* op = v->def();
  if (!op) return fail(fmt::format("`{}` is an argument of type {}", v->name, v->type.str()));
  const auto below = [&](int i, std::vector<Piece>& p) {
    return pieces(op->operand(i), root, strides, densify, p);
  };
  if (op->def->kind == OpKind::Elementwise) {
    std::vector<Piece> merged;
    for (int i = 0; i < op->num_operands(); ++i) {
      if (c_.is_constant(op->operand(i))) continue;
      if (op->operand(i)->type.rank() != v->type.rank()) return fail("a scalar that is computed");
      std::vector<Piece> p;
      if (!below(i, p)) return false;
      if (merged.empty()) {
        merged = std::move(p);
        continue;
      }
      if (merged.size() != 1 || p.size() != 1) return fail("arithmetic on joined tensors");
      for (Access& a : p[0].in) {
        const bool have = std::any_of(merged[0].in.begin(), merged[0].in.end(), [&](Access& m) {
          return m.leaf == a.leaf && m.offset == a.offset && m.strides == a.strides;
        });
        if (!have) merged[0].in.push_back(std::move(a));
      }
    }
    if (merged.empty()) return fail("no operand");
    for (const Piece& p : merged) {
      if (p.in.size() > 2) return fail("elementwise arithmetic on more than two int8 tensors");
    }
    out.insert(out.end(), merged.begin(), merged.end());
    return true;
  }
  if (op->is("stablehlo.concatenate")) {
    const auto axis = static_cast<size_t>(op->i64("dimension"));
    int64_t at = 0;
    for (int i = 0; i < op->num_operands(); ++i) {
      std::vector<Piece> p;
      if (!below(i, p)) return false;
      for (Piece& piece : p) {
        piece.start[axis] += at;
        piece.choice[op] = i;
        out.push_back(std::move(piece));
      }
      at += dims_of(op->operand(i))[axis];
    }
    return true;
  }
  if (op->is("stablehlo.pad")) {
    const auto low = numbers_or(*op, "edge_padding_low", dims.size(), 0);
    const auto high = numbers_or(*op, "edge_padding_high", dims.size(), 0);
    const bool plain = all(numbers_or(*op, "interior_padding", dims.size(), 0), 0) &&
                       std::all_of(low.begin(), low.end(), [](int64_t x) { return x >= 0; }) &&
                       std::all_of(high.begin(), high.end(), [](int64_t x) { return x >= 0; });
    if (!plain || !c_.splat(op->operand(1))) return fail("a pad that crops or spreads");
    Piece fill{origin, dims, {}, {}};
    fill.choice[op] = 1;
    out.push_back(std::move(fill));
    std::vector<Piece> p;
    if (!below(0, p)) return false;
    for (Piece& piece : p) {
      for (size_t d = 0; d < dims.size(); ++d) piece.start[d] += low[d];
      piece.choice[op] = 0;
      out.push_back(std::move(piece));
    }
    return true;
  }
  if (!is_view(*op)) return fail(fmt::format("{} is no int8 arithmetic here", op->name()));
  std::vector<Piece> p;
  if (!below(0, p)) return false;
  if (p.size() != 1) return fail(fmt::format("{} of joined tensors", op->name()));
  Piece piece = std::move(p[0]);
  const std::vector<int64_t> from = dims_of(op->operand());
  const auto each = [&](auto&& f) {
    for (Access& a : piece.in) a.strides = f(a);
  };
  if (op->is("stablehlo.transpose")) {
    each([&](const Access& a) {
      std::vector<int64_t> s;
      for (const int64_t d : op->i64s("permutation"))
        s.push_back(a.strides[static_cast<size_t>(d)]);
      return s;
    });
  } else if (op->is("stablehlo.broadcast_in_dim")) {
    each([&](const Access& a) {
      std::vector<int64_t> s(dims.size(), 0);
      const auto& map = op->i64s("broadcast_dimensions");
      for (size_t d = 0; d < map.size(); ++d) {
        if (from[d] != 1) s[static_cast<size_t>(map[d])] = a.strides[d];
      }
      return s;
    });
  } else if (op->is("stablehlo.slice")) {
    const auto start = numbers_or(*op, "start_indices", dims.size(), 0);
    const auto step = numbers_or(*op, "strides", dims.size(), 1);
    each([&](Access& a) {
      std::vector<int64_t> s = a.strides;
      for (size_t d = 0; d < dims.size(); ++d) {
        a.offset += start[d] * s[d];
        s[d] *= step[d];
      }
      return s;
    });
  } else {  // reshape
    for (Access& a : piece.in) {
      auto s = reshaped(from, a.strides, dims);
      if (!s) {
        if (piece.in.size() != 1) return fail("a reshape of two int8 tensors together");
        if (densify) a = densify(op->operand(), piece);
        s = row_major_strides(dims);
      }
      a.strides = std::move(*s);
    }
  }
  piece.start = origin;
  piece.dims = dims;
  out.push_back(std::move(piece));
  return true;
}

std::optional<Literal> Planner::function(const Value* v, const Value* root, const Piece& piece,
                                         const std::vector<Literal>& leaves) {
  if (const auto s = c_.splat(v)) return Literal::scalar(v->type.dtype, *s);
  if (c_.is_constant(v)) {
    why_ = "a constant that differs from element to element";
    return std::nullopt;
  }
  if (v != root && is_int8(v->type.dtype)) {
    // Two accesses of one leaf are two values; which one a use means is not followed.
    size_t found = leaves.size(), n = 0;
    for (size_t i = 0; i < piece.in.size(); ++i) {
      if (piece.in[i].leaf == v) found = i, ++n;
    }
    if (n != 1) {
      why_ = "one int8 tensor read in two ways";
      return std::nullopt;
    }
    return leaves[found];
  }
  const Op& op = *v->def();
  if (op.is("stablehlo.concatenate") || op.is("stablehlo.pad")) {
    return function(op.operand(piece.choice.at(&op)), root, piece, leaves);
  }
  if (op.def->kind != OpKind::Elementwise) return function(op.operand(0), root, piece, leaves);
  std::vector<Literal> args;
  for (const Value* o : op.operands()) {
    auto a = function(o, root, piece, leaves);
    if (!a) return std::nullopt;
    args.push_back(std::move(*a));
  }
  auto r = evaluate_op(op, std::move(args));
  if (!r) why_ = fmt::format("{} cannot be tabulated", op.name());
  return r;
}

bool Planner::weights(const Value* v, int64_t axis, Product& p, std::vector<double>& scale) {
  if (const auto w = match_centred(v, c_); w && is_int8(w->q->type.dtype)) {
    if (!c_.is_constant(w->q)) return fail("both operands of the product are computed");
    const bool is_signed = w->q->type.dtype == DType::I8;
    const double low = (is_signed ? -128 : 0) - w->zero, high = (is_signed ? 127 : 255) - w->zero;
    scale = {1};
    if (w->scale) {
      auto s = c_.along(w->scale, axis);
      if (!s) return fail("weights with a scale in another dimension than the output's");
      scale = std::move(*s);
    }
    p.weight_dims = dims_of(v);
    if (!values_) return true;
    auto q = c_.get(w->q, INT64_MAX);
    if (!q) return fail("weights that are not known");
    Literal out = Literal::uninit(DType::I8, q->dims());
    auto to = out.mutable_data<int8_t>();
    for (int64_t i = 0; i < q->size(); ++i) {
      const auto x = static_cast<double>(q->as_i64(i)) - w->zero;
      // Only values that occur need to fit, not all that the type has.
      if ((low < -128 || high > 127) && (x < -128 || x > 127)) {
        return fail("weights that leave int8 once their zero point is taken off");
      }
      to[static_cast<size_t>(i)] = static_cast<int8_t>(x);
    }
    p.weights = std::move(out);
    return true;
  }
  const Op* op = v->def();
  if (!op || !is_view(*op) || op->is("stablehlo.broadcast_in_dim")) {
    return fail("a right operand that is no constant int8 tensor");
  }
  int64_t inner = -1;
  if (op->is("stablehlo.transpose")) inner = op->i64s("permutation")[static_cast<size_t>(axis)];
  if (!weights(op->operand(), inner, p, scale)) return false;
  p.weight_dims = dims_of(v);
  if (values_) {
    auto r = evaluate_op(*op, {p.weights});
    if (!r) return fail("weights behind a view that is not understood");
    p.weights = std::move(*r);
  }
  return true;
}

const Value* Planner::find_product(const Value* v) {
  for (int depth = 0; depth < 16; ++depth) {
    const Op* op = v->def();
    if (!op) return nullptr;
    if (op->is("stablehlo.convolution") || op->is("stablehlo.dot_general")) return v;
    if (op->def->kind != OpKind::Elementwise) return nullptr;
    const Value* next = nullptr;
    for (const Value* o : op->operands()) {
      if (c_.is_constant(o)) continue;
      if (next && next != o) return nullptr;
      next = o;
    }
    if (!next) return nullptr;
    v = next;
  }
  return nullptr;
}

bool Planner::product(const Value* v, Plan& plan) {
  const auto q = match_quantized(v, c_);
  const Value* y = q ? find_product(q->y) : nullptr;
  if (!y) return false;
  Product p;
  p.op = y->def();
  p.x = p.op->operand(0);
  const Op& op = *p.op;
  int64_t feature = 0, kernel_feature = 0;
  if (op.is("stablehlo.convolution")) {
    const auto spatial = op.i64s("input_spatial_dimensions").size();
    if (spatial > 2) return fail("a convolution over more than two dimensions");
    if (!all(numbers_or(op, "lhs_dilation", spatial, 1), 1))
      return fail("a transposed convolution");
    if (!all(numbers_or(op, "window_reversal", spatial, 0), 0)) return fail("a reversed window");
    const auto padding = numbers_or(op, "padding", 2 * spatial, 0);
    if (std::any_of(padding.begin(), padding.end(), [](int64_t x) { return x < 0; })) {
      return fail("a convolution that crops");
    }
    if (const Attr* a = op.attr("batch_group_count"); a && a->present() && a->as<int64_t>() != 1) {
      return fail("groups of the batch");
    }
    feature = op.i64("output_feature_dimension");
    kernel_feature = op.i64("kernel_output_feature_dimension");
  } else {
    const auto& contract = op.i64s("rhs_contracting_dimensions");
    if (!op.i64s("lhs_batching_dimensions").empty() || contract.size() != 1 ||
        op.operand(1)->type.rank() != 2 ||
        op.i64s("lhs_contracting_dimensions")[0] != op.operand(0)->type.rank() - 1) {
      return fail("a product with batch dimensions or several contracted ones");
    }
    feature = y->type.rank() - 1;
    kernel_feature = 1 - contract[0];
  }

  // The left operand, up to views.
  const Value* x = p.x;
  auto left = match_centred(x, c_);
  while (!left && x->def() && (is_view(*x->def()) || x->def()->is("stablehlo.pad"))) {
    x = x->def()->operand();
    left = match_centred(x, c_);
  }
  if (!left || !is_int8(left->q->type.dtype) || c_.is_constant(left->q)) {
    return fail("a left operand that is no int8 tensor");
  }
  p.left = *left;
  std::vector<double> weight_scale;
  if (!weights(op.operand(1), kernel_feature, p, weight_scale)) return false;

  const bool exact = y->type.dtype == DType::I32;
  const double sx = p.left.scale ? c_.splat(p.left.scale).value_or(0) : 1;
  if (sx <= 0) return fail("a left operand with a scale for each channel");
  if (!exact && y->type.dtype != DType::F32) return fail("a product in another type than f32");
  p.low = static_cast<int64_t>(q->low);
  p.high = static_cast<int64_t>(q->high);
  p.zero = static_cast<int64_t>(q->zero);

  const Value* constant = nullptr;
  const Value* t = q->y;
  const Op* o = t->def();
  const auto along = [&](const Value* c) { return c_.along(c, feature); };
  if (exact) {  // y = f32(sum + bias) * scale
    if (!o || o->def->prim != Prim::Mul) return fail("a sum that is not rescaled by a product");
    t = other_operand(*o, c_, constant);
    auto scale = t ? along(constant) : std::nullopt;
    if (!scale || !t->def() || !t->def()->is("stablehlo.convert"))
      return fail("an unknown rescaling");
    p.scale = std::move(*scale);
    t = t->def()->operand();
    if (t != y) {
      if (!t->def() || t->def()->def->prim != Prim::Add) return fail("an unknown bias");
      const Value* sum = other_operand(*t->def(), c_, constant);
      auto bias = sum == y ? along(constant) : std::nullopt;
      if (!bias) return fail("a bias that differs within a channel");
      p.bias = std::move(*bias);
    }
  } else {  // y = bounds(product + bias) / scale
    if (!o || o->def->prim != Prim::Div || !c_.is_constant(o->operand(1))) {
      return fail("a product that is not rescaled by a division");
    }
    const auto out = c_.splat(o->operand(1));
    if (!out || !(*out > 0)) return fail("a result with a scale for each channel");
    const auto sy = static_cast<float>(*out);
    double low = -INFINITY, high = INFINITY;
    t = peel_bounds(o->operand(0), c_, low, high);
    const auto bound = [&](double b) {
      return static_cast<double>(std::nearbyint(static_cast<float>(b) / sy)) + q->zero;
    };
    if (low > -INFINITY) p.low = std::max(p.low, static_cast<int64_t>(std::min(bound(low), 255.0)));
    if (high < INFINITY) {
      p.high = std::min(p.high, static_cast<int64_t>(std::max(bound(high), -128.0)));
    }
    std::vector<float> unit;  // of the sum, by channel
    for (const double w : weight_scale)
      unit.push_back(static_cast<float>(sx) * static_cast<float>(w));
    for (const float u : unit) p.scale.push_back(static_cast<double>(u / sy));
    if (t != y) {
      if (!t->def() || t->def()->def->prim != Prim::Add) return fail("an unknown bias");
      const Value* sum = other_operand(*t->def(), c_, constant);
      auto bias = sum == y ? along(constant) : std::nullopt;
      if (!bias) return fail("a bias that differs within a channel");
      const size_t n = std::max(bias->size(), unit.size());
      for (size_t i = 0; i < n; ++i) {  // in units of the sum, as the quantizer stores it
        p.bias.push_back(std::nearbyint((*bias)[bias->size() == 1 ? 0 : i] /
                                        static_cast<double>(unit[unit.size() == 1 ? 0 : i])));
      }
    }
  }
  if (p.low > p.high) return fail("bounds that leave nothing");
  plan.leaves = {p.left.q};
  plan.what = std::move(p);
  return true;
}

bool Planner::pool(const Value* v, Plan& plan) {
  // Down to the reduction through elementwise ops and reshapes (kept dimensions).
  const Value* t = v;
  const Op* op = nullptr;
  for (int depth = 0; depth < 16; ++depth) {
    op = t->def();
    if (!op) return false;
    if (op->is("stablehlo.reduce_window") || op->is("stablehlo.reduce")) break;
    if (t != v && is_int8(t->type.dtype)) return false;
    const bool keeps = op->is("stablehlo.reshape") || op->is("stablehlo.broadcast_in_dim");
    if (op->def->kind != OpKind::Elementwise && !keeps) return false;
    const Value* next = nullptr;
    for (const Value* o : op->operands()) {
      if (c_.is_constant(o)) continue;
      if (next && next != o) return false;
      next = o;
    }
    if (!next) return false;
    t = next;
  }
  if (!op || op->num_operands() != 2) return false;
  const auto prim = reducer_of(*op);
  const Value* x = op->operand(0);
  PoolPlan p;
  p.op = op;
  if (is_int8(x->type.dtype)) {
    p.in.q = x;
  } else if (const auto in = match_centred(x, c_);
             in && is_int8(in->q->type.dtype) && x->type.dtype == DType::F32) {
    p.in = *in;
  } else {
    return fail("a reduction of what is no int8 tensor");
  }
  p.x = p.in.q;
  const auto rank = static_cast<size_t>(x->type.rank());
  if (op->is("stablehlo.reduce_window")) {
    if (rank != 4 || !all(numbers_or(*op, "base_dilations", rank, 1), 1)) {
      return fail("windows over other than two dimensions");
    }
    const auto padding = numbers_or(*op, "padding", 2 * rank, 0);
    if (std::any_of(padding.begin(), padding.end(), [](int64_t e) { return e < 0; })) {
      return fail("windows that crop");
    }
  }
  const double scale = p.in.scale ? c_.splat(p.in.scale).value_or(0) : 1;
  if (!(scale > 0)) return fail("a reduction of a tensor with a scale for each channel");
  if (prim == Prim::Max) {
    if (!op->is("stablehlo.reduce_window")) return fail("a maximum over whole dimensions");
    p.table = t != v;
  } else if (prim == Prim::Add && x->type.dtype == DType::F32) {
    const auto q = match_quantized(v, c_);
    if (!q || c_.splat(op->operand(1)) != 0.0) return fail("a sum that is no mean");
    p.mean = true;
    p.zero = static_cast<int64_t>(q->zero);
    p.low = static_cast<int64_t>(q->low);
    p.high = static_cast<int64_t>(q->high);
    // q->y = sum / divisor / out_scale, reshapes in between.
    std::vector<const Value*> divisors;
    for (const Value* y = q->y; y != t;) {
      const Op* o = y->def();
      if (o->is("stablehlo.reshape") || o->is("stablehlo.broadcast_in_dim")) {
        if (dims_of(y) != dims_of(o->operand()) &&
            y->type.num_elements() != o->operand()->type.num_elements()) {
          return fail("a mean that is repeated");
        }
        y = o->operand();
      } else if (o->def->prim == Prim::Div && c_.is_constant(o->operand(1))) {
        divisors.push_back(o->operand(1));
        y = o->operand(0);
      } else {
        return fail("a mean with more arithmetic before it is rounded");
      }
    }
    if (divisors.size() != 2) return fail("a mean that is not sum / count / scale");
    const auto out = c_.splat(divisors[0]);
    if (!out) return fail("a result with a scale for each channel");
    p.out_scale = *out;
    if (const auto n = c_.splat(divisors[1])) {
      p.divisor = *n;
    } else if (const auto counts = c_.get(divisors[1]);
               counts && op->is("stablehlo.reduce_window")) {
      p.divisor = 0;  // the number of values inside, which differs at the border
    } else {
      return fail("a mean over counts that are not understood");
    }
  } else {
    return fail("a reduction by another op than maximum or sum");
  }
  plan.leaves = {p.x};
  plan.what = std::move(p);
  return true;
}

bool Planner::map(const Value* v, Plan& plan) {
  std::vector<Piece> out;
  const StridesOf dense = [](const Value* x) { return row_major_strides(dims_of(x)); };
  if (!pieces(v, v, dense, nullptr, out)) return false;
  if (v->type.rank() > 6) return fail("more than six dimensions");
  for (const Piece& p : out) {
    // Once at one value: whether the function can be told from these leaves at all.
    std::vector<Literal> leaves;
    for (const Access& a : p.in) {
      leaves.push_back(Literal::scalar(a.leaf->type.dtype, 0).reshaped({1}));
      if (std::find(plan.leaves.begin(), plan.leaves.end(), a.leaf) == plan.leaves.end()) {
        plan.leaves.push_back(a.leaf);
      }
    }
    if (!function(v, v, p, leaves)) return false;
  }
  plan.what = MapPlan{};
  return true;
}

Plan Planner::plan(const Value* v) {
  Plan plan;
  why_.clear();
  if (!v->type.is_static()) {
    plan.reason = "its size is open";
    return plan;
  }
  if (product(v, plan)) return plan;
  std::string why = why_;
  if (why.empty() && pool(v, plan)) return plan;
  if (why.empty()) why = why_;
  if (map(v, plan)) return plan;
  plan.leaves.clear();
  plan.reason = why.empty() ? why_ : why;
  return plan;
}

}  // namespace tenfold::tpu::matrix
