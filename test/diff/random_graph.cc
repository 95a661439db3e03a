// See random_graph.h. A graph grows from a few arguments; each step draws a kind of op, then values
// of the pool that fit it, and adds the result to the pool.
#include "random_graph.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rng.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "ops/sample_util.h"

namespace tenfold::testing {
namespace {

using Sizes = std::vector<int64_t>;

// Results of these jump where an operand moves by a rounding error.
bool jumps(Prim p) {
  switch (p) {
    case Prim::Sign:
    case Prim::Floor:
    case Prim::Ceil:
    case Prim::RoundEven:
    case Prim::RoundAfz:
    case Prim::IsFinite:
    case Prim::IsNan:
    case Prim::IsInf:
    case Prim::Rem:
    case Prim::FloorDiv:
    case Prim::FloorMod:
    case Prim::Atan2:
    case Prim::NextAfter:
    case Prim::Pow:
    case Prim::Tan:
    case Prim::Lgamma:
    case Prim::Acosh:
    case Prim::Atanh:
    case Prim::Acos:
    case Prim::Asin:
      return true;
    default:
      return false;
  }
}

struct Entry {
  Value* v = nullptr;
  bool exact = true;
  double magnitude = 10;  // an upper bound; infinite when unknown
};

class Generator {
 public:
  explicit Generator(uint64_t seed)
      : rng_(seed * 7919 + 17),
        module_(std::make_unique<Module>()),
        main_(module_->add_function("main", true)),
        b_(module_.get(), &main_->body) {}

  RandomGraph run() {
    symbolic_ = rng_.chance(0.35);
    special_ = rng_.chance(0.3);
    theme();
    for (int64_t i = rng_.range(1, 3); i > 0; --i) argument(main_type(), theme_);
    const int64_t steps = rng_.range(3, 14);
    for (int64_t i = 0; i < steps; ++i) step();
    std::vector<Value*> out;
    for (const Entry& e : pool_) {
      if (!e.v->def()) continue;
      if (!e.v->has_users() || rng_.chance(0.15)) out.push_back(e.v);
    }
    if (out.empty()) out.push_back(pool_.back().v);
    if (out.size() > 6) out.erase(out.begin(), out.end() - 6);
    out.insert(out.end(), alone_.begin(), alone_.end());
    b_.return_(out);
    TF_CHECK(b_.errors.empty(), to_string(b_.errors));
    for (size_t i = 0; i < out.size(); ++i) {
      main_->result_names.push_back("r" + std::to_string(i));
    }
    bool open = false;
    for (const auto& a : main_->body.args) open |= !a->type.is_static();
    return {std::move(module_), std::move(args_), open};
  }

 private:
  // --- draws
  template <class T, size_t N>
  T pick(const T (&from)[N]) {
    return from[rng_.below(N)];
  }
  DType main_type() {
    static constexpr DType kTypes[] = {DType::F32,  DType::F32,  DType::F32, DType::F32,
                                       DType::F32,  DType::F32,  DType::I32, DType::I64,
                                       DType::F64,  DType::I8,   DType::U8,  DType::F16,
                                       DType::BF16, DType::Bool, DType::U32};
    return pick(kTypes);
  }
  Dim draw_dim() {
    if (symbolic_ && rng_.chance(0.4)) {
      const std::string name = rng_.chance(0.6) ? "n" : "m";
      const auto [it, fresh] = env_.try_emplace(name, 0);
      if (fresh) it->second = rng_.range(2, 19);
      return Dim::symbol(name, 2, name == "n" ? INT64_MAX : 64);
    }
    static constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 8, 15, 16, 17, 24, 33};
    return pick(kSizes);
  }
  int64_t value(const Dim& d) const {
    return d
        .eval([&](const Symbol& s) -> std::optional<int64_t> {
          const auto it = env_.find(s.name);
          return it == env_.end() ? std::nullopt : std::optional<int64_t>(it->second);
        })
        .value();
  }
  Sizes sizes(const Shape& s) const {
    Sizes r;
    for (const Dim& d : s) r.push_back(value(d));
    return r;
  }
  int64_t count(const Shape& s) const {
    int64_t n = 1;
    for (int64_t d : sizes(s)) n *= d;
    return n;
  }
  void theme() {
    do {
      theme_.clear();
      for (int64_t r = rng_.range(1, 4); r > 0; --r) theme_.push_back(draw_dim());
    } while (count(theme_) > 2500);
  }
  Value* argument(DType t, const Shape& s, bool special_allowed = true) {
    const bool special = special_ && special_allowed;
    Value* v = main_->body.add_arg({t, s}, "a" + std::to_string(args_.size()));
    args_.push_back(sample_literal(rng_, t, sizes(s), special));
    pool_.push_back({v, true, special ? INFINITY : 10});
    return v;
  }
  Entry& any() { return pool_[rng_.chance(0.6) ? recent() : rng_.below(pool_.size())]; }
  size_t recent() {
    const size_t n = pool_.size(), k = std::min<size_t>(n, 3);
    return n - 1 - rng_.below(k);
  }
  // An entry for which `ok`; null when some tries found none.
  template <class F>
  const Entry* find(F ok) {
    for (int i = 0; i < 12; ++i) {
      const Entry& e = any();
      if (ok(e)) return &e;
    }
    return nullptr;
  }
  const Entry* find_float() {
    return find([](const Entry& e) {
      return (e.v->type.dtype == DType::F32 || e.v->type.dtype == DType::F64) &&
             e.v->type.rank() > 0;
    });
  }
  void add(Value* v, bool exact, double magnitude) {
    if (!(magnitude < 1e5)) magnitude = INFINITY;
    if (v->type.shape.size() <= 6 && count(v->type.shape) <= 20000) {
      pool_.push_back({v, exact, magnitude});
    }
  }
  // An operand like `e`'s shape and type: from the pool, a broadcast argument, or a constant.
  Entry partner(const Entry& like) {
    const TensorType t = like.v->type;
    if (rng_.chance(0.45)) {
      const Entry* e = find([&](const Entry& x) { return x.v->type == t && x.v != like.v; });
      if (e) return *e;
    }
    if (rng_.chance(0.35)) {
      Literal l(t.dtype, {});
      if (t.dtype == DType::Bool) {
        l.set_i64(0, rng_.chance(0.5));
      } else if (is_float(t.dtype)) {
        l.set_f64(0, static_cast<double>(rng_.range(-6, 6)) / 2);
      } else {
        l.set_i64(0, rng_.range(is_unsigned(t.dtype) ? 0 : -5, 5));
      }
      return {b_.full(b_.constant(l), t.shape), true, 3};
    }
    Shape part;
    Sizes axes;
    for (int i = 0; i < t.rank(); ++i) {
      if (rng_.chance(0.4)) continue;
      part.push_back(t.shape[i].is_const() && rng_.chance(0.2) ? Dim(1) : t.shape[i]);
      axes.push_back(i);
    }
    Value* a = argument(t.dtype, part);
    const double magnitude = pool_.back().magnitude;
    Value* v = part == t.shape ? a : b_.broadcast_in_dim(a, t.shape, axes);
    return {v, true, magnitude};
  }

