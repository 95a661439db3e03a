// Symbolic dimensions: canonical polynomials over atoms, their folding and their bounds.
//
// Arithmetic on coefficients saturates at the ends of int64; a shape that large is refused by the
// limits of whoever reads it, long before memory is asked for.
#include "array/dim.h"

#include <algorithm>
#include <numeric>

namespace tenfold {

namespace {

constexpr int64_t kLo = INT64_MIN;  // as a bound: unbounded
constexpr int64_t kHi = INT64_MAX;

int64_t sat_add(int64_t a, int64_t b) {
  int64_t r;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  return a < 0 ? kLo : kHi;
}
int64_t sat_mul(int64_t a, int64_t b) {
  int64_t r;
  if (!__builtin_mul_overflow(a, b, &r)) return r;
  return (a < 0) != (b < 0) ? kLo : kHi;
}
int64_t floor_div(int64_t a, int64_t b) {  // b != 0
  if (a == kLo && b == -1) return kHi;
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) {  // b != 0
  if (b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}

// Sums of bounds: an unbounded summand keeps the sum unbounded on that side.
int64_t add_lo(int64_t a, int64_t b) { return a == kLo || b == kLo ? kLo : sat_add(a, b); }
int64_t add_hi(int64_t a, int64_t b) { return a == kHi || b == kHi ? kHi : sat_add(a, b); }

// Products of bounds: infinity stays infinity, but 0 * infinity is 0.
int64_t mul_bound(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == kLo || a == kHi || b == kLo || b == kHi) return (a < 0) != (b < 0) ? kLo : kHi;
  return sat_mul(a, b);
}

struct Range {
  int64_t lo, hi;
};
Range operator+(Range a, Range b) { return {add_lo(a.lo, b.lo), add_hi(a.hi, b.hi)}; }
Range operator*(Range a, Range b) {
  const int64_t p[] = {mul_bound(a.lo, b.lo), mul_bound(a.lo, b.hi), mul_bound(a.hi, b.lo),
                       mul_bound(a.hi, b.hi)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}
Range power(Range a, int n) {
  Range r{1, 1};
  for (int i = 0; i < n; ++i) r = r * a;
  if (n % 2 == 0) r.lo = std::max<int64_t>(r.lo, 0);
  return r;
}
// Keeps infinities: -inf/b == -inf.
int64_t bound_div(int64_t a, int64_t b) {
  if (a == kLo || a == kHi) return a;
  if (b == kHi) return a < 0 ? -1 : 0;
  return floor_div(a, b);
}
Range negate(Range r) { return {mul_bound(r.hi, -1), mul_bound(r.lo, -1)}; }
Range floordiv_range(Range a, Range b) {
  if (b.hi < 0) return floordiv_range(negate(a), negate(b));
  if (b.lo >= 1) {
    const int64_t p[] = {bound_div(a.lo, b.lo), bound_div(a.lo, b.hi), bound_div(a.hi, b.lo),
                         bound_div(a.hi, b.hi)};
    return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
  }
  // |a / b| <= |a| as |b| >= 1 wherever the quotient exists.
  const int64_t m = std::max({a.hi, mul_bound(a.hi, -1), a.lo, mul_bound(a.lo, -1)});
  return {mul_bound(m, -1), m};
}
Range mod_range(Range a, Range b) {
  Range r{0, 0};
  if (b.hi > 0) r.hi = b.hi == kHi ? kHi : b.hi - 1;
  if (b.lo < 0) r.lo = b.lo == kLo ? kLo : b.lo + 1;
  if (b.lo >= 1 && a.lo >= 0) r.hi = std::min(r.hi, a.hi);
  return r;
}

}  // namespace

// The algebra; a friend of Dim.
struct DimOps {
  using Atom = Dim::Atom;
  using AtomRef = Dim::AtomRef;
  using AtomKind = Dim::AtomKind;
  using Term = Dim::Term;

