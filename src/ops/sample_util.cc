// See sample_util.h. Elementwise ops are drawn blindly until infer() agrees, which needs no
// knowledge of the op; ops whose attributes must fit the shapes have a few lines each below.
#include "ops/sample_util.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tenfold {

Literal sample_literal(Rng& rng, DType t, std::vector<int64_t> dims, bool special_values) {
  Literal l(t, std::move(dims));
  constexpr double inf = std::numeric_limits<double>::infinity();
  const double specials[] = {0.0, -0.0, 1.0, inf, -inf, std::nan(""), 1e30, -1e-30, 0.5};
  const auto real = [&]() -> double {
    if (special_values && rng.chance(0.1)) return specials[rng.below(std::size(specials))];
    return rng.chance(0.5) ? static_cast<double>(rng.range(-8, 8)) / 2 : rng.normal() * 2;
  };
  for (int64_t i = 0; i < l.size(); ++i) {
    if (is_complex(t)) {
      const double re = real();
      l.set_c128(i, {re, real()});
    } else if (is_float(t)) {
      const double v = real();
      l.set_f64(i, t == DType::F8E8M0FNU && v <= 0 ? 1 - v : v);  // which has no sign and no zero
    } else if (t == DType::Bool) {
      l.set_i64(i, rng.chance(0.5));
    } else if (special_values && rng.chance(0.1)) {
      l.set_i64(i, static_cast<int64_t>(rng.next()));
    } else {
      l.set_i64(i, rng.range(is_unsigned(t) ? 0 : -9, 9));
    }
  }
  return l;
}

namespace {

using Dims = std::vector<int64_t>;

class Sampler {
 public:
  Sampler(const OpDef& def, uint64_t seed, const SampleOptions& o)
      : def(def), rng(seed), options(o), module(std::make_unique<Module>()) {
    main = module->add_function("main", true);
  }

  const OpDef& def;
  Rng rng;
  const SampleOptions& options;
  std::unique_ptr<Module> module;
  Function* main;
  std::vector<Literal> args;
  bool special = true;

  int64_t dim(int64_t least = 0) {
    const double p = rng.uniform();
    if (p < 0.04) return std::max<int64_t>(least, 0);
    if (p < 0.25) return std::max<int64_t>(least, 1);
    return rng.range(std::max<int64_t>(least, 1), std::max(least, options.max_dim));
  }
  Dims shape(int least_rank = 0) {
    Dims d(rng.range(least_rank, std::max(least_rank, options.max_rank)));
    for (int64_t& x : d) x = dim();
    return d;
  }
  DType dtype() {
    if (!options.dtypes.empty()) return options.dtypes[rng.below(options.dtypes.size())];
    if (rng.chance(0.5)) return DType::F32;
    return static_cast<DType>(rng.below(kDTypeCount));
  }
  DType float_type() {
    static constexpr DType kTypes[] = {DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16};
    return pick(kTypes);
  }
  DType index_type() {
    static constexpr DType kTypes[] = {DType::I32, DType::I64, DType::I8, DType::U32};
    return pick(kTypes);
  }
  template <class T, size_t N>
  T pick(const T (&from)[N]) {
    return from[rng.below(N)];
  }
  int64_t axis(const Dims& d) { return static_cast<int64_t>(rng.below(d.size())); }
  Dims permutation(int64_t n) {
    Dims p(n);
    for (int64_t i = 0; i < n; ++i) p[i] = i;
    for (int64_t i = n; i > 1; --i) std::swap(p[i - 1], p[rng.below(i)]);
    return p;
  }
  // Some of the axes, in order.
  Dims some_axes(int64_t n, double p = 0.5) {
    Dims r;
    for (int64_t i = 0; i < n; ++i) {
      if (rng.chance(p)) r.push_back(i);
    }
    return r;
  }

  Value* arg(DType t, const Dims& d) {
    return arg(sample_literal(rng, t, d, options.special_values && special));
  }
  Value* arg(Literal l) {
    Value* v = main->body.add_arg(l.type());
    args.push_back(std::move(l));
    return v;
  }
  Value* index(int64_t lo, int64_t hi, DType t) {
    return arg(Literal::scalar_i(
        t, is_unsigned(t) ? std::max<int64_t>(lo, 0) + rng.range(0, hi) : rng.range(lo, hi)));
  }
  Value* constant(const Dims& values) {
    GraphBuilder b(module.get(), &main->body);
    return b.constant(Literal::i64s(values));
  }