  // --- steps
  void step() {
    using Step = void (Generator::*)();
    static constexpr Step kSteps[] = {
        &Generator::unary,       &Generator::unary,        &Generator::binary,
        &Generator::binary,      &Generator::binary,       &Generator::compare_select,
        &Generator::convert,     &Generator::transpose,    &Generator::reshape,
        &Generator::slice,       &Generator::pad,          &Generator::concat,
        &Generator::reverse,     &Generator::reduce,       &Generator::reduce,
        &Generator::matmul,      &Generator::matmul,       &Generator::convolution,
        &Generator::rows,        &Generator::gather,       &Generator::dynamic_slice,
        &Generator::composed,    &Generator::composed,     &Generator::cumulative,
        &Generator::window,      &Generator::sort,         &Generator::iota,
        &Generator::conditional, &Generator::loop,         &Generator::affine,
        &Generator::clamp,       &Generator::update_slice, &Generator::integer_dot,
        &Generator::table_op,    &Generator::table_op};
    // A draw that an op refuses is taken back.
    const size_t ops = main_->body.ops.size(), entries = pool_.size();
    (this->*pick(kSteps))();
    if (b_.errors.empty()) return;
    b_.errors.clear();
    pool_.resize(std::min(pool_.size(), entries));
    while (main_->body.ops.size() > ops) main_->body.erase(main_->body.ops.back().get());
  }

