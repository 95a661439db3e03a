#include "ops/fft_util.h"

#include <cmath>
#include <numbers>

namespace tenfold {

using namespace loop;

namespace {

constexpr int64_t kLargestRadix = 13;

std::vector<int64_t> factorize(int64_t n) {
  std::vector<int64_t> f;
  for (int64_t p : {4, 2, 3, 5, 7, 11, 13})
    while (n % p == 0) f.push_back(p), n /= p;
  for (int64_t p = kLargestRadix + 2; n > 1; p += 2)
    while (n % p == 0) f.push_back(p), n /= p;
  return f;
}

Expr add(const Expr& a, const Expr& b) { return op(Prim::Add, {a, b}); }
Expr sub(const Expr& a, const Expr& b) { return op(Prim::Sub, {a, b}); }
Expr mul(const Expr& a, const Expr& b) { return op(Prim::Mul, {a, b}); }
Expr f64(double v) { return float_const(v, DType::F64); }

using Pair = LineTransform::Pair;
Pair times(const Pair& a, const Pair& w) {
  return {sub(mul(a.first, w.first), mul(a.second, w.second)),
          add(mul(a.first, w.second), mul(a.second, w.first))};
}

}  // namespace

LineTransform::Plan LineTransform::make_plan(int64_t n) {
  Plan p;
  p.n = n;
  p.factors = factorize(n);
  const Expr size = int_const(n);
  p.re = b_.alloc("re", t_, {int_const(2), size}, Scope::Workspace);
  p.im = b_.alloc("im", t_, {int_const(2), size}, Scope::Workspace);
  p.cos = b_.alloc("cos", t_, {size}, Scope::Workspace);
  p.sin = b_.alloc("sin", t_, {size}, Scope::Workspace);
  b_.for_("k", size, [&](Expr k) {
    const Expr angle = b_.let(
        "angle", mul(cast(k, DType::F64), f64(-2 * std::numbers::pi / static_cast<double>(n))));
    b_.store(p.cos, {k}, cast(op(Prim::Cos, {angle}), t_));
    b_.store(p.sin, {k}, cast(op(Prim::Sin, {angle}), t_));
  });
  return p;
}

// x[r + s * (q + m * t)], t = 0 ... p - 1, become y[r + s * (p * q + u)], u = 0 ... p - 1, where
// s is the product of the factors done before and m = n / (p * s).
void LineTransform::butterflies(const Plan& plan, int64_t stage, int64_t s, int64_t side,
                                bool inverse) {
  const int64_t p = plan.factors[stage], m = plan.n / (p * s);
  const Expr from = int_const(side), to = int_const(1 - side);
  // The table holds the forward roots; the inverse conjugates.
  const auto root = [&](const Expr& k) -> Pair {
    const Expr i = load(plan.sin, {k});
    return {load(plan.cos, {k}), inverse ? op(Prim::Neg, {i}) : i};
  };
  b_.for_("q", int_const(m), [&](Expr q) {
    std::vector<Pair> twiddles(1);
    for (int64_t u = 1; u < p && m > 1; ++u) {
      const Pair w = root(q * (u * s));
      twiddles.emplace_back(b_.let("wr", w.first), b_.let("wi", w.second));
    }
    b_.for_("r", int_const(s), [&](Expr r) {
      std::vector<Pair> x;
      for (int64_t t = 0; t < p; ++t) {
        const Expr at = r + (q + t * m) * s;
        x.emplace_back(b_.let("xr", load(plan.re, {from, at})),
                       b_.let("xi", load(plan.im, {from, at})));
      }
      std::vector<Pair> y;
      const auto rotate = [&](const Pair& a) -> Pair {  // by -i, or i for the inverse
        const Expr neg_re = op(Prim::Neg, {a.first}), neg_im = op(Prim::Neg, {a.second});
        return inverse ? Pair{neg_im, a.first} : Pair{a.second, neg_re};
      };
      const auto plus = [&](const Pair& a, const Pair& b) -> Pair {
        return {b_.let("sr", add(a.first, b.first)), b_.let("si", add(a.second, b.second))};
      };
      const auto minus = [&](const Pair& a, const Pair& b) -> Pair {
        return {b_.let("dr", sub(a.first, b.first)), b_.let("di", sub(a.second, b.second))};
      };
      if (p == 2) {
        y = {plus(x[0], x[1]), minus(x[0], x[1])};
      } else if (p == 4) {
        const Pair a = plus(x[0], x[2]), c = minus(x[0], x[2]);
        const Pair e = plus(x[1], x[3]), d = rotate(minus(x[1], x[3]));
        y = {plus(a, e), plus(c, d), minus(a, e), minus(c, d)};
      } else {
        for (int64_t u = 0; u < p; ++u) {
          Pair sum = x[0];
          for (int64_t t = 1; t < p; ++t) {
            Pair term = x[t];
            if (const int64_t k = t * u % p; k != 0) {
              const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) /
                                   static_cast<double>(p);
              term =
                  times(term, {float_const(std::cos(angle), t_), float_const(std::sin(angle), t_)});
            }
            sum = plus(sum, term);
          }
          y.push_back(sum);
        }
      }
      for (int64_t u = 0; u < p; ++u) {
        const Pair v = u > 0 && m > 1 ? times(y[u], twiddles[u]) : y[u];
        const Expr at = r + (q * p + u) * s;
        b_.store(plan.re, {to, at}, v.first);
        b_.store(plan.im, {to, at}, v.second);
      }
    });
  });
}