  // Finishes with one op. `bodies` fill regions in order.
  using Body = std::function<std::vector<Value*>(GraphBuilder&, Block&)>;
  Op* finish(std::vector<Value*> operands, AttrDict attrs = {},
             std::vector<TensorType> results = {}, const std::vector<Body>& bodies = {}) {
    GraphBuilder b(module.get(), &main->body);
    Op* op = b.create_open(def.name, std::move(operands), std::move(attrs));
    for (const Body& body : bodies) {
      Block* block = op->num_regions() < def.num_regions || def.num_regions < 0
                         ? op->add_region()
                         : op->region(op->num_regions() - 1);
      GraphBuilder inner(module.get(), block);
      inner.return_(body(inner, *block));
      if (!inner.errors.empty()) return nullptr;
    }
    b.finish(op, std::move(results));
    if (!b.errors.empty()) return nullptr;
    std::vector<Value*> out;
    for (int i = 0; i < op->num_results(); ++i) out.push_back(op->result(i));
    b.return_(out);
    return op;
  }

  Body binary(Prim p, DType t) {
    return [p, t](GraphBuilder& b, Block& block) -> std::vector<Value*> {
      Value* x = block.add_arg({t, {}});
      Value* y = block.add_arg({t, {}});
      return {b.binary(p, x, y)};
    };
  }
};

std::vector<TensorType> typed(DType t, const Dims& d) { return {{t, to_shape(d)}}; }

// Reducers that infer() and the identity agree on for `t`.
Prim reducer(Sampler& s, DType t) {
  static constexpr Prim kNumbers[] = {Prim::Add, Prim::Add, Prim::Max, Prim::Min, Prim::Mul};
  static constexpr Prim kBits[] = {Prim::And, Prim::Or, Prim::Xor, Prim::Add, Prim::Max};
  return is_float(t) || is_complex(t) ? (is_complex(t) ? Prim::Add : s.pick(kNumbers))
                                      : s.pick(kBits);
}

// --- one function an op or family ----------------------------------------------------------------

Op* elementwise(Sampler& s) {
  const Dims d = s.shape();
  const DType t = s.dtype();
  std::vector<Value*> operands;
  const int n = std::max(s.def.min_operands, 1);
  for (int i = 0; i < n; ++i) {
    const bool odd = s.rng.chance(0.3);
    const DType own = n == 3 && odd && i == 0 ? DType::Bool : t;
    const bool scalar = n == 3 && i != 1 && s.rng.chance(0.2);
    operands.push_back(s.arg(own, scalar ? Dims{} : d));
  }
  AttrDict attrs;
  for (const AttrSpec& a : s.def.attrs) {
    if (a.name == "comparison_direction") {
      static const std::string kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
      attrs.emplace_back(a.name, Attr{s.pick(kDirections)});
    } else if (a.name == "compare_type") {
      if (is_float(t) && s.rng.chance(0.3)) {
        attrs.emplace_back(a.name, Attr{std::string("TOTALORDER")});
      }
    } else if (a.kind == AttrKind::I64) {
      attrs.emplace_back(a.name, Attr{s.rng.range(1, 12)});
    } else if (a.required) {
      return nullptr;
    }
  }
  std::vector<TensorType> results;
  if (s.def.explicit_results) results = typed(s.dtype(), d);
  return s.finish(std::move(operands), std::move(attrs), std::move(results));
}

Op* constant(Sampler& s) {
  return s.finish({}, {{"value", Attr{sample_literal(s.rng, s.dtype(), s.shape(), true)}}});
}

Op* iota(Sampler& s) {
  const Dims d = s.shape(1);
  return s.finish({}, {{"iota_dimension", Attr{s.axis(d)}}}, typed(s.dtype(), d));
}

Op* get_dimension_size(Sampler& s) {
  const Dims d = s.shape(1);
  return s.finish({s.arg(s.dtype(), d)}, {{"dimension", Attr{s.axis(d)}}});
}

// Operand shape and broadcast_dimensions for a result shape.
std::pair<Dims, Dims> broadcast(Sampler& s, const Dims& to) {
  Dims from, axes;
  for (int64_t i : s.permutation(static_cast<int64_t>(to.size()))) {
    if (s.rng.chance(0.4)) continue;
    axes.push_back(i);
    from.push_back(s.rng.chance(0.3) ? 1 : to[i]);
  }
  return {from, axes};
}

Op* broadcast_in_dim(Sampler& s) {
  const Dims to = s.shape();
  const auto [from, axes] = broadcast(s, to);
  const DType t = s.dtype();
  return s.finish({s.arg(t, from)}, {{"broadcast_dimensions", Attr{axes}}}, typed(t, to));
}

Op* dynamic_broadcast_in_dim(Sampler& s) {
  const Dims to = s.shape(1);
  const auto [from, axes] = broadcast(s, to);
  const DType t = s.dtype();
  return s.finish({s.arg(t, from), s.constant(to)}, {{"broadcast_dimensions", Attr{axes}}},
                  typed(t, to));
}

// Factors of `n` in random order, ones among them.
Dims factors(Sampler& s, int64_t n) {
  Dims r;
  if (n == 0) r = {0, s.dim()};
  for (int64_t p = 2; n > 1; ++p) {
    for (; n % p == 0; n /= p) {
      if (!r.empty() && s.rng.chance(0.4)) {
        r[s.rng.below(r.size())] *= p;
      } else {
        r.insert(r.begin() + static_cast<int64_t>(s.rng.below(r.size() + 1)), p);
      }
    }
  }
  while (s.rng.chance(0.3))
    r.insert(r.begin() + static_cast<int64_t>(s.rng.below(r.size() + 1)), 1);
  return r;
}

Op* reshape(Sampler& s) {
  const Dims from = s.shape();
  const DType t = s.dtype();
  int64_t n = 1;
  for (int64_t d : from) n *= d;
  const Dims to = factors(s, n);
  std::vector<Value*> operands = {s.arg(t, from)};
  if (s.def.min_operands == 2) operands.push_back(s.constant(to));
  return s.finish(std::move(operands), {}, typed(t, to));
}

Op* transpose(Sampler& s) {
  const Dims d = s.shape();
  return s.finish({s.arg(s.dtype(), d)},
                  {{"permutation", Attr{s.permutation(static_cast<int64_t>(d.size()))}}});
}

Op* reverse(Sampler& s) {
  const Dims d = s.shape();
  return s.finish({s.arg(s.dtype(), d)},
                  {{"dimensions", Attr{s.some_axes(static_cast<int64_t>(d.size()))}}});
}

Op* slice(Sampler& s) {
  const Dims d = s.shape();
  Dims start, limit, stride, size;
  for (int64_t n : d) {
    start.push_back(s.rng.range(0, n));
    limit.push_back(s.rng.range(start.back(), n));
    stride.push_back(s.rng.range(1, 3));
    size.push_back((limit.back() - start.back() + stride.back() - 1) / stride.back());
  }
  const DType t = s.dtype();
  if (s.def.min_operands == 4) {
    Value* x = s.arg(t, d);
    return s.finish({x, s.constant(start), s.constant(limit), s.constant(stride)}, {},
                    typed(t, size));
  }
  return s.finish({s.arg(t, d)}, {{"start_indices", Attr{to_shape(start)}},
                                  {"limit_indices", Attr{to_shape(limit)}},
                                  {"strides", Attr{stride}}});
}

Op* pad(Sampler& s) {
  const Dims d = s.shape();
  Dims low, high, interior, size;
  for (int64_t n : d) {
    low.push_back(s.rng.range(-1, 3));
    high.push_back(s.rng.range(-1, 3));
    interior.push_back(s.rng.chance(0.3) ? s.rng.range(1, 2) : 0);
    size.push_back(n + std::max<int64_t>(n - 1, 0) * interior.back() + low.back() + high.back());
  }
  const DType t = s.dtype();
  Value* x = s.arg(t, d);
  Value* v = s.arg(t, {});
  if (s.def.min_operands == 5) {
    return s.finish({x, v, s.constant(low), s.constant(high), s.constant(interior)}, {},
                    typed(t, size));
  }
  return s.finish({x, v}, {{"edge_padding_low", Attr{to_shape(low)}},
                           {"edge_padding_high", Attr{to_shape(high)}},
                           {"interior_padding", Attr{interior}}});
}

Op* concatenate(Sampler& s) {
  Dims d = s.shape(1);
  const int64_t axis = s.axis(d);
  const DType t = s.dtype();
  std::vector<Value*> operands;
  for (int64_t n = s.rng.range(1, 5); n > 0; --n) {
    d[axis] = s.dim();
    operands.push_back(s.arg(t, d));
  }
  return s.finish(std::move(operands), {{"dimension", Attr{axis}}});
}

Op* dynamic_slice(Sampler& s) {
  const Dims d = s.shape();
  std::vector<Value*> operands = {s.arg(s.dtype(), d)};
  const DType it = s.index_type();
  Dims size;
  for (int64_t n : d) {
    size.push_back(s.rng.range(0, n));
    operands.push_back(s.index(-3, n + 3, it));
  }
  return s.finish(std::move(operands), {{"slice_sizes", Attr{to_shape(size)}}});
}

Op* dynamic_update_slice(Sampler& s) {
  const Dims d = s.shape();
  const DType t = s.dtype(), it = s.index_type();
  Dims size;
  for (int64_t n : d) size.push_back(s.rng.range(0, n));
  std::vector<Value*> operands = {s.arg(t, d), s.arg(t, size)};
  for (int64_t n : d) operands.push_back(s.index(-3, n + 3, it));
  return s.finish(std::move(operands));
}

Op* dynamic_iota(Sampler& s) {
  const Dims d = s.shape(1);
  Value* size = s.constant(d);
  return s.finish({size}, {{"iota_dimension", Attr{s.axis(d)}}}, typed(s.dtype(), d));
}

Op* set_dimension_size(Sampler& s) {
  Dims d = s.shape(1);
  const int64_t axis = s.axis(d);
  const DType t = s.dtype();
  Value* x = s.arg(t, d);
  d[axis] = s.rng.range(0, d[axis]);
  GraphBuilder b(s.module.get(), &s.main->body);
  return s.finish({x, b.constant_i(DType::I32, d[axis])}, {{"dimension", Attr{axis}}}, typed(t, d));
}

Op* dot_general(Sampler& s) {
  // Every dimension of either side is batch (b), contracting (c) or free, placed at random.
  Dims sizes[2], roles[2], batch[2], contract[2];
  const int64_t nb = s.rng.range(0, 2), nc = s.rng.range(0, 2);
  Dims shared;
  for (int64_t i = 0; i < nb + nc; ++i) shared.push_back(s.dim());
  Dims result(shared.begin(), shared.begin() + nb);
  for (int side = 0; side < 2; ++side) {
    const int64_t free = s.rng.range(0, 2);
    Dims all = shared;
    for (int64_t i = 0; i < free; ++i) all.push_back(s.dim());
    const Dims order = s.permutation(static_cast<int64_t>(all.size()));  // place -> which
    batch[side].resize(nb);
    contract[side].resize(nc);
    for (size_t place = 0; place < order.size(); ++place) {
      const int64_t which = order[place];
      sizes[side].push_back(all[which]);
      if (which < nb) {
        batch[side][which] = static_cast<int64_t>(place);
      } else if (which < nb + nc) {
        contract[side][which - nb] = static_cast<int64_t>(place);
      } else {
        result.push_back(all[which]);
      }
    }
  }
  const DType t = s.dtype();
  DType rt = t;
  if (t == DType::I8 && s.rng.chance(0.7)) rt = DType::I32;
  if (is_float(t) && bit_width(t) < 32 && s.rng.chance(0.5)) rt = DType::F32;
  return s.finish({s.arg(t, sizes[0]), s.arg(t, sizes[1])},
                  {{"lhs_batching_dimensions", Attr{batch[0]}},
                   {"rhs_batching_dimensions", Attr{batch[1]}},
                   {"lhs_contracting_dimensions", Attr{contract[0]}},
                   {"rhs_contracting_dimensions", Attr{contract[1]}}},
                  typed(rt, result));
}

Op* dot(Sampler& s) {
  const int64_t k = s.dim();
  Dims a = {k}, b = {k}, r;
  if (s.rng.chance(0.7)) a.insert(a.begin(), s.dim()), r.push_back(a[0]);
  if (s.rng.chance(0.7)) b.push_back(s.dim()), r.push_back(b[1]);
  const DType t = s.dtype();
  return s.finish({s.arg(t, a), s.arg(t, b)}, {}, typed(t, r));
}

Op* reduce(Sampler& s) {
  const Dims d = s.shape();
  const AttrDict attrs = {{"dimensions", Attr{s.some_axes(static_cast<int64_t>(d.size()))}}};
  if (s.rng.chance(0.2)) {  // the position of the greatest
    s.special = false;
    Value* x = s.arg(DType::F32, d);
    Value* i = s.arg(DType::I32, d);
    Value* x0 = s.arg(Literal::scalar(DType::F32, -1e30));
    Value* i0 = s.arg(Literal::scalar_i(DType::I32, INT32_MAX));
    return s.finish(
        {x, i, x0, i0}, attrs, {}, {[](GraphBuilder& b, Block& block) {
          Value* a[4];
          for (int k = 0; k < 4; ++k) {
            a[k] = block.add_arg({k % 2 ? DType::I32 : DType::F32, {}});
          }
          Value* tie =
              b.binary(Prim::And, b.compare("EQ", a[0], a[2]), b.compare("LT", a[1], a[3]));
          Value* wins = b.binary(Prim::Or, b.compare("GT", a[0], a[2]), tie);
          return std::vector<Value*>{b.select(wins, a[0], a[2]), b.select(wins, a[1], a[3])};
        }});
  }
  const DType t = s.dtype();
  const Prim p = reducer(s, t);
  if (!supports(p, t)) return nullptr;
  return s.finish({s.arg(t, d), s.arg(t, {})}, attrs, {}, {s.binary(p, t)});
}

Op* map(Sampler& s) {
  const Dims d = s.shape();
  Dims all(d.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  const DType t = s.float_type();
  return s.finish({s.arg(t, d), s.arg(t, d)}, {{"dimensions", Attr{all}}}, {},
                  {s.binary(s.rng.chance(0.5) ? Prim::Sub : Prim::Div, t)});
}

Op* cumulative(Sampler& s) {
  const Dims d = s.shape(1);
  const DType t = s.dtype();
  const Prim p = reducer(s, t);
  return s.finish({s.arg(t, d)}, {{"prim", Attr{std::string(name(p))}},
                                  {"axis", Attr{s.axis(d)}},
                                  {"reverse", Attr{s.rng.chance(0.5)}},
                                  {"exclusive", Attr{s.rng.chance(0.5)}}});
}

Op* softmax(Sampler& s) {
  const Dims d = s.shape(1);
  return s.finish({s.arg(s.float_type(), d)},
                  {{"axis", Attr{s.axis(d)}}, {"log", Attr{s.rng.chance(0.5)}}});
}

Op* norm(Sampler& s) {
  s.special = false;
  const Dims d = s.shape(1);
  const int64_t axis = s.axis(d);
  const DType t = s.float_type();
  std::vector<Value*> operands = {s.arg(t, d)};
  const int64_t more = s.rng.range(s.def.min_operands, s.def.max_operands) - 1;
  for (int64_t i = 0; i < more; ++i) operands.push_back(s.arg(t, Dims(d.begin() + axis, d.end())));
  return s.finish(std::move(operands), {{"axis", Attr{axis}}, {"epsilon", Attr{1e-3}}});
}

Op* sort(Sampler& s) {
  s.special = false;  // with NaN the comparators below are no order
  const Dims d = s.shape(1);
  const DType t = s.dtype();
  const bool two = s.rng.chance(0.5);
  std::vector<Value*> operands = {s.arg(t, d)};
  if (two) operands.push_back(s.arg(DType::I32, d));
  const std::string direction = s.rng.chance(0.5) ? "LT" : "GT";
  return s.finish(std::move(operands), {{"dimension", Attr{s.axis(d)}}, {"is_stable", Attr{true}}},
                  {}, {[=](GraphBuilder& b, Block& block) {
                    Value* x = block.add_arg({t, {}});
                    Value* y = block.add_arg({t, {}});
                    if (two) {
                      block.add_arg({DType::I32, {}});
                      block.add_arg({DType::I32, {}});
                    }
                    return std::vector<Value*>{b.compare(direction, x, y)};
                  }});
}

Op* reduce_window(Sampler& s) {
  const Dims d = s.shape(1);
  Dims window, stride, dilation, padding;
  for (int64_t n : d) {
    window.push_back(s.rng.range(1, std::max<int64_t>(1, std::min<int64_t>(n, 3))));
    stride.push_back(s.rng.range(1, 2));
    dilation.push_back(s.rng.chance(0.2) ? 2 : 1);
    padding.push_back(s.rng.range(0, 1));
    padding.push_back(s.rng.range(0, 1));
  }
  const DType t = s.dtype();
  const Prim p = reducer(s, t);
  if (!supports(p, t)) return nullptr;
  return s.finish({s.arg(t, d), s.arg(t, {})},
                  {{"window_dimensions", Attr{to_shape(window)}},
                   {"window_strides", Attr{stride}},
                   {"window_dilations", Attr{dilation}},
                   {"padding", Attr{to_shape(padding)}}},
                  {}, {s.binary(p, t)});
}

Op* convolution(Sampler& s) {
  s.special = false;
  const int64_t spatial = s.rng.range(1, 2), rank = spatial + 2;
  const int64_t groups = s.rng.chance(0.3) ? 2 : 1, in = s.rng.range(1, 3);
  const int64_t out = s.rng.range(1, 3) * groups;
  const Dims lp = s.permutation(rank), kp = s.permutation(rank), op = s.permutation(rank);
  Dims lhs(rank), kernel(rank), padding, stride, ls, ks, os;
  lhs[lp[0]] = s.rng.range(1, 2);
  lhs[lp[1]] = in * groups;
  kernel[kp[0]] = in;
  kernel[kp[1]] = out;
  for (int64_t i = 0; i < spatial; ++i) {
    lhs[lp[i + 2]] = s.rng.range(3, 8);
    kernel[kp[i + 2]] = s.rng.range(1, 3);
    ls.push_back(lp[i + 2]), ks.push_back(kp[i + 2]), os.push_back(op[i + 2]);
    stride.push_back(s.rng.range(1, 2));
    padding.push_back(s.rng.range(0, 1));
    padding.push_back(s.rng.range(0, 1));
  }
  const DType t = s.float_type();
  return s.finish({s.arg(t, lhs), s.arg(t, kernel)},
                  {{"window_strides", Attr{stride}},
                   {"padding", Attr{to_shape(padding)}},
                   {"input_batch_dimension", Attr{lp[0]}},
                   {"input_feature_dimension", Attr{lp[1]}},
                   {"input_spatial_dimensions", Attr{ls}},
                   {"kernel_input_feature_dimension", Attr{kp[0]}},
                   {"kernel_output_feature_dimension", Attr{kp[1]}},
                   {"kernel_spatial_dimensions", Attr{ks}},
                   {"output_batch_dimension", Attr{op[0]}},
                   {"output_feature_dimension", Attr{op[1]}},
                   {"output_spatial_dimensions", Attr{os}},
                   {"feature_group_count", Attr{groups}}});
}

// Rows of the operand by one index each, as an embedding table is read.
Op* gather(Sampler& s) {
  Dims d = s.shape(1), size = d, offset;
  d[0] = std::max<int64_t>(d[0], 1);
  size[0] = 1;
  for (size_t i = 1; i < d.size(); ++i) offset.push_back(static_cast<int64_t>(i));
  const DType it = s.rng.chance(0.5) ? DType::I32 : DType::I64;
  Literal index(it, {s.dim(), 1});
  for (int64_t i = 0; i < index.size(); ++i) index.set_i64(i, s.rng.range(-2, d[0] + 1));
  Value* x = s.arg(s.dtype(), d);
  return s.finish({x, s.arg(std::move(index))}, {{"offset_dims", Attr{offset}},
                                                 {"collapsed_slice_dims", Attr{Dims{0}}},
                                                 {"start_index_map", Attr{Dims{0}}},
                                                 {"index_vector_dim", Attr{int64_t{1}}},
                                                 {"slice_sizes", Attr{to_shape(size)}}});
}

Op* scatter(Sampler& s) {
  const Dims d = s.shape(1);
  Dims update = d, window;
  update[0] = s.dim();
  for (size_t i = 1; i < d.size(); ++i) window.push_back(static_cast<int64_t>(i));
  Literal index(DType::I32, {update[0], 1});
  for (int64_t i = 0; i < index.size(); ++i) index.set_i64(i, s.rng.range(-2, d[0] + 1));
  const DType t = s.dtype();
  const Prim p = reducer(s, t);
  if (!supports(p, t)) return nullptr;
  Value* x = s.arg(t, d);
  Value* i = s.arg(std::move(index));
  return s.finish({x, i, s.arg(t, update)},
                  {{"update_window_dims", Attr{window}},
                   {"inserted_window_dims", Attr{Dims{0}}},
                   {"scatter_dims_to_operand_dims", Attr{Dims{0}}},
                   {"index_vector_dim", Attr{int64_t{1}}}},
                  {}, {s.binary(p, t)});
}

using Draw = Op* (*)(Sampler&);

Draw draw_of(const OpDef& def) {
  static const std::map<std::string_view, Draw> table = {
      {"stablehlo.constant", constant},
      {"stablehlo.iota", iota},
      {"stablehlo.get_dimension_size", get_dimension_size},
      {"stablehlo.broadcast_in_dim", broadcast_in_dim},
      {"stablehlo.dynamic_broadcast_in_dim", dynamic_broadcast_in_dim},
      {"stablehlo.reshape", reshape},
      {"stablehlo.dynamic_reshape", reshape},
      {"stablehlo.transpose", transpose},
      {"stablehlo.reverse", reverse},
      {"stablehlo.slice", slice},
      {"stablehlo.real_dynamic_slice", slice},
      {"stablehlo.pad", pad},
      {"stablehlo.dynamic_pad", pad},
      {"stablehlo.concatenate", concatenate},
      {"stablehlo.dynamic_slice", dynamic_slice},
      {"stablehlo.dynamic_update_slice", dynamic_update_slice},
      {"stablehlo.dynamic_iota", dynamic_iota},
      {"stablehlo.set_dimension_size", set_dimension_size},
      {"stablehlo.dot_general", dot_general},
      {"stablehlo.dot", dot},
      {"stablehlo.reduce", reduce},
      {"stablehlo.map", map},
      {"tenfold.cumulative", cumulative},
      {"tenfold.softmax", softmax},
      {"tenfold.layer_norm", norm},
      {"tenfold.rms_norm", norm},
      {"stablehlo.sort", sort},
      {"stablehlo.reduce_window", reduce_window},
      {"stablehlo.convolution", convolution},
      {"stablehlo.gather", gather},
      {"stablehlo.scatter", scatter},
  };
  const auto it = table.find(def.name);
  if (it != table.end()) return it->second;
  const bool blind = def.kind == OpKind::Elementwise ||
                     (def.kind == OpKind::View && def.attrs.empty() && def.min_operands == 1);
  return blind ? elementwise : nullptr;
}

}  // namespace

std::optional<OpSample> sample_op(const OpDef& def, uint64_t seed, const SampleOptions& options) {
  const Draw draw = draw_of(def);
  if (!draw) return std::nullopt;
  for (uint64_t attempt = 0; attempt < 200; ++attempt) {
    Sampler s(def, seed * 200 + attempt, options);
    if (Op* op = draw(s)) return OpSample{std::move(s.module), std::move(s.args), op};
  }
  return std::nullopt;
}

}  // namespace tenfold