  // --- order ---
  static int compare(const Atom& a, const Atom& b) {
    if (&a == &b) return 0;
    if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
    if (a.kind == AtomKind::Symbol) return a.symbol->name.compare(b.symbol->name);
    if (const int c = compare(a.a, b.a)) return c;
    return compare(a.b, b.b);
  }
  // Higher degrees first, then by atoms.
  static int compare_atoms(const std::vector<AtomRef>& a, const std::vector<AtomRef>& b) {
    if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
    for (size_t i = 0; i < a.size(); ++i) {
      if (const int c = compare(*a[i], *b[i])) return c;
    }
    return 0;
  }
  static int compare(const Dim& a, const Dim& b) {
    const size_t n = std::min(a.terms_.size(), b.terms_.size());
    for (size_t i = 0; i < n; ++i) {
      if (const int c = compare_atoms(a.terms_[i].atoms, b.terms_[i].atoms)) return c;
      if (a.terms_[i].coeff != b.terms_[i].coeff) {
        return a.terms_[i].coeff < b.terms_[i].coeff ? -1 : 1;
      }
    }
    if (a.terms_.size() != b.terms_.size()) return a.terms_.size() < b.terms_.size() ? -1 : 1;
    return a.constant_ < b.constant_ ? -1 : a.constant_ > b.constant_;
  }

  // --- building ---
  static Dim from_atom(Atom atom) {
    Dim d;
    d.terms_.push_back({{std::make_shared<const Atom>(std::move(atom))}, 1});
    return d;
  }
  static Dim from_term(Term t) {
    Dim d;
    if (t.atoms.empty())
      d.constant_ = t.coeff;
    else if (t.coeff != 0)
      d.terms_.push_back(std::move(t));
    return d;
  }
  static Dim opaque(AtomKind kind, const Dim& a, const Dim& b) {
    return from_atom(Atom{kind, nullptr, a, b});
  }
  static void normalize(std::vector<Term>& ts) {
    std::sort(ts.begin(), ts.end(),
              [](const Term& a, const Term& b) { return compare_atoms(a.atoms, b.atoms) < 0; });
    size_t out = 0;
    for (size_t i = 0; i < ts.size();) {
      Term t = std::move(ts[i++]);
      while (i < ts.size() && compare_atoms(t.atoms, ts[i].atoms) == 0) {
        t.coeff = sat_add(t.coeff, ts[i++].coeff);
      }
      if (t.coeff != 0) ts[out++] = std::move(t);
    }
    ts.resize(out);
  }
  static Dim add(const Dim& a, const Dim& b, int64_t scale) {
    Dim r;
    r.constant_ = sat_add(a.constant_, sat_mul(b.constant_, scale));
    if (a.terms_.empty() && b.terms_.empty()) return r;
    r.terms_ = a.terms_;
    for (const Term& t : b.terms_) r.terms_.push_back({t.atoms, sat_mul(t.coeff, scale)});
    if (!b.terms_.empty()) normalize(r.terms_);
    return r;
  }
  static Term mul(const Term& a, const Term& b) {
    Term r{{}, sat_mul(a.coeff, b.coeff)};
    std::merge(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
               std::back_inserter(r.atoms),
               [](const AtomRef& x, const AtomRef& y) { return compare(*x, *y) < 0; });
    return r;
  }
  static Dim mul(const Dim& a, const Dim& b) {
    Dim r;
    r.constant_ = sat_mul(a.constant_, b.constant_);
    for (const Term& t : a.terms_) {
      if (b.constant_ != 0) r.terms_.push_back({t.atoms, sat_mul(t.coeff, b.constant_)});
      for (const Term& u : b.terms_) r.terms_.push_back(mul(t, u));
    }
    if (a.constant_ != 0) {
      for (const Term& u : b.terms_) r.terms_.push_back({u.atoms, sat_mul(u.coeff, a.constant_)});
    }
    if (r.terms_.size() > 1) normalize(r.terms_);
    return r;
  }