  Prim draw_prim(int n, DType t, bool exact) {
    for (int i = 0; i < 200; ++i) {
      const OpDef* def = all_ops()[rng_.below(all_ops().size())];
      if (!def->prim || def->kind != OpKind::Elementwise) continue;
      const Prim p = *def->prim;
      if (arity(p) != n || !supports(p, t) || is_complex(result_dtype(p, t))) continue;
      if (!exact && jumps(p)) continue;
      // Mostly the plain ones.
      if (n == 2 && rng_.chance(0.5)) {
        static constexpr Prim kPlain[] = {Prim::Add, Prim::Sub, Prim::Mul, Prim::Max, Prim::Min};
        const Prim q = pick(kPlain);
        if (supports(q, t)) return q;
      }
      return p;
    }
    return n == 1 ? Prim::Abs : Prim::Max;
  }
  static double unary_magnitude(Prim p, double m) {
    switch (p) {
      case Prim::Tanh:
      case Prim::Logistic:
      case Prim::Sin:
      case Prim::Cos:
      case Prim::Erf:
      case Prim::Sign:
        return std::isinf(m) ? m : 1;  // NaN stays one
      case Prim::Neg:
      case Prim::Abs:
      case Prim::Floor:
      case Prim::Ceil:
      case Prim::RoundEven:
      case Prim::RoundAfz:
        return m + 1;
      default:
        return INFINITY;
    }
  }
  void unary() {
    const Entry e = any();
    const DType t = e.v->type.dtype;
    Prim p = draw_prim(1, t, e.exact);
    if (!supports(p, t)) return;
    if (is_float(t) && rng_.chance(0.4)) p = rng_.chance(0.5) ? Prim::Tanh : Prim::Logistic;
    add(b_.unary(p, e.v), e.exact && exact_prim(p), unary_magnitude(p, e.magnitude));
  }
  void binary() {
    const Entry e = any();
    const Entry o = partner(e);
    const DType t = e.v->type.dtype;
    const Prim p = draw_prim(2, t, e.exact && o.exact);
    if (!supports(p, t)) return;
    double m = INFINITY;
    if (p == Prim::Add || p == Prim::Sub) m = e.magnitude + o.magnitude;
    if (p == Prim::Mul) m = e.magnitude * o.magnitude;
    if (p == Prim::Max || p == Prim::Min) m = std::max(e.magnitude, o.magnitude);
    const bool exact = e.exact && o.exact && (!is_float(t) || exact_prim(p));
    add(rng_.chance(0.5) ? b_.binary(p, e.v, o.v) : b_.binary(p, o.v, e.v), exact, m);
  }
  void affine() {  // scale and shift by channel
    const Entry* f = find_float();
    if (!f) return;
    const Entry e = *f;
    const int64_t axis = rng_.range(0, e.v->type.rank() - 1);
    const Shape part = {e.v->type.shape[axis]};
    Value* s = b_.broadcast_in_dim(argument(e.v->type.dtype, part), e.v->type.shape, {axis});
    Value* t = b_.broadcast_in_dim(argument(e.v->type.dtype, part), e.v->type.shape, {axis});
    add(b_.binary(Prim::Add, b_.binary(Prim::Mul, e.v, s), t), e.exact,
        special_ ? INFINITY : e.magnitude * 10 + 10);
  }
  void clamp() {
    const Entry e = any();
    const DType t = e.v->type.dtype;
    if (t == DType::Bool || (!is_float(t) && !is_integer(t))) return;
    const double lo = is_unsigned(t) ? 0 : -2;
    Op* op = b_.create("stablehlo.clamp", {b_.constant(t, lo), e.v, b_.constant(t, 4)});
    add(op->result(), e.exact, std::isinf(e.magnitude) ? e.magnitude : 4);
  }
  void compare_select() {
    const Entry* f = find([](const Entry& e) { return e.exact; });
    if (!f) return;
    const Entry e = *f;
    const Entry o = partner(e);
    if (!o.exact) return;
    static const char* const kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    Value* p = b_.compare(pick(kDirections), e.v, o.v);
    add(p, true, 1);
    const Entry* x = find([&](const Entry& c) { return c.v->type.shape == e.v->type.shape; });
    const Entry left = x ? *x : e;
    const Entry right = partner(left);
    add(b_.select(p, left.v, right.v), left.exact && right.exact,
        std::max(left.magnitude, right.magnitude));
  }
  void convert() {
    const Entry e = any();
    const DType t = main_type();
    if (!e.exact && !is_float(t)) return;
    add(b_.convert(e.v, t), e.exact, is_float(t) || is_signed(t) ? e.magnitude : INFINITY);
  }
  Sizes permutation(int64_t n) {
    Sizes p(n);
    for (int64_t i = 0; i < n; ++i) p[i] = i;
    for (int64_t i = n; i > 1; --i) std::swap(p[i - 1], p[rng_.below(i)]);
    return p;
  }
  void transpose() {
    const Entry e = any();
    add(b_.transpose(e.v, permutation(e.v->type.rank())), e.exact, e.magnitude);
  }
  void reshape() {
    const Entry e = any();
    Shape s = e.v->type.shape;
    if (!s.empty() && rng_.chance(0.4)) {  // split a dimension
      const size_t i = rng_.below(s.size());
      if (s[i].is_const() && s[i].value() % 2 == 0) {
        s[i] = Dim(s[i].value() / 2);
        s.insert(s.begin() + static_cast<int64_t>(i) + rng_.range(0, 1), Dim(2));
      }
    } else if (s.size() > 1 && rng_.chance(0.7)) {  // merge two
      const size_t i = rng_.below(s.size() - 1);
      s[i] = s[i] * s[i + 1];
      s.erase(s.begin() + static_cast<int64_t>(i) + 1);
    } else {
      s.insert(s.begin() + rng_.range(0, static_cast<int64_t>(s.size())), Dim(1));
    }
    add(b_.reshape(e.v, s), e.exact, e.magnitude);
  }
  void slice() {
    const Entry e = any();
    std::vector<Dim> start, limit;
    Sizes stride;
    for (const Dim& d : e.v->type.shape) {
      const int64_t lo = rng_.chance(0.5) || d.min() < 2 ? 0 : rng_.range(0, 1);
      start.push_back(lo);
      limit.push_back(rng_.chance(0.5) || d.min() < 2 ? d : d - 1);
      stride.push_back(rng_.chance(0.2) ? 2 : 1);
    }
    for (size_t i = 0; i < start.size(); ++i) {
      if (value(limit[i]) <= value(start[i])) return;
    }
    add(b_.slice(e.v, start, limit, stride), e.exact, e.magnitude);
  }
  void pad() {
    const Entry e = any();
    if (e.v->type.rank() == 0) return;
    std::vector<Dim> low, high;
    Sizes interior;
    for (int i = 0; i < e.v->type.rank(); ++i) {
      low.push_back(rng_.range(0, 2));
      high.push_back(rng_.range(0, 2));
      interior.push_back(rng_.chance(0.1) ? 1 : 0);
    }
    const Literal v = Literal::scalar_i(e.v->type.dtype, rng_.range(0, 1));
    add(b_.pad(e.v, b_.constant(v), low, high, interior), e.exact, e.magnitude);
  }
  void concat() {
    const Entry e = any();
    if (e.v->type.rank() == 0) return;
    const int64_t axis = rng_.range(0, e.v->type.rank() - 1);
    std::vector<Value*> xs = {e.v};
    bool exact = e.exact;
    double m = e.magnitude;
    for (int64_t i = rng_.range(1, 2); i > 0; --i) {
      const Entry* o = find([&](const Entry& x) {
        if (x.v->type.dtype != e.v->type.dtype || x.v->type.rank() != e.v->type.rank())
          return false;
        for (int d = 0; d < x.v->type.rank(); ++d) {
          if (d != axis && x.v->type.shape[d] != e.v->type.shape[d]) return false;
        }
        return true;
      });
      const Entry other = o ? *o : e;
      xs.push_back(other.v);
      exact &= other.exact;
      m = std::max(m, other.magnitude);
    }
    if (rng_.chance(0.5)) std::swap(xs.front(), xs.back());
    add(b_.concatenate(xs, axis), exact, m);
  }
  void reverse() {
    const Entry e = any();
    Sizes dims;
    for (int i = 0; i < e.v->type.rank(); ++i) {
      if (rng_.chance(0.5)) dims.push_back(i);
    }
    add(b_.create("stablehlo.reverse", {e.v}, {{"dimensions", Attr{dims}}})->result(), e.exact,
        e.magnitude);
  }
  void iota() {
    const Entry& e = any();
    if (e.v->type.rank() == 0) return;
    const DType t = e.v->type.dtype == DType::Bool ? DType::I32 : e.v->type.dtype;
    add(b_.iota({t, e.v->type.shape}, rng_.range(0, e.v->type.rank() - 1)), true, 40);
  }
  void reduce() {
    const Entry e = any();
    const DType t = e.v->type.dtype;
    const Prim p = t == DType::Bool   ? (rng_.chance(0.5) ? Prim::And : Prim::Or)
                   : rng_.chance(0.6) ? Prim::Add
                   : rng_.chance(0.5) ? Prim::Max
                                      : Prim::Min;
    if (p == Prim::Add && is_float(t) && std::isinf(e.magnitude) && !rng_.chance(0.2)) return;
    Sizes dims;
    double n = 1;
    for (int i = 0; i < e.v->type.rank(); ++i) {
      if (!rng_.chance(0.5)) continue;
      dims.push_back(i);
      n *= static_cast<double>(value(e.v->type.shape[i]));
    }
    const bool exact = e.exact && !(p == Prim::Add && is_float(t));
    Value* r = b_.reduce(p, e.v, dims, rng_.chance(0.3));
    add(r, exact, p == Prim::Add ? e.magnitude * n : e.magnitude);
    if (rng_.chance(0.5) && static_cast<int>(dims.size()) < e.v->type.rank() &&
        r->type.rank() + static_cast<int>(dims.size()) == e.v->type.rank()) {
      Sizes keep;
      for (int i = 0; i < e.v->type.rank(); ++i) {
        if (std::find(dims.begin(), dims.end(), i) == dims.end()) keep.push_back(i);
      }
      Value* back = b_.broadcast_in_dim(r, e.v->type.shape, keep);
      if (t != DType::Bool) {
        add(b_.binary(Prim::Sub, e.v, back), exact, e.magnitude + e.magnitude * n);
      }
    }
  }
  bool hero_ready(const Entry& e) { return !std::isinf(e.magnitude) || rng_.chance(0.2); }

