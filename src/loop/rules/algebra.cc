// Polynomials over interned atoms and their numeric ranges.
#include "loop/rules/algebra.h"

#include <algorithm>

namespace tenfold::loop {

using Kind = ExprNode::Kind;

namespace {

constexpr size_t kMaxTerms = 48;  // of a product; larger ones stay opaque

int compare_atoms(const Term& a, const Term& b) {
  if (a.degree != b.degree) return a.degree - b.degree;
  for (int i = 0; i < a.degree; ++i)
    if (a.atoms[i] != b.atoms[i]) return a.atoms[i] < b.atoms[i] ? -1 : 1;
  return 0;
}

int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

Range type_range(DType t) {
  if (t == DType::Bool) return {0, 1};
  if (!is_integer(t) || bit_width(t) >= 64) return {};
  const int bits = bit_width(t);
  if (is_unsigned(t)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

bool bounded(Range r) { return r.lo != kNegInf && r.hi != kPosInf; }

// Order of terms in printed sums, the same in every run: by names, not by addresses.
bool before(const Expr& a, const Expr& b) {
  if (a->kind != b->kind) return a->kind < b->kind;
  if (a->kind == Kind::Var) return a->var->name < b->var->name;
  return a->hash < b->hash;
}

}  // namespace

int64_t clamp_i64(__int128 v) {
  if (v > INT64_MAX) return INT64_MAX;
  if (v < INT64_MIN) return INT64_MIN;
  return static_cast<int64_t>(v);
}

Range add_range(Range a, Range b) {
  Range r;
  r.lo = a.lo == kNegInf || b.lo == kNegInf ? kNegInf : clamp_i64(__int128{a.lo} + b.lo);
  r.hi = a.hi == kPosInf || b.hi == kPosInf ? kPosInf : clamp_i64(__int128{a.hi} + b.hi);
  return r;
}

Range mul_range(Range a, Range b) {
  auto mul = [](int64_t x, int64_t y) -> __int128 {
    if (x == 0 || y == 0) return 0;
    const bool inf = x == kNegInf || x == kPosInf || y == kNegInf || y == kPosInf;
    if (inf) return (x < 0) == (y < 0) ? __int128{INT64_MAX} : __int128{INT64_MIN};
    return __int128{x} * y;
  };
  const __int128 v[4] = {mul(a.lo, b.lo), mul(a.lo, b.hi), mul(a.hi, b.lo), mul(a.hi, b.hi)};
  return {clamp_i64(*std::min_element(v, v + 4)), clamp_i64(*std::max_element(v, v + 4))};
}

// --- atoms --------------------------------------------------------------------------------------

int32_t Algebra::intern(const Expr& e) {
  auto [lo, hi] = by_hash_.equal_range(e->hash);
  for (auto it = lo; it != hi; ++it)
    if (same(atoms_[static_cast<size_t>(it->second)].e, e)) return it->second;
  Atom a;
  a.e = e;
  a.range = atom_range(e, a);
  // Memory contents, and what is computed from them, may be any number; variables without a range
  // are sizes or indices.
  a.data = e->has_load;
  if (e->kind != Kind::Var)
    for (const Expr& x : e->args)
      if (x->dtype == DType::I64) a.data = a.data || has_data(poly(x));
  if (e->kind != Kind::Var && !bounded(a.range))
    a.wild = a.wild || a.data || e->kind == Kind::Cast || e->kind == Kind::Bitcast;
  const auto id = static_cast<int32_t>(atoms_.size());
  atoms_.push_back(std::move(a));
  by_hash_.emplace(e->hash, id);
  return id;
}

Range Algebra::atom_range(const Expr& e, Atom& a) {
  switch (e->kind) {
    case Kind::Var:
      return {e->var->min, e->var->max};
    case Kind::Load:
      return type_range(e->dtype);
    case Kind::Cast: {
      const DType from = e->args[0]->dtype;
      if (e->dtype != DType::I64) return type_range(e->dtype);
      if (from == DType::Bool || is_integer(from)) return type_range(from);
      return {};
    }
    case Kind::Bitcast:
      return {};
    case Kind::Guard: {
      const Range x = range(e->args[1]), y = range(e->args[2]);
      return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
    }
    case Kind::Op:
      break;
    case Kind::Const:
      return {e->i, e->i};
  }
  switch (e->prim) {
    case Prim::Select: {
      const Range x = range(e->args[1]), y = range(e->args[2]);
      return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
    }
    case Prim::Min:
    case Prim::Max: {
      a.kind = e->prim == Prim::Min ? Atom::Kind::Min : Atom::Kind::Max;
      a.a = poly(e->args[0]);
      a.b = poly(e->args[1]);
      const Range x = range(a.a), y = range(a.b);
      // One bounded side bounds a wild other: that is what clamps are for.
      if (e->prim == Prim::Min) return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
      return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
    }
    case Prim::FloorDiv:
    case Prim::FloorMod: {
      a.a = poly(e->args[0]);
      a.b = poly(e->args[1]);
      const Range x = range(a.a);
      Range d = range(a.b);
      // An index is never divided by a size of 0, so a symbolic divisor is positive.
      if (!a.b.is_const() && !has_data(a.b)) d.lo = std::max<int64_t>(d.lo, 1);
      if (is_wild(a.a) || is_wild(a.b) || d.lo < 1) {
        if (e->prim == Prim::FloorMod && d.lo >= 1 && d.hi != kPosInf && !is_wild(a.b))
          return {0, d.hi - 1};
        a.wild = true;
        return {};
      }
      if (e->prim == Prim::FloorMod) {
        a.kind = Atom::Kind::Mod;
        int64_t hi = d.hi == kPosInf ? kPosInf : d.hi - 1;
        if (x.lo >= 0) hi = std::min(hi, x.hi);
        return {0, hi};
      }
      a.kind = Atom::Kind::Div;
      auto quotient = [](int64_t n, int64_t by) {
        return n == kNegInf || n == kPosInf ? n
               : by == kPosInf              ? (n < 0 ? int64_t{-1} : int64_t{0})
                                            : floor_div(n, by);
      };
      return {std::min(quotient(x.lo, d.lo), quotient(x.lo, d.hi)),
              std::max(quotient(x.hi, d.lo), quotient(x.hi, d.hi))};
    }
    case Prim::Mul:  // a product too large to expand
      return mul_range(range(e->args[0]), range(e->args[1]));
    default:
      a.wild = e->dtype == DType::I64;
      return type_range(e->dtype);
  }
}

Poly Algebra::atom_poly(int32_t id) const {
  Term t;
  t.coeff = 1;
  t.degree = 1;
  t.atoms[0] = id;
  return {{t}, 0};
}

void Algebra::bind_symbol(const Var& v) { intern(var_ref(v)); }

void Algebra::bind_loop(const Var& v, const Expr& begin, const Expr& extent) {
  const Poly b = poly(begin);
  const Poly hi = add(add(b, poly(extent)), constant(-1));
  const int32_t id = intern(var_ref(v));
  Atom& a = atoms_[static_cast<size_t>(id)];
  const Range rb = range(b), rh = range(hi);
  if (is_wild(b) || is_wild(hi)) return;
  a.range = {std::max(a.range.lo, rb.lo), std::min(a.range.hi, rh.hi)};
  // Extents are read once on entry; memory may change after.
  if (begin->has_load || extent->has_load) return;
  if (!b.is_const() || !hi.is_const()) {
    a.kind = Atom::Kind::Loop;
    a.a = b;
    a.b = hi;
  }
}

void Algebra::bind_let(const Var& v, const Expr& value) {
  if (v->dtype != DType::I64) return;
  const Poly p = poly(value);
  const int32_t id = intern(var_ref(v));
  Atom& a = atoms_[static_cast<size_t>(id)];
  a.data = value->has_load || has_data(p);
  const Range r = range(p);  // unbounded when wild
  a.range = {std::max(a.range.lo, r.lo), std::min(a.range.hi, r.hi)};
  a.wild = (is_wild(p) || a.data) && !bounded(a.range);
}

void Algebra::bind_alias(const Var& v, const Expr& value) { aliases_[v.get()] = value; }

// --- arithmetic ---------------------------------------------------------------------------------

Poly Algebra::add(const Poly& a, const Poly& b, int64_t s) {
  Poly r;
  r.constant = wrap_add(a.constant, wrap_mul(s, b.constant));
  if (s == 0) return a;
  r.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    const int c = i == a.terms.size()   ? 1
                  : j == b.terms.size() ? -1
                                        : compare_atoms(a.terms[i], b.terms[j]);
    if (c < 0) {
      r.terms.push_back(a.terms[i++]);
    } else if (c > 0) {
      r.terms.push_back(b.terms[j++]);
      r.terms.back().coeff = wrap_mul(r.terms.back().coeff, s);
    } else {
      Term t = a.terms[i++];
      t.coeff = wrap_add(t.coeff, wrap_mul(b.terms[j++].coeff, s));
      if (t.coeff != 0) r.terms.push_back(t);
    }
  }
  return r;
}

Poly Algebra::scale(const Poly& a, int64_t c) {
  if (c == 0) return {};
  Poly r = a;
  r.constant = wrap_mul(r.constant, c);
  for (Term& t : r.terms) t.coeff = wrap_mul(t.coeff, c);
  std::erase_if(r.terms, [](const Term& t) { return t.coeff == 0; });
  return r;
}

bool Algebra::multiply(const Poly& a, const Poly& b, Poly* out) {
  if (a.is_const()) return *out = scale(b, a.constant), true;
  if (b.is_const()) return *out = scale(a, b.constant), true;
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > kMaxTerms) return false;
  Poly r = add(scale(a, b.constant), scale(b, a.constant));
  r.constant = wrap_mul(a.constant, b.constant);
  for (const Term& x : a.terms) {
    Poly row;
    for (const Term& y : b.terms) {
      Term t;
      t.degree = x.degree + y.degree;
      if (t.degree > Term::kMaxDegree) return false;
      t.coeff = wrap_mul(x.coeff, y.coeff);
      std::merge(x.atoms, x.atoms + x.degree, y.atoms, y.atoms + y.degree, t.atoms);
      if (t.coeff != 0) r = add(r, Poly{{t}, 0});
    }
  }
  *out = std::move(r);
  return true;
}

bool Algebra::equal(const Poly& a, const Poly& b) {
  const Poly d = add(a, b, -1);
  return d.is_const() && d.constant == 0;
}

// The term x / y, when the division is exact.
static bool divide_term(const Term& x, const Term& y, Term* q) {
  if (x.degree < y.degree || x.coeff % y.coeff != 0) return false;
  Term t;
  int j = 0;
  for (int i = 0; i < x.degree; ++i) {
    if (j < y.degree && x.atoms[i] == y.atoms[j]) {
      ++j;
    } else {
      t.atoms[t.degree++] = x.atoms[i];
    }
  }
  if (j != y.degree) return false;
  t.coeff = x.coeff / y.coeff;
  *q = t;
  return true;
}

void Algebra::divide(const Poly& a, const Poly& b, Poly* q, Poly* r) {
  *q = {};
  *r = a;
  if (b.is_const()) {
    const int64_t d = b.constant;
    q->constant = floor_div(a.constant, d);
    r->constant = a.constant - q->constant * d;
    r->terms.clear();
    for (const Term& t : a.terms) {
      if (t.coeff % d == 0) {
        q->terms.push_back(t);
        q->terms.back().coeff /= d;
      } else {
        r->terms.push_back(t);
      }
    }
    return;
  }
  const Term& lead = b.terms.back();
  for (int step = 0; step < 16; ++step) {
    bool found = false;
    for (size_t i = r->terms.size(); i-- > 0;) {
      Term t;
      if (lead.coeff == INT64_MIN || lead.coeff == 0 || !divide_term(r->terms[i], lead, &t))
        continue;
      const Poly one = t.degree ? Poly{{t}, 0} : constant(t.coeff);
      Poly product;
      if (!multiply(one, b, &product)) continue;
      *q = add(*q, one);
      *r = add(*r, product, -1);
      found = true;
      break;
    }
    if (!found) return;
  }
}

bool Algebra::is_wild(const Poly& p) const {
  for (const Term& t : p.terms) {
    bool data = false;
    for (int i = 0; i < t.degree; ++i) {
      if (atom(t.atoms[i]).wild) return true;
      data = data || atom(t.atoms[i]).data;
    }
    if (data && !bounded(range(Poly{{t}, 0}))) return true;  // the product may wrap around
  }
  return false;
}

bool Algebra::has_data(const Poly& p) const {
  for (const Term& t : p.terms)
    for (int i = 0; i < t.degree; ++i)
      if (atom(t.atoms[i]).data) return true;
  return false;
}

Range Algebra::range(const Poly& p) const {
  Range r{p.constant, p.constant};
  for (const Term& t : p.terms) {
    Range x{t.coeff, t.coeff};
    for (int i = 0; i < t.degree; ++i) {
      if (atom(t.atoms[i]).wild) return {};
      x = mul_range(x, atom(t.atoms[i]).range);
    }
    r = add_range(r, x);
  }
  return r;
}

bool Algebra::mentions(const Poly& p, const VarDef* v) const {
  for (const Term& t : p.terms)
    for (int i = 0; i < t.degree; ++i)
      if (uses(atom(t.atoms[i]).e, v)) return true;
  return false;
}

bool Algebra::linear_in(const Poly& p, const VarDef* v, int64_t* coeff) {
  *coeff = 0;
  for (const Term& t : p.terms) {
    if (t.degree == 1 && atom(t.atoms[0]).e->kind == Kind::Var &&
        atom(t.atoms[0]).e->var.get() == v) {
      *coeff = t.coeff;
      continue;
    }
    for (int i = 0; i < t.degree; ++i)
      if (uses(atom(t.atoms[i]).e, v)) return false;
  }
  return true;
}

// --- to and from expressions --------------------------------------------------------------------

Poly Algebra::poly(const Expr& e) {
  if (e->kind == Kind::Const) return constant(e->i);
  if (e->kind == Kind::Var || e.use_count() == 1) return poly_uncached(e);
  if (auto it = polys_.find(e.get()); it != polys_.end()) return it->second.second;
  Poly p = poly_uncached(e);
  polys_.emplace(e.get(), std::pair(e, p));
  return p;
}

Poly Algebra::poly_uncached(const Expr& e) {
  if (e->kind == Kind::Var) {
    if (auto it = aliases_.find(e->var.get()); it != aliases_.end()) return poly(it->second);
    return atom_poly(intern(e));
  }
  if (e->kind == Kind::Op) {
    if (e->prim == Prim::Add) return add(poly(e->args[0]), poly(e->args[1]));
    if (e->prim == Prim::Sub) return add(poly(e->args[0]), poly(e->args[1]), -1);
    if (e->prim == Prim::Mul) {
      Poly r;
      if (multiply(poly(e->args[0]), poly(e->args[1]), &r)) return r;
      const Expr s = op(Prim::Mul, {simplify(e->args[0]), simplify(e->args[1])});
      return s->kind == Kind::Op && s->prim == Prim::Mul ? atom_poly(intern(s)) : poly(s);
    }
  }
  const Expr s = simplify(e);
  if (s->kind == Kind::Const || s->kind == Kind::Var ||
      (s->kind == Kind::Op &&
       (s->prim == Prim::Add || s->prim == Prim::Sub || s->prim == Prim::Mul)))
    return poly(s);
  return atom_poly(intern(s));
}

Expr Algebra::expr(const Poly& p) {
  if (p.is_const()) return int_const(p.constant);
  std::vector<std::pair<const Term*, Expr>> parts;
  parts.reserve(p.terms.size());
  for (const Term& t : p.terms) {
    std::vector<Expr> f;
    for (int i = 0; i < t.degree; ++i) f.push_back(atom(t.atoms[i]).e);
    std::sort(f.begin(), f.end(), before);
    Expr m = f[0];
    for (size_t i = 1; i < f.size(); ++i) m = m * f[i];
    parts.emplace_back(&t, std::move(m));
  }
  auto magnitude = [](int64_t c) {
    return c < 0 ? 0 - static_cast<uint64_t>(c) : static_cast<uint64_t>(c);
  };
  std::sort(parts.begin(), parts.end(), [&](const auto& x, const auto& y) {
    const bool px = x.first->coeff > 0, py = y.first->coeff > 0;
    if (px != py) return px;
    if (x.first->degree != y.first->degree) return x.first->degree > y.first->degree;
    if (x.first->coeff != y.first->coeff)
      return magnitude(x.first->coeff) > magnitude(y.first->coeff);
    return before(x.second, y.second);
  });
  Expr sum;
  for (auto& [t, m] : parts) {
    if (!sum) {
      sum = m * t->coeff;
    } else if (t->coeff < 0 && t->coeff != INT64_MIN) {
      sum = sum - m * (-t->coeff);
    } else {
      sum = sum + m * t->coeff;
    }
  }
  return p.constant == 0 ? sum : sum + p.constant;
}

}  // namespace tenfold::loop