  // --- bounds ---
  static Range range(const Atom& a, int depth) {
    if (a.kind == AtomKind::Symbol) return {a.symbol->min, a.symbol->max};
    const Range x = range(a.a, depth), y = range(a.b, depth);
    switch (a.kind) {
      case AtomKind::FloorDiv:
        return floordiv_range(x, y);
      case AtomKind::Mod:
        return mod_range(x, y);
      case AtomKind::Min:
        return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
      case AtomKind::Max:
        return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
      case AtomKind::Symbol:
        break;
    }
    return {kLo, kHi};
  }
  static Range range(const Term& t, int depth) {
    Range r{t.coeff, t.coeff};
    for (size_t i = 0; i < t.atoms.size();) {
      size_t j = i + 1;
      while (j < t.atoms.size() && compare(*t.atoms[i], *t.atoms[j]) == 0) ++j;
      r = r * power(range(*t.atoms[i], depth), static_cast<int>(j - i));
      i = j;
    }
    return r;
  }
  // Intervals, sharpened where an atom stands alone in a term: min and max by cases, a division
  // by a constant by the two lines that enclose it (so that n - 2*floordiv(n, 2) >= 0 is seen).
  // `depth` bounds the work.
  static Range range(const Dim& d, int depth) {
    Range r{d.constant_, d.constant_};
    for (const Term& t : d.terms_) r = r + range(t, depth);
    if (depth <= 0 || d.terms_.size() < 2) return r;
    for (size_t i = 0; i < d.terms_.size(); ++i) {
      const Term& t = d.terms_[i];
      if (t.atoms.size() != 1 || t.atoms[0]->kind == AtomKind::Symbol) continue;
      const Atom& atom = *t.atoms[0];
      Dim rest = d;
      rest.terms_.erase(rest.terms_.begin() + static_cast<std::ptrdiff_t>(i));
      if (atom.kind == AtomKind::Min || atom.kind == AtomKind::Max) {
        const Range x = range(add(rest, atom.a, t.coeff), depth - 1);
        const Range y = range(add(rest, atom.b, t.coeff), depth - 1);
        // Equal to the lesser of both when c*min with c > 0 or c*max with c < 0.
        const bool lesser = (atom.kind == AtomKind::Min) == (t.coeff > 0);
        const Range s = lesser ? Range{std::min(x.lo, y.lo), std::min(x.hi, y.hi)}
                               : Range{std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
        r = {std::max(r.lo, s.lo), std::min(r.hi, s.hi)};
      } else if (atom.kind == AtomKind::FloorDiv && atom.b.is_const() && atom.b.constant_ > 0) {
        const int64_t k = atom.b.constant_;
        const Dim scaled = mul(rest, Dim(k));
        const Dim upper = add(scaled, atom.a, t.coeff);  // k * value if it were exact
        const Dim lower = add(upper, Dim(k - 1), sat_mul(t.coeff, -1));
        const Dim& at_lo = t.coeff > 0 ? lower : upper;
        const Dim& at_hi = t.coeff > 0 ? upper : lower;
        const int64_t lo = range(at_lo, depth - 1).lo, hi = range(at_hi, depth - 1).hi;
        if (lo != kLo && lo != kHi) r.lo = std::max(r.lo, -floor_div(-lo, k));
        if (hi != kHi && hi != kLo) r.hi = std::min(r.hi, floor_div(hi, k));
      }
    }
    return r;
  }
  static Range range(const Dim& d) { return range(d, 3); }

  // --- division ---
  // t / by as monomials, when by's atoms are among t's and the coefficient divides.
  static std::optional<Term> divide(const Term& t, const Term& by) {
    if (by.coeff == 0 || (t.coeff == kLo && by.coeff == -1) || t.coeff % by.coeff != 0) {
      return std::nullopt;
    }
    Term q{{}, t.coeff / by.coeff};
    size_t j = 0;
    for (const AtomRef& a : t.atoms) {
      if (j < by.atoms.size() && compare(*a, *by.atoms[j]) == 0)
        ++j;
      else
        q.atoms.push_back(a);
    }
    if (j != by.atoms.size()) return std::nullopt;
    return q;
  }
  // a == q * b + rest, by long division on leading terms; whatever does not divide stays in rest.
  static std::pair<Dim, Dim> divide(const Dim& a, const Dim& b) {
    const bool monomial = b.terms_.size() + (b.constant_ != 0) == 1;
    const Term lead = b.terms_.empty() ? Term{{}, b.constant_} : b.terms_[0];
    Dim q, rest = a, done;
    for (int steps = 0; steps < 64; ++steps) {
      if (rest.terms_.empty() && rest.constant_ == 0) break;
      Dim head = rest.terms_.empty() ? Dim(rest.constant_) : from_term(rest.terms_[0]);
      const Term head_term = rest.terms_.empty() ? Term{{}, rest.constant_} : rest.terms_[0];
      if (auto t = divide(head_term, lead)) {
        const Dim qt = from_term(*t);
        q = q + qt;
        rest = rest - qt * b;
      } else {
        // Only a monomial divides the other terms independently of this one.
        if (!monomial) break;
        done = done + head;
        rest = rest - head;
      }
    }
    return {q, done + rest};
  }

  // Brings coefficients and constant of `a` into [0, k); adds what was taken out to `q`, k times
  // smaller. a == k*q + result.
  static Dim reduce(const Dim& a, int64_t k, Dim* q) {
    Dim r = a;
    Dim out;
    out.constant_ = floor_div(a.constant_, k);
    r.constant_ = floor_mod(a.constant_, k);
    for (Term& t : r.terms_) {
      const int64_t c = floor_div(t.coeff, k);
      if (c != 0) out.terms_.push_back({t.atoms, c});
      t.coeff = floor_mod(t.coeff, k);
    }
    std::erase_if(r.terms_, [](const Term& t) { return t.coeff == 0; });
    if (q) *q = out;  // the order of terms is kept
    return r;
  }
  static int64_t gcd_of_terms(const Dim& a, int64_t k) {
    int64_t g = k;
    for (const Term& t : a.terms_) g = std::gcd(g, t.coeff);
    return g;
  }
  static Dim divide_terms(const Dim& a, int64_t g) {
    Dim r = a;
    r.constant_ = floor_div(a.constant_, g);
    for (Term& t : r.terms_) t.coeff /= g;
    return r;
  }
  static bool saturated(const Dim& a) {
    auto ends = [](int64_t c) { return c == kLo || c == kHi; };
    return ends(a.constant_) || std::any_of(a.terms_.begin(), a.terms_.end(),
                                            [&](const Term& t) { return ends(t.coeff); });
  }

  static Dim floordiv_by(const Dim& a, int64_t k) {  // k >= 1
    if (k == 1) return a;
    Dim q;
    Dim r = reduce(a, k, &q);
    if (const int64_t g = gcd_of_terms(r, k); g > 1) {
      r = divide_terms(r, g);
      k /= g;
    }
    if (r.is_const()) return add(q, Dim(floor_div(r.constant_, k)), 1);
    const Range b = range(r);
    if (b.lo >= 0 && b.hi < k) return q;
    // floordiv(floordiv(x, m) + c, k) == floordiv(x + c*m, m*k)
    if (r.terms_.size() == 1 && r.terms_[0].coeff == 1 && r.terms_[0].atoms.size() == 1) {
      const Atom& inner = *r.terms_[0].atoms[0];
      int64_t mk, cm;
      if (inner.kind == AtomKind::FloorDiv && inner.b.is_const() && inner.b.constant_ >= 1 &&
          !__builtin_mul_overflow(inner.b.constant_, k, &mk) &&
          !__builtin_mul_overflow(inner.b.constant_, r.constant_, &cm)) {
        return add(q, floordiv(add(inner.a, Dim(cm), 1), Dim(mk)), 1);
      }
    }
    return add(q, opaque(AtomKind::FloorDiv, r, Dim(k)), 1);
  }

  static Dim mod_by(const Dim& a, int64_t k) {  // k >= 1
    if (k == 1) return Dim(0);
    Dim r = reduce(a, k, nullptr);
    if (r.is_const()) return r;
    const Range b = range(r);
    if (b.lo >= 0 && b.hi < k) return r;
    // Terms that are themselves mod(x, m) with k | m can drop the inner mod.
    for (size_t i = 0; i < r.terms_.size(); ++i) {
      const Term& t = r.terms_[i];
      if (t.atoms.size() != 1 || t.atoms[0]->kind != AtomKind::Mod) continue;
      const Dim& m = t.atoms[0]->b;
      if (!m.is_const() || m.constant_ <= 0 || m.constant_ % k != 0) continue;
      Dim rest = r;
      rest.terms_.erase(rest.terms_.begin() + static_cast<std::ptrdiff_t>(i));
      return mod_by(add(rest, t.atoms[0]->a, t.coeff), k);
    }
    if (const int64_t g = gcd_of_terms(r, k); g > 1) {
      // g*x + c over g*k': the part of c below g does not reach the carry.
      const int64_t low = floor_mod(r.constant_, g);
      return add(Dim(low), mod_by(divide_terms(r, g), k / g), g);
    }
    return opaque(AtomKind::Mod, r, Dim(k));
  }

  // --- min and max ---
  static void leaves(AtomKind kind, const Dim& d, std::vector<Dim>& out) {
    if (d.constant_ == 0 && d.terms_.size() == 1 && d.terms_[0].coeff == 1 &&
        d.terms_[0].atoms.size() == 1 && d.terms_[0].atoms[0]->kind == kind) {
      leaves(kind, d.terms_[0].atoms[0]->a, out);
      leaves(kind, d.terms_[0].atoms[0]->b, out);
    } else {
      out.push_back(d);
    }
  }
  static Dim extremum(AtomKind kind, const Dim& a, const Dim& b) {
    std::vector<Dim> all, kept;
    leaves(kind, a, all);
    leaves(kind, b, all);
    const bool is_min = kind == AtomKind::Min;
    for (size_t i = 0; i < all.size(); ++i) {
      bool dominated = false;
      for (size_t j = 0; j < all.size() && !dominated; ++j) {
        if (i == j) continue;
        // Of equal leaves the first stays.
        if (all[i] == all[j]) {
          dominated = j < i;
          continue;
        }
        const Truth beats = is_min ? less_equal(all[j], all[i]) : less_equal(all[i], all[j]);
        const Truth also = is_min ? less_equal(all[i], all[j]) : less_equal(all[j], all[i]);
        dominated = beats == Truth::Yes && (also != Truth::Yes || j < i);
      }
      if (!dominated) kept.push_back(all[i]);
    }
    std::sort(kept.begin(), kept.end(), [](const Dim& x, const Dim& y) {
      // A constant comes last: "min(n, 8)".
      if (x.is_const() != y.is_const()) return y.is_const();
      return compare(x, y) < 0;
    });
    Dim r = kept[0];
    for (size_t i = 1; i < kept.size(); ++i) r = opaque(kind, r, kept[i]);
    return r;
  }

  // --- evaluation ---
  static std::optional<int64_t> eval(const Atom& a, const Dim::Env& env) {
    if (a.kind == AtomKind::Symbol) return env(*a.symbol);
    const auto x = a.a.eval(env);
    const auto y = a.b.eval(env);
    if (!x || !y) return std::nullopt;
    switch (a.kind) {
      case AtomKind::FloorDiv:
        return *y == 0 ? std::nullopt : std::optional(floor_div(*x, *y));
      case AtomKind::Mod:
        return *y == 0 ? std::nullopt : std::optional(floor_mod(*x, *y));
      case AtomKind::Min:
        return std::min(*x, *y);
      case AtomKind::Max:
        return std::max(*x, *y);
      case AtomKind::Symbol:
        break;
    }
    return std::nullopt;
  }
  static Dim rebuild(const Atom& a, const std::function<std::optional<Dim>(const Symbol&)>& f) {
    if (a.kind == AtomKind::Symbol) {
      if (auto d = f(*a.symbol)) return *d;
      return from_atom(a);
    }
    const Dim x = a.a.substitute(f), y = a.b.substitute(f);
    switch (a.kind) {
      case AtomKind::FloorDiv:
        return floordiv(x, y);
      case AtomKind::Mod:
        return mod(x, y);
      case AtomKind::Min:
        return tenfold::min(x, y);
      case AtomKind::Max:
        return tenfold::max(x, y);
      case AtomKind::Symbol:
        break;
    }
    return {};
  }
};

Dim Dim::symbol(SymbolRef s) {
  return DimOps::from_atom(Atom{AtomKind::Symbol, std::move(s), {}, {}});
}
Dim Dim::symbol(std::string name, int64_t min, int64_t max) {
  return symbol(std::make_shared<const Symbol>(Symbol{std::move(name), min, max}));
}

int64_t Dim::value() const {
  TF_CHECK(is_const(), "value of the symbolic dimension " + str());
  return constant_;
}
std::optional<int64_t> Dim::constant() const {
  return is_const() ? std::optional(constant_) : std::nullopt;
}
SymbolRef Dim::as_symbol() const {
  if (constant_ == 0 && terms_.size() == 1 && terms_[0].coeff == 1 && terms_[0].atoms.size() == 1 &&
      terms_[0].atoms[0]->kind == AtomKind::Symbol) {
    return terms_[0].atoms[0]->symbol;
  }
  return nullptr;
}

int64_t Dim::min() const { return is_const() ? constant_ : DimOps::range(*this).lo; }
int64_t Dim::max() const { return is_const() ? constant_ : DimOps::range(*this).hi; }

std::optional<int64_t> Dim::eval(const Env& env) const {
  int64_t sum = constant_;
  for (const Term& t : terms_) {
    int64_t p = t.coeff;
    for (const AtomRef& a : t.atoms) {
      const auto v = DimOps::eval(*a, env);
      if (!v) return std::nullopt;
      p = sat_mul(p, *v);
    }
    sum = sat_add(sum, p);
  }
  return sum;
}

Dim Dim::substitute(const std::function<std::optional<Dim>(const Symbol&)>& f) const {
  Dim sum(constant_);
  for (const Term& t : terms_) {
    Dim p(t.coeff);
    for (const AtomRef& a : t.atoms) p = p * DimOps::rebuild(*a, f);
    sum = sum + p;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<SymbolRef>& out) const {
  for (const Term& t : terms_) {
    for (const AtomRef& a : t.atoms) {
      if (a->kind == AtomKind::Symbol) {
        const bool seen = std::any_of(
            out.begin(), out.end(), [&](const SymbolRef& s) { return s->name == a->symbol->name; });
        if (!seen) out.push_back(a->symbol);
      } else {
        a->a.collect_symbols(out);
        a->b.collect_symbols(out);
      }
    }
  }
}

Dim operator+(const Dim& a, const Dim& b) { return DimOps::add(a, b, 1); }
Dim operator-(const Dim& a, const Dim& b) { return DimOps::add(a, b, -1); }
Dim operator*(const Dim& a, const Dim& b) { return DimOps::mul(a, b); }
bool operator==(const Dim& a, const Dim& b) { return DimOps::compare(a, b) == 0; }

Dim floordiv(const Dim& a, const Dim& b) {
  if (b.is_const()) {
    const int64_t k = b.value();
    if (k == 0) return DimOps::opaque(Dim::AtomKind::FloorDiv, a, b);
    if (a.is_const()) return floor_div(a.value(), k);
    // A saturated number is no longer exact; leave it alone.
    if (k == kLo || DimOps::saturated(a)) return DimOps::opaque(Dim::AtomKind::FloorDiv, a, b);
    return k < 0 ? DimOps::floordiv_by(-a, -k) : DimOps::floordiv_by(a, k);
  }
  const Range rb = DimOps::range(b);
  if (rb.lo >= 1 || rb.hi <= -1) {
    auto [q, rest] = DimOps::divide(a, b);
    if (rest == Dim(0)) return q;
    if (rb.lo >= 1 && DimOps::range(rest).lo >= 0 && less(rest, b) == Truth::Yes) return q;
    if (!(q == Dim(0))) return q + DimOps::opaque(Dim::AtomKind::FloorDiv, rest, b);
  }
  return DimOps::opaque(Dim::AtomKind::FloorDiv, a, b);
}

Dim ceildiv(const Dim& a, const Dim& b) { return floordiv(a + b - Dim(1), b); }

Dim mod(const Dim& a, const Dim& b) {
  if (b.is_const()) {
    const int64_t k = b.value();
    if (k == 0) return DimOps::opaque(Dim::AtomKind::Mod, a, b);
    if (a.is_const()) return floor_mod(a.value(), k);
    if (k == kLo || DimOps::saturated(a)) return DimOps::opaque(Dim::AtomKind::Mod, a, b);
    return k < 0 ? -DimOps::mod_by(-a, -k) : DimOps::mod_by(a, k);
  }
  const Range rb = DimOps::range(b);
  if (rb.lo >= 1 || rb.hi <= -1) {
    auto [q, rest] = DimOps::divide(a, b);
    if (rest == Dim(0)) return 0;
    if (rb.lo >= 1 && DimOps::range(rest).lo >= 0 && less(rest, b) == Truth::Yes) return rest;
    return DimOps::opaque(Dim::AtomKind::Mod, rest, b);
  }
  return DimOps::opaque(Dim::AtomKind::Mod, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return std::min(a.value(), b.value());
  return DimOps::extremum(Dim::AtomKind::Min, a, b);
}
Dim max(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return std::max(a.value(), b.value());
  return DimOps::extremum(Dim::AtomKind::Max, a, b);
}

Dim product(const std::vector<Dim>& dims) {
  Dim p(1);
  for (const Dim& d : dims) {
    if (d == Dim(0)) return 0;  // also where another dimension's product has saturated
    p = p * d;
  }
  return p;
}

Truth equal(const Dim& a, const Dim& b) {
  const Dim d = a - b;
  const Range r = DimOps::range(d);
  if (r.lo == 0 && r.hi == 0) return Truth::Yes;
  if (r.lo > 0 || r.hi < 0) return Truth::No;
  // A remainder shows that two sizes never meet: 2*n against 2*m + 1.
  if (!d.is_const()) {
    int64_t g = 0;
    for (const auto& t : d.terms()) g = std::gcd(g, t.coeff == kLo ? 1 : t.coeff);
    if (g > 1 && d.constant_term() % g != 0) return Truth::No;
  }
  return Truth::Unknown;
}
Truth less(const Dim& a, const Dim& b) {
  const Range r = DimOps::range(b - a);
  return r.lo >= 1 ? Truth::Yes : r.hi <= 0 ? Truth::No : Truth::Unknown;
}
Truth less_equal(const Dim& a, const Dim& b) {
  const Range r = DimOps::range(b - a);
  return r.lo >= 0 ? Truth::Yes : r.hi < 0 ? Truth::No : Truth::Unknown;
}

}  // namespace tenfold