  void matmul() {
    const Entry* f = find_float();
    if (!f || !hero_ready(*f)) return;
    const Entry e = *f;
    const TensorType t = e.v->type;
    const int64_t axis = rng_.chance(0.7) ? t.rank() - 1 : rng_.range(0, t.rank() - 1);
    const Dim k = t.shape[axis];
    const double size = static_cast<double>(value(k));
    Value* w = nullptr;
    Sizes lb, rb;
    int64_t rc = 0;
    if (t.rank() >= 2 && rng_.chance(0.3)) {  // batched over the other dimensions but one
      Shape s;
      int64_t free = -1;
      for (int64_t i = t.rank() - 1; i >= 0; --i) {
        if (i != axis && free < 0) free = i;
      }
      for (int64_t i = 0; i < t.rank(); ++i) {
        if (i == axis || i == free) continue;
        lb.push_back(i), rb.push_back(static_cast<int64_t>(s.size()));
        s.push_back(t.shape[i]);
      }
      const Dim m = draw_dim();
      const bool flip = rng_.chance(0.5);
      rc = static_cast<int64_t>(s.size()) + (flip ? 1 : 0);
      s.push_back(flip ? m : k);
      s.push_back(flip ? k : m);
      w = argument(t.dtype, s);
    } else {
      const Dim m = draw_dim();
      const bool flip = rng_.chance(0.4);
      rc = flip ? 1 : 0;
      w = argument(t.dtype, flip ? Shape{m, k} : Shape{k, m});
    }
    const double wm = pool_.back().magnitude;
    Value* r = b_.dot_general(e.v, w, lb, rb, {axis}, {rc});
    const double m = e.magnitude * wm * size;
    add(r, false, m);
    if (rng_.chance(0.6)) {  // bias and activation
      Value* bias = argument(t.dtype, {r->type.shape.back()}, false);
      Value* y =
          b_.binary(Prim::Add, r, b_.broadcast_in_dim(bias, r->type.shape, {r->type.rank() - 1}));
      add(y, false, m + 10);
      if (rng_.chance(0.6)) {
        add(b_.binary(Prim::Max, y, b_.full(b_.constant(t.dtype, 0), y->type.shape)), false,
            m + 10);
      }
    }
  }
  void integer_dot() {
    const Entry* f =
        find([](const Entry& e) { return e.v->type.rank() > 0 && is_integer(e.v->type.dtype); });
    if (!f) return;
    const Entry e = *f;
    const TensorType t = e.v->type;
    Value* w = argument(t.dtype, {draw_dim(), t.shape.back()});
    std::optional<DType> result;
    if (t.dtype == DType::I8 || t.dtype == DType::U8) {
      if (rng_.chance(0.7)) result = DType::I32;
    }
    add(b_.dot_general(e.v, w, {}, {}, {t.rank() - 1}, {1}, result), true, INFINITY);
  }
  void convolution() {
    const Entry* f = find_float();
    if (!f || !hero_ready(*f)) return;
    const Entry e = *f;
    const DType t = e.v->type.dtype;
    Value* x = e.v;
    while (x->type.rank() < 3) {
      Shape s = x->type.shape;
      s.insert(s.begin(), Dim(1));
      x = b_.reshape(x, s);
    }
    if (x->type.rank() > 5) return;
    const int64_t rank = x->type.rank(), spatial = rank - 2;
    const Sizes lp = permutation(rank);
    const Dim features = x->type.shape[lp[1]];
    if (!features.is_const()) return;
    const int64_t in = features.value();
    int64_t groups = 1;
    if (rng_.chance(0.3) && in % 2 == 0) groups = rng_.chance(0.5) ? in : 2;
    const int64_t out = groups * rng_.range(1, groups > 4 ? 2 : 9);
    Sizes stride, ls, ks, os, kp = permutation(rank),
                              op = rng_.chance(0.6) ? lp : permutation(rank);
    Shape kernel(rank), padding;
    kernel[kp[0]] = in / groups;
    kernel[kp[1]] = out;
    double taps = static_cast<double>(in / groups);
    for (int64_t i = 0; i < spatial; ++i) {
      const Dim d = x->type.shape[lp[i + 2]];
      const int64_t k = rng_.range(1, std::min<int64_t>(3, std::max<int64_t>(1, d.min())));
      kernel[kp[i + 2]] = k;
      taps *= static_cast<double>(k);
      stride.push_back(rng_.chance(0.3) ? 2 : 1);
      padding.push_back(rng_.range(0, 1));
      padding.push_back(rng_.range(0, 1));
      ls.push_back(lp[i + 2]), ks.push_back(kp[i + 2]), os.push_back(op[i + 2]);
    }
    int64_t cells = 1;
    for (const Dim& d : kernel) cells *= d.value();
    if (cells > 3000) return;
    Value* w = argument(t, kernel);
    const double m = e.magnitude * pool_.back().magnitude * taps;
    Op* c = b_.create("stablehlo.convolution", {x, w},
                      {{"window_strides", Attr{stride}},
                       {"padding", Attr{padding}},
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
    Value* y = c->result();
    add(y, false, m);
    if (rng_.chance(0.6)) {
      Value* bias = argument(t, {Dim(out)}, false);
      y = b_.binary(Prim::Add, y, b_.broadcast_in_dim(bias, y->type.shape, {op[1]}));
      add(y, false, m + 10);
      if (rng_.chance(0.5)) add(b_.unary(Prim::Logistic, y), false, 1);
    }
  }
  void rows() {
    const Entry* f = find_float();
    if (!f || std::isinf(f->magnitude) || f->magnitude > 1000) return;
    const Entry e = *f;
    const int64_t axis = rng_.range(0, e.v->type.rank() - 1);
    if (rng_.chance(0.5)) {
      const bool log = rng_.chance(0.2);
      Op* op = b_.create("tenfold.softmax", {e.v}, {{"axis", Attr{axis}}, {"log", Attr{log}}});
      add(op->result(), false, log ? 2 * e.magnitude + 10 : 1);
      return;
    }
    std::vector<Value*> operands = {e.v};
    const Shape tail(e.v->type.shape.begin() + axis, e.v->type.shape.end());
    const bool rms = rng_.chance(0.3);
    for (int64_t i = rng_.range(1, rms ? 1 : 2); i > 0; --i) {
      operands.push_back(argument(e.v->type.dtype, tail, false));
    }
    Op* op = b_.create(rms ? "tenfold.rms_norm" : "tenfold.layer_norm", operands,
                       {{"axis", Attr{axis}}, {"epsilon", Attr{0.5}}});
    add(op->result(), false, 300);
  }
  // Forms that exporters write out.
  void composed() {
    const Entry* f = find_float();
    if (!f || std::isinf(f->magnitude) || f->magnitude > 60) return;
    const Entry e = *f;
    Value* x = e.v;
    const TensorType t = x->type;
    const auto c = [&](double v, const Shape& s) { return b_.full(b_.constant(t.dtype, v), s); };
    const int64_t axis = t.rank() - 1;
    Sizes others(axis);
    for (int64_t i = 0; i < axis; ++i) others[i] = i;
    const auto back = [&](Value* v) { return b_.broadcast_in_dim(v, t.shape, others); };
    switch (rng_.below(5)) {
      case 0: {  // gelu
        Value* y = b_.unary(Prim::Erf, b_.binary(Prim::Div, x, c(1.4142135623730951, t.shape)));
        y = b_.binary(Prim::Mul, x, b_.binary(Prim::Add, y, c(1, t.shape)));
        add(b_.binary(Prim::Mul, y, c(0.5, t.shape)), false, e.magnitude);
        return;
      }
      case 1: {  // hard swish
        Value* y = b_.binary(Prim::Add, x, c(3, t.shape));
        y = b_.create("stablehlo.clamp", {b_.constant(t.dtype, 0), y, b_.constant(t.dtype, 6)})
                ->result();
        y = b_.binary(Prim::Div, b_.binary(Prim::Mul, x, y), c(6, t.shape));
        add(y, e.exact, e.magnitude);
        return;
      }
      case 2: {  // softmax
        Value* m = b_.reduce(Prim::Max, x, {axis});
        Value* y = b_.unary(Prim::Exp, b_.binary(Prim::Sub, x, back(m)));
        add(b_.binary(Prim::Div, y, back(b_.reduce(Prim::Add, y, {axis}))), false, 1);
        return;
      }
      case 3: {  // layer norm
        const double n = static_cast<double>(value(t.shape.back()));
        if (!t.shape.back().is_const()) return;
        const Shape outer(t.shape.begin(), t.shape.end() - 1);
        Value* mean = b_.binary(Prim::Div, b_.reduce(Prim::Add, x, {axis}), c(n, outer));
        Value* d = b_.binary(Prim::Sub, x, back(mean));
        Value* v = b_.reduce(Prim::Add, b_.binary(Prim::Mul, d, d), {axis});
        v = b_.binary(Prim::Add, b_.binary(Prim::Div, v, c(n, outer)), c(0.5, outer));
        add(b_.binary(Prim::Mul, d, back(b_.unary(Prim::Rsqrt, v))), false, 100);
        return;
      }
      default: {  // attention of x with itself
        if (t.rank() < 2 || t.rank() > 4) return;
        Sizes batch(t.rank() - 2);
        for (size_t i = 0; i < batch.size(); ++i) batch[i] = static_cast<int64_t>(i);
        Value* q = b_.unary(Prim::Tanh, x);
        Value* s = b_.dot_general(q, x, batch, batch, {axis}, {axis});
        s = b_.binary(Prim::Mul, s, c(0.125, s->type.shape));
        s = b_.create("tenfold.softmax", {s}, {{"axis", Attr{axis}}, {"log", Attr{false}}})
                ->result();
        add(b_.dot_general(s, x, batch, batch, {axis}, {axis - 1}), false,
            e.magnitude * static_cast<double>(value(t.shape[axis - 1])));
      }
    }
  }
  void gather() {
    const Entry e = any();
    const int rank = e.v->type.rank();
    if (rank == 0) return;
    const int64_t n = value(e.v->type.shape[0]);
    const Dim rows = draw_dim();
    Value* i = main_->body.add_arg({DType::I32, {rows, 1}}, "i" + std::to_string(args_.size()));
    Literal index(DType::I32, {value(rows), 1});
    for (int64_t k = 0; k < index.size(); ++k) index.set_i64(k, rng_.range(-1, n));
    args_.push_back(std::move(index));
    std::vector<Dim> size = e.v->type.shape;
    size[0] = 1;
    Sizes offset;
    for (int d = 1; d < rank; ++d) offset.push_back(d);
    Op* op = b_.create("stablehlo.gather", {e.v, i},
                       {{"offset_dims", Attr{offset}},
                        {"collapsed_slice_dims", Attr{Sizes{0}}},
                        {"start_index_map", Attr{Sizes{0}}},
                        {"index_vector_dim", Attr{int64_t{1}}},
                        {"slice_sizes", Attr{size}}});
    add(op->result(), e.exact, e.magnitude);
  }
  Value* position() {
    Value* i = main_->body.add_arg({DType::I32, {}}, "p" + std::to_string(args_.size()));
    args_.push_back(Literal::scalar_i(DType::I32, rng_.range(-1, 4)));
    return i;
  }
  void dynamic_slice() {
    const Entry e = any();
    std::vector<Value*> operands = {e.v};
    std::vector<Dim> size;
    for (const Dim& d : e.v->type.shape) {
      operands.push_back(position());
      size.push_back(d.min() > 1 && rng_.chance(0.6) ? d - 1 : d);
    }
    add(b_.create("stablehlo.dynamic_slice", operands, {{"slice_sizes", Attr{size}}})->result(),
        e.exact, e.magnitude);
  }
  void update_slice() {
    const Entry e = any();
    std::vector<Value*> operands = {e.v, nullptr};
    Shape size;
    for (const Dim& d : e.v->type.shape) {
      operands.push_back(position());
      size.push_back(d.min() > 1 && rng_.chance(0.6) ? d - 1 : d);
    }
    operands[1] = argument(e.v->type.dtype, size);
    add(b_.create("stablehlo.dynamic_update_slice", operands)->result(), e.exact,
        std::max(e.magnitude, pool_.back().magnitude));
  }
  void cumulative() {
    const Entry e = any();
    const DType t = e.v->type.dtype;
    if (e.v->type.rank() == 0 || t == DType::Bool) return;
    const bool sum = rng_.chance(0.6);
    if (sum && is_float(t) && (std::isinf(e.magnitude) || bit_width(t) < 32)) return;
    const int64_t axis = rng_.range(0, e.v->type.rank() - 1);
    Op* op = b_.create("tenfold.cumulative", {e.v},
                       {{"prim", Attr{std::string(sum ? "add" : "max")}},
                        {"axis", Attr{axis}},
                        {"reverse", Attr{rng_.chance(0.5)}},
                        {"exclusive", Attr{sum && rng_.chance(0.5)}}});
    add(op->result(), e.exact && !(sum && is_float(t)),
        e.magnitude * static_cast<double>(value(e.v->type.shape[axis])));
  }
  void window() {
    const Entry e = any();
    const DType t = e.v->type.dtype;
    if (e.v->type.rank() == 0 || t == DType::Bool) return;
    const bool sum = rng_.chance(0.4);
    if (sum && is_float(t) && (std::isinf(e.magnitude) || bit_width(t) < 32)) return;
    std::vector<Dim> size, padding;
    Sizes stride;
    double n = 1;
    for (const Dim& d : e.v->type.shape) {
      const int64_t k = rng_.chance(0.5) ? 1 : rng_.range(1, std::min<int64_t>(3, d.min()));
      size.push_back(k);
      n *= static_cast<double>(k);
      stride.push_back(rng_.chance(0.3) ? 2 : 1);
      padding.push_back(k > 1 ? rng_.range(0, 1) : 0);
      padding.push_back(k > 1 ? rng_.range(0, 1) : 0);
    }
    Value* init = argument(t, {}, false);
    Op* op = b_.create_open("stablehlo.reduce_window", {e.v, init},
                            {{"window_dimensions", Attr{size}},
                             {"window_strides", Attr{stride}},
                             {"window_dilations", Attr{Sizes(size.size(), 1)}},
                             {"padding", Attr{padding}}});
    Block* region = op->num_regions() ? op->region(0) : op->add_region();
    GraphBuilder inner(module_.get(), region);
    Value* x = region->add_arg({t, {}});
    Value* y = region->add_arg({t, {}});
    inner.return_({inner.binary(sum ? Prim::Add : Prim::Max, x, y)});
    b_.finish(op);
    add(op->result(), e.exact && !(sum && is_float(t)),
        sum ? 10 + e.magnitude * n : e.magnitude + 10);
  }
  void sort() {
    const Entry* f = find([](const Entry& e) {
      return e.exact && !std::isinf(e.magnitude) && e.v->type.rank() > 0 &&
             e.v->type.dtype != DType::Bool;
    });
    if (!f) return;
    const Entry e = *f;
    Op* op = b_.create_open(
        "stablehlo.sort", {e.v},
        {{"dimension", Attr{rng_.range(0, e.v->type.rank() - 1)}}, {"is_stable", Attr{true}}});
    Block* region = op->num_regions() ? op->region(0) : op->add_region();
    GraphBuilder inner(module_.get(), region);
    Value* x = region->add_arg({e.v->type.dtype, {}});
    Value* y = region->add_arg({e.v->type.dtype, {}});
    inner.return_({inner.compare(rng_.chance(0.5) ? "LT" : "GT", x, y)});
    b_.finish(op);
    add(op->result(), true, e.magnitude);
  }
  // Two or three elementwise ops on exact values.
  Value* body(GraphBuilder& b, Value* x, Value* y) {
    const DType t = x->type.dtype;
    Value* r = x;
    static constexpr Prim kPrims[] = {Prim::Add, Prim::Sub, Prim::Max, Prim::Min, Prim::Mul};
    for (int64_t i = rng_.range(1, 3); i > 0; --i) {
      const Prim p = t == DType::Bool ? (rng_.chance(0.5) ? Prim::And : Prim::Or) : pick(kPrims);
      r = b.binary(p, r, rng_.chance(0.7) ? y : x);
    }
    return r;
  }
  void conditional() {
    const Entry* f = find([](const Entry& e) { return e.exact; });
    if (!f) return;
    const Entry e = *f;
    const Entry o = partner(e);
    if (!o.exact) return;
    Value* p = main_->body.add_arg({DType::Bool, {}}, "p" + std::to_string(args_.size()));
    args_.push_back(Literal::scalar_i(DType::Bool, rng_.chance(0.5)));
    const auto rs = b_.if_(
        p,
        [&](GraphBuilder& b, const std::vector<Value*>&) {
          return std::vector<Value*>{body(b, e.v, o.v), o.v};
        },
        [&](GraphBuilder& b, const std::vector<Value*>&) {
          return std::vector<Value*>{o.v, rng_.chance(0.5) ? body(b, o.v, e.v) : e.v};
        });
    for (Value* r : rs) add(r, true, INFINITY);
  }
  void loop() {
    const Entry* f = find([](const Entry& e) { return e.exact; });
    if (!f) return;
    const Entry e = *f;
    const Entry o = partner(e);
    if (!o.exact) return;
    Value* n = main_->body.add_arg({DType::I32, {}}, "t" + std::to_string(args_.size()));
    args_.push_back(Literal::scalar_i(DType::I32, rng_.range(0, 4)));
    const bool swap = rng_.chance(0.3);
    const auto rs = b_.while_(
        {b_.constant_i(DType::I32, 0), e.v, o.v},
        [&](GraphBuilder& b, const std::vector<Value*>& a) {
          return std::vector<Value*>{b.compare("LT", a[0], n)};
        },
        [&](GraphBuilder& b, const std::vector<Value*>& a) {
          Value* next = b.binary(Prim::Add, a[0], b.constant_i(DType::I32, 1));
          Value* x = body(b, a[1], a[2]);
          return swap ? std::vector<Value*>{next, a[2], x} : std::vector<Value*>{next, x, a[2]};
        });
    for (size_t i = 1; i < rs.size(); ++i) add(rs[i], true, INFINITY);
  }

  // Any op of the table as its sampler draws it, on arguments of its own.
  void table_op() {
    const OpDef& def = *all_ops()[rng_.below(all_ops().size())];
    auto s = sample_op(def, rng_.next(), {.special_values = false, .max_dim = 6, .dtypes = {}});
    if (!s) return;
    const Block& from = s->module->main()->body;
    std::unordered_map<const Value*, Value*> map;
    for (size_t i = 0; i < from.args.size(); ++i) {
      map[from.args[i].get()] =
          main_->body.add_arg(from.args[i]->type, "a" + std::to_string(args_.size()));
      args_.push_back(s->args[i]);
    }
    for (const auto& op : from.ops) {
      if (op->def->kind == OpKind::Terminator) break;
      Op* copy = main_->body.append(clone_op(*op, map));
      if (op.get() != s->op) continue;
      for (int i = 0; i < copy->num_results(); ++i) {
        Value* v = copy->result(i);
        const bool exact = def.kind != OpKind::Opaque && !is_float(v->type.dtype);
        if (is_complex(v->type.dtype) || bit_width(v->type.dtype) < 8 ||
            count(v->type.shape) == 0) {
          alone_.push_back(v);  // the other steps do not know these
        } else {
          add(v, exact, INFINITY);
        }
      }
    }
  }

  Rng rng_;
  std::unique_ptr<Module> module_;
  Function* main_;
  GraphBuilder b_;
  std::vector<Literal> args_;
  std::vector<Entry> pool_;
  std::vector<Value*> alone_;  // results that no step takes
  std::map<std::string, int64_t> env_;
  Shape theme_;
  bool symbolic_ = false, special_ = false;
};

}  // namespace

RandomGraph random_graph(uint64_t seed) { return Generator(seed).run(); }

}  // namespace tenfold::testing