int64_t LineTransform::transform(const Plan& p, bool inverse) {
  int64_t side = 0, stride = 1;
  for (size_t stage = 0; stage < p.factors.size(); ++stage) {
    butterflies(p, static_cast<int64_t>(stage), stride, side, inverse);
    stride *= p.factors[stage];
    side = 1 - side;
  }
  return side;
}

LineTransform::LineTransform(Builder& b, DType t, int64_t n, bool inverse)
    : b_(b), t_(t), n_(n), inverse_(inverse) {
  bluestein_ = false;
  for (int64_t f : factorize(n)) bluestein_ = bluestein_ || f > kLargestRadix;
  if (!bluestein_) {
    plan_ = make_plan(n);
    return;
  }
  // y[k] = w[k] * sum_j (x[j] * w[j]) * conj(w[k - j]), w[k] = exp(-i pi k^2 / n): a convolution,
  // done with transforms of a power of two. Kept in f64, as its rounding errors add up.
  t_ = DType::F64;
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  plan_ = make_plan(m);
  const Expr size = int_const(n);
  chirp_re_ = b_.alloc("chirp_re", t_, {size}, Scope::Workspace);
  chirp_im_ = b_.alloc("chirp_im", t_, {size}, Scope::Workspace);
  filter_re_ = b_.alloc("filter_re", t_, {int_const(m)}, Scope::Workspace);
  filter_im_ = b_.alloc("filter_im", t_, {int_const(m)}, Scope::Workspace);
  b_.for_("k", size, [&](Expr k) {
    // k^2 modulo 2n keeps the angle exact.
    const Expr square = imod(k * k, int_const(2 * n));
    const double unit = (inverse ? 1 : -1) * std::numbers::pi / static_cast<double>(n);
    const Expr angle = b_.let("angle", mul(cast(square, DType::F64), f64(unit)));
    b_.store(chirp_re_, {k}, op(Prim::Cos, {angle}));
    b_.store(chirp_im_, {k}, op(Prim::Sin, {angle}));
  });
  const Expr side0 = int_const(0);
  b_.for_("k", int_const(m), [&](Expr k) {
    b_.store(plan_.re, {side0, k}, f64(0));
    b_.store(plan_.im, {side0, k}, f64(0));
  });
  b_.for_("k", size, [&](Expr k) {
    const Expr im = op(Prim::Neg, {load(chirp_im_, {k})});
    b_.store(plan_.re, {side0, k}, load(chirp_re_, {k}));
    b_.store(plan_.im, {side0, k}, im);
    b_.if_(lt(int_const(0), k), [&] {
      b_.store(plan_.re, {side0, int_const(m) - k}, load(chirp_re_, {k}));
      b_.store(plan_.im, {side0, int_const(m) - k}, im);
    });
  });
  const Expr side = int_const(transform(plan_, false));
  b_.for_("k", int_const(m), [&](Expr k) {
    b_.store(filter_re_, {k}, load(plan_.re, {side, k}));
    b_.store(filter_im_, {k}, load(plan_.im, {side, k}));
  });
}

void LineTransform::run(const std::function<Pair(const Expr&)>& read, int64_t count,
                        const std::function<void(const Expr&, const Pair&)>& write) {
  const Expr side0 = int_const(0);
  const Expr scale = float_const(inverse_ ? 1 / static_cast<double>(n_) : 1, t_);
  const auto scaled = [&](const Pair& v) -> Pair {
    return inverse_ ? Pair{mul(v.first, scale), mul(v.second, scale)} : v;
  };
  if (!bluestein_) {
    b_.for_("i", int_const(n_), [&](Expr i) {
      const Pair v = read(i);
      b_.store(plan_.re, {side0, i}, cast(v.first, t_));
      b_.store(plan_.im, {side0, i}, cast(v.second, t_));
    });
    const Expr side = int_const(transform(plan_, inverse_));
    b_.for_("i", int_const(count), [&](Expr i) {
      write(i, scaled({load(plan_.re, {side, i}), load(plan_.im, {side, i})}));
    });
    return;
  }
  const int64_t m = plan_.n;
  b_.for_("i", int_const(n_), [&](Expr i) {
    const Pair v = read(i);
    const Pair a = times({b_.let("vr", cast(v.first, t_)), b_.let("vi", cast(v.second, t_))},
                         {load(chirp_re_, {i}), load(chirp_im_, {i})});
    b_.store(plan_.re, {side0, i}, a.first);
    b_.store(plan_.im, {side0, i}, a.second);
  });
  b_.for_range("i", int_const(n_), int_const(m - n_), [&](Expr i) {
    b_.store(plan_.re, {side0, i}, f64(0));
    b_.store(plan_.im, {side0, i}, f64(0));
  });
  const Expr side = int_const(transform(plan_, false));
  b_.for_("i", int_const(m), [&](Expr i) {
    const Pair a{b_.let("ar", load(plan_.re, {side, i})), b_.let("ai", load(plan_.im, {side, i}))};
    const Pair v = times(a, {load(filter_re_, {i}), load(filter_im_, {i})});
    b_.store(plan_.re, {side0, i}, v.first);
    b_.store(plan_.im, {side0, i}, v.second);
  });
  const Expr back = int_const(transform(plan_, true));
  const Expr shrink = f64(1 / static_cast<double>(m));
  b_.for_("i", int_const(count), [&](Expr i) {
    const Pair a{b_.let("ar", mul(load(plan_.re, {back, i}), shrink)),
                 b_.let("ai", mul(load(plan_.im, {back, i}), shrink))};
    write(i, scaled(times(a, {load(chirp_re_, {i}), load(chirp_im_, {i})})));
  });
}

}  // namespace tenfold
