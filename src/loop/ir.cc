// Constructors of loop-level expressions with their folding, copies and substitution.
//
// Identities here hold for wrapping I64 arithmetic of any value, so they are safe on user data as
// well as on indices; those that need "no overflow" sit in idiv/imod alone, which take indices.
#include "loop/ir.h"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "loop/const_value.h"
#include "loop/walk.h"

namespace tenfold::loop {

using Kind = ExprNode::Kind;

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

uint64_t hash_name(std::string_view s) {  // FNV-1a: the same in every run
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : s) h = (h ^ c) * 0x100000001b3ull;
  return mix(h, s.size());
}

ExprNode node(Kind k, DType t) {
  ExprNode n;
  n.kind = k;
  n.dtype = t;
  return n;
}

Expr make(ExprNode n) {
  uint64_t h = mix(static_cast<uint64_t>(n.kind), static_cast<uint64_t>(n.dtype));
  switch (n.kind) {
    case Kind::Const:
      h = mix(h, static_cast<uint64_t>(n.i));
      h = mix(h, std::bit_cast<uint64_t>(n.f));
      h = mix(h, std::bit_cast<uint64_t>(n.f2));
      break;
    case Kind::Var: {
      const uint64_t v = hash_name(n.var->name);
      n.var_mask = uint64_t{1} << (v >> 58);
      h = mix(h, v);
      break;
    }
    case Kind::Load:
      n.has_load = true;
      h = mix(h, hash_name(n.buffer->name));
      break;
    case Kind::Op:
      h = mix(h, static_cast<uint64_t>(n.prim));
      break;
    case Kind::Cast:
    case Kind::Bitcast:
    case Kind::Guard:
      break;
  }
  for (const Expr& a : n.args) {
    h = mix(h, a->hash);
    n.var_mask |= a->var_mask;
    n.has_load |= a->has_load;
  }
  n.hash = h;
  return std::make_shared<const ExprNode>(std::move(n));
}

Expr make_const(DType t, int64_t i, double f = 0, double f2 = 0) {
  ExprNode n = node(Kind::Const, t);
  n.i = i;
  n.f = f;
  n.f2 = f2;
  return make(std::move(n));
}

Expr make_op(Prim p, DType t, std::vector<Expr> args) {
  ExprNode n = node(Kind::Op, t);
  n.prim = p;
  n.args = std::move(args);
  return make(std::move(n));
}

bool is_const_node(const Expr& e) { return e->kind == Kind::Const; }
bool is_op(const Expr& e, Prim p) { return e->kind == Kind::Op && e->prim == p; }

bool is_i64_const(const Expr& e, int64_t* v) {
  if (e->kind != Kind::Const || e->dtype != DType::I64) return false;
  *v = e->i;
  return true;
}

// Integer value as stored in type `t`.
int64_t wrap(int64_t v, DType t) {
  const int bits = bit_width(t);
  if (t == DType::Bool) return v != 0;
  if (bits >= 64) return v;
  const uint64_t u = static_cast<uint64_t>(v) << (64 - bits);
  return is_signed(t) ? static_cast<int64_t>(u) >> (64 - bits)
                      : static_cast<int64_t>(u >> (64 - bits));
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// Folds two I64 constants where the result needs no outside help.
bool fold_i64(Prim p, int64_t a, int64_t b, int64_t* r) {
  const uint64_t ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (p) {
    case Prim::Add:
      *r = static_cast<int64_t>(ua + ub);
      return true;
    case Prim::Sub:
      *r = static_cast<int64_t>(ua - ub);
      return true;
    case Prim::Mul:
      *r = static_cast<int64_t>(ua * ub);
      return true;
    case Prim::FloorDiv:
      if (b <= 0) return false;
      *r = floor_div(a, b);
      return true;
    case Prim::FloorMod:
      if (b <= 0) return false;
      *r = a - floor_div(a, b) * b;
      return true;
    case Prim::Min:
      *r = std::min(a, b);
      return true;
    case Prim::Max:
      *r = std::max(a, b);
      return true;
    default:
      return false;
  }
}

bool fold_compare(Prim p, int64_t a, int64_t b, bool* r) {
  switch (p) {
    case Prim::Eq:
      *r = a == b;
      return true;
    case Prim::Ne:
      *r = a != b;
      return true;
    case Prim::Lt:
      *r = a < b;
      return true;
    case Prim::Le:
      *r = a <= b;
      return true;
    case Prim::Gt:
      *r = a > b;
      return true;
    case Prim::Ge:
      *r = a >= b;
      return true;
    default:
      return false;
  }
}

Expr fold_op(Prim p, const std::vector<Expr>& args) {
  const DType t = args[p == Prim::Select ? 1 : 0]->dtype;
  if (!supports(p, t)) return nullptr;
  std::byte in[3][kMaxElementBytes] = {};
  std::byte out[kMaxElementBytes] = {};
  const void* ptrs[3] = {in[0], in[1], in[2]};
  const int64_t strides[3] = {0, 0, 0};
  for (size_t k = 0; k < args.size(); ++k) const_to_bytes(*args[k], in[k]);
  apply(p, t, ptrs, strides, out, 1);
  return const_from_bytes(result_dtype(p, t), out);
}

// Identities of I64 arithmetic that hold with wrap-around. Null: none applies.
Expr i64_identity(Prim p, const Expr& a, const Expr& b) {
  int64_t ca = 0, cb = 0;
  const bool ka = is_i64_const(a, &ca), kb = is_i64_const(b, &cb);
  switch (p) {
    case Prim::Add:
      if (ka && ca == 0) return b;
      if (kb && cb == 0) return a;
      if (ka) return op(Prim::Add, {b, a});  // constants to the right
      if (kb && is_op(a, Prim::Add)) {       // (x + c1) + c2
        int64_t c1 = 0;
        if (is_i64_const(a->args[1], &c1)) {
          int64_t s = 0;
          fold_i64(Prim::Add, c1, cb, &s);
          return op(Prim::Add, {a->args[0], int_const(s)});
        }
      }
      break;
    case Prim::Sub:
      if (kb)
        return op(Prim::Add, {a, int_const(static_cast<int64_t>(0 - static_cast<uint64_t>(cb)))});
      if (same(a, b)) return int_const(0);
      // (x + y) - x
      if (is_op(a, Prim::Add) && same(a->args[0], b)) return a->args[1];
      if (is_op(a, Prim::Add) && same(a->args[1], b)) return a->args[0];
      break;
    case Prim::Mul:
      if (ka && kb) break;
      if ((ka && ca == 0) || (kb && cb == 0)) return int_const(0);
      if (ka && ca == 1) return b;
      if (kb && cb == 1) return a;
      if (ka) return op(Prim::Mul, {b, a});
      if (kb && is_op(a, Prim::Mul)) {
        int64_t c1 = 0;
        if (is_i64_const(a->args[1], &c1)) {
          int64_t s = 0;
          fold_i64(Prim::Mul, c1, cb, &s);
          return op(Prim::Mul, {a->args[0], int_const(s)});
        }
      }
      break;
    case Prim::FloorDiv:
      if (kb && cb == 1) return a;
      if (ka && ca == 0 && kb && cb > 0) return a;
      break;
    case Prim::FloorMod:
      if (kb && cb == 1) return int_const(0);
      if (ka && ca == 0 && kb && cb > 0) return a;
      break;
    case Prim::Min:
    case Prim::Max:
      if (same(a, b)) return a;
      break;
    default:
      break;
  }
  return nullptr;
}

Expr bool_identity(Prim p, const std::vector<Expr>& args) {
  if (p == Prim::Not) {
    const Expr& x = args[0];
    if (is_op(x, Prim::Not)) return x->args[0];
    return nullptr;
  }
  if (p != Prim::And && p != Prim::Or) return nullptr;
  const bool absorbing = p == Prim::Or;  // true absorbs Or, false absorbs And
  for (int k = 0; k < 2; ++k) {
    int64_t c = 0;
    if (!is_const(args[static_cast<size_t>(k)], &c)) continue;
    if ((c != 0) == absorbing) return args[static_cast<size_t>(k)];
    return args[static_cast<size_t>(1 - k)];
  }
  if (same(args[0], args[1])) return args[0];
  return nullptr;
}

}  // namespace

uint64_t var_bit(const VarDef& v) { return uint64_t{1} << (hash_name(v.name) >> 58); }

Expr int_const(int64_t v, DType t) {
  if (is_float(t)) return float_const(static_cast<double>(v), t);
  if (is_complex(t)) return complex_const(static_cast<double>(v), 0, t);
  return make_const(t, wrap(v, t));
}

Expr float_const(double v, DType t) {
  TF_CHECK(is_float(t), "float_const of a type that is no float");
  if (t == DType::F64) return make_const(t, 0, v);
  if (t == DType::F32) return make_const(t, 0, static_cast<double>(static_cast<float>(v)));
  std::byte b[kMaxElementBytes];
  ExprNode n = node(Kind::Const, t);
  n.f = v;
  const_to_bytes(n, b);
  const double r = dispatch(t, [&](auto tag) -> double {
    using T = decltype(tag);
    if constexpr (is_small_float<T>::value) {
      T x;
      std::memcpy(&x, b, sizeof x);
      return static_cast<double>(static_cast<float>(x));
    } else {
      return v;
    }
  });
  return make_const(t, 0, r);
}

Expr bool_const(bool v) { return make_const(DType::Bool, v ? 1 : 0); }

Expr complex_const(double re, double im, DType t) {
  TF_CHECK(is_complex(t), "complex_const of a type that is not complex");
  if (t == DType::C64) {
    re = static_cast<double>(static_cast<float>(re));
    im = static_cast<double>(static_cast<float>(im));
  }
  return make_const(t, 0, re, im);
}

Expr zero(DType t) {
  if (is_float(t)) return float_const(0, t);
  if (is_complex(t)) return complex_const(0, 0, t);
  return make_const(t, 0);
}

Expr var_ref(Var v) {
  ExprNode n = node(Kind::Var, v->dtype);
  n.var = std::move(v);
  return make(std::move(n));
}

Expr load(Buffer b, std::vector<Expr> index) {
  TF_CHECK(index.size() == b->shape.size(), "load: index rank of buffer " + b->name);
  ExprNode n = node(Kind::Load, b->dtype);
  n.buffer = std::move(b);
  n.args = std::move(index);
  return make(std::move(n));
}

Expr op(Prim p, std::vector<Expr> args) {
  TF_CHECK(static_cast<int>(args.size()) == arity(p), "operand count of " + std::string(name(p)));
  const DType t = args[p == Prim::Select ? 1 : 0]->dtype;
  if (p == Prim::Select) {
    TF_CHECK(args[1]->dtype == args[2]->dtype && args[0]->dtype == DType::Bool,
             "operand types of select");
    int64_t c = 0;
    if (is_const(args[0], &c)) return args[c ? 1 : 2];
    if (args[1] == args[2]) return args[1];
  } else {
    for (const Expr& a : args) TF_CHECK(a->dtype == t, "operand types of " + std::string(name(p)));
  }
  if (args.size() == 2 && t == DType::I64) {
    const Expr &a = args[0], &b = args[1];
    if (is_const_node(a) && is_const_node(b)) {
      int64_t r = 0;
      bool c = false;
      if (fold_i64(p, a->i, b->i, &r)) return int_const(r);
      if (fold_compare(p, a->i, b->i, &c)) return bool_const(c);
    }
    if (Expr r = i64_identity(p, a, b)) return r;
    bool c = false;
    if (fold_compare(p, 0, 0, &c) && same(a, b)) return bool_const(c);
  } else if (t == DType::Bool) {
    if (Expr r = bool_identity(p, args)) return r;
  }
  bool all_const = true;
  for (const Expr& a : args) all_const = all_const && is_const_node(a);
  if (all_const)
    if (Expr r = fold_op(p, args)) return r;
  return make_op(p, result_dtype(p, t), std::move(args));
}

Expr cast(Expr x, DType t) {
  if (x->dtype == t) return x;
  if (is_const_node(x)) {
    std::byte in[kMaxElementBytes] = {}, out[kMaxElementBytes] = {};
    const_to_bytes(*x, in);
    tenfold::cast(x->dtype, t, in, out, 1);
    return const_from_bytes(t, out);
  }
  ExprNode n = node(Kind::Cast, t);
  n.args = {std::move(x)};
  return make(std::move(n));
}

Expr bitcast(Expr x, DType t) {
  if (x->dtype == t) return x;
  TF_CHECK(bit_width(x->dtype) == bit_width(t), "bitcast between types of different width");
  if (is_const_node(x) && !is_complex(x->dtype) && !is_complex(t)) {
    std::byte b[kMaxElementBytes] = {};
    const_to_bytes(*x, b);
    // A NaN's payload does not survive in a constant's double.
    if (!(is_float(x->dtype) && x->f != x->f)) {
      Expr r = const_from_bytes(t, b);
      if (!(is_float(t) && r->f != r->f)) return r;
    }
  }
  ExprNode n = node(Kind::Bitcast, t);
  n.args = {std::move(x)};
  return make(std::move(n));
}

Expr guard(Expr cond, Expr a, Expr b) {
  TF_CHECK(cond->dtype == DType::Bool && a->dtype == b->dtype, "operand types of guard");
  int64_t c = 0;
  if (is_const(cond, &c)) return c ? a : b;
  if (a == b) return a;
  ExprNode n = node(Kind::Guard, a->dtype);
  n.args = {std::move(cond), std::move(a), std::move(b)};
  return make(std::move(n));
}

Expr operator+(const Expr& a, const Expr& b) { return op(Prim::Add, {a, b}); }
Expr operator-(const Expr& a, const Expr& b) { return op(Prim::Sub, {a, b}); }
Expr operator*(const Expr& a, const Expr& b) { return op(Prim::Mul, {a, b}); }
Expr operator+(const Expr& a, int64_t b) { return a + int_const(b, a->dtype); }
Expr operator-(const Expr& a, int64_t b) { return a - int_const(b, a->dtype); }
Expr operator*(const Expr& a, int64_t b) { return a * int_const(b, a->dtype); }

Expr idiv(const Expr& a, const Expr& b) {
  int64_t c = 0, c1 = 0;
  if (is_i64_const(b, &c) && c > 0) {
    if (is_op(a, Prim::Mul) && is_i64_const(a->args[1], &c1) && c1 % c == 0)
      return a->args[0] * (c1 / c);  // (x * kc) / c
    if (is_op(a, Prim::FloorDiv) && is_i64_const(a->args[1], &c1) && c1 > 0 && c1 < INT64_MAX / c)
      return idiv(a->args[0], int_const(c1 * c));  // (x / c1) / c
  } else if (is_op(a, Prim::Mul)) {                // (x * n) / n
    if (same(a->args[1], b)) return a->args[0];
    if (same(a->args[0], b)) return a->args[1];
  }
  return op(Prim::FloorDiv, {a, b});
}

Expr imod(const Expr& a, const Expr& b) {
  int64_t c = 0, c1 = 0;
  if (is_i64_const(b, &c) && c > 0) {
    if (is_op(a, Prim::Mul) && is_i64_const(a->args[1], &c1) && c1 % c == 0) return int_const(0);
  } else if (is_op(a, Prim::Mul) && (same(a->args[0], b) || same(a->args[1], b))) {
    return int_const(0);
  }
  if (same(a, b)) return int_const(0);
  return op(Prim::FloorMod, {a, b});
}

Expr imin(const Expr& a, const Expr& b) { return op(Prim::Min, {a, b}); }
Expr imax(const Expr& a, const Expr& b) { return op(Prim::Max, {a, b}); }
Expr lt(const Expr& a, const Expr& b) { return op(Prim::Lt, {a, b}); }
Expr le(const Expr& a, const Expr& b) { return op(Prim::Le, {a, b}); }
Expr eq(const Expr& a, const Expr& b) { return op(Prim::Eq, {a, b}); }
Expr ge(const Expr& a, const Expr& b) { return op(Prim::Ge, {a, b}); }
Expr logical_and(const Expr& a, const Expr& b) { return op(Prim::And, {a, b}); }
Expr logical_or(const Expr& a, const Expr& b) { return op(Prim::Or, {a, b}); }
Expr logical_not(const Expr& a) { return op(Prim::Not, {a}); }

bool is_const(const Expr& e, int64_t* v) {
  if (e->kind != Kind::Const || is_float(e->dtype) || is_complex(e->dtype)) return false;
  if (v) *v = e->i;
  return true;
}

bool same(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a->hash != b->hash || a->kind != b->kind || a->dtype != b->dtype || a->prim != b->prim ||
      a->i != b->i || a->var != b->var || a->buffer != b->buffer ||
      a->args.size() != b->args.size() ||
      std::bit_cast<uint64_t>(a->f) != std::bit_cast<uint64_t>(b->f) ||
      std::bit_cast<uint64_t>(a->f2) != std::bit_cast<uint64_t>(b->f2))
    return false;
  for (size_t i = 0; i < a->args.size(); ++i)
    if (!same(a->args[i], b->args[i])) return false;
  return true;
}

bool uses(const Expr& e, const VarDef* v) {
  if ((e->var_mask & var_bit(*v)) == 0) return false;
  if (e->kind == Kind::Var) return e->var.get() == v;
  for (const Expr& a : e->args)
    if (uses(a, v)) return true;
  return false;
}

Expr with_args(const Expr& e, std::vector<Expr> args) {
  switch (e->kind) {
    case Kind::Const:
    case Kind::Var:
      return e;
    case Kind::Load:
      return load(e->buffer, std::move(args));
    case Kind::Op:
      return op(e->prim, std::move(args));
    case Kind::Cast:
      return cast(std::move(args[0]), e->dtype);
    case Kind::Bitcast:
      return bitcast(std::move(args[0]), e->dtype);
    case Kind::Guard:
      return guard(std::move(args[0]), std::move(args[1]), std::move(args[2]));
  }
  return e;
}

StmtPtr clone(const Stmt& s) {
  auto c = std::make_unique<Stmt>();
  c->kind = s.kind;
  c->loop_kind = s.loop_kind;
  c->independent = s.independent;
  c->var = s.var;
  c->begin = s.begin;
  c->extent = s.extent;
  c->cond = s.cond;
  c->value = s.value;
  c->buffer = s.buffer;
  c->index = s.index;
  c->body = clone(s.body);
  c->else_body = clone(s.else_body);
  c->name = s.name;
  c->args = s.args;
  return c;
}

Body clone(const Body& b) {
  Body c;
  c.reserve(b.size());
  for (const StmtPtr& s : b) c.push_back(clone(*s));
  return c;
}

Expr from_dim(const Dim& d, const std::vector<Var>& symbols) {
  Expr sum = nullptr;
  auto add = [&](Expr e) { sum = sum ? sum + e : std::move(e); };
  for (const Dim::Term& t : d.terms()) {
    Expr p = nullptr;
    for (const Dim::AtomRef& a : t.atoms) {
      Expr x;
      if (a->kind == Dim::AtomKind::Symbol) {
        for (const Var& v : symbols)
          if (v->name == a->symbol->name) x = var_ref(v);
        TF_CHECK(x != nullptr, "kernel lacks the symbol " + a->symbol->name);
      } else {
        const Expr l = from_dim(a->a, symbols), r = from_dim(a->b, symbols);
        switch (a->kind) {
          case Dim::AtomKind::FloorDiv:
            x = idiv(l, r);
            break;
          case Dim::AtomKind::Mod:
            x = imod(l, r);
            break;
          case Dim::AtomKind::Min:
            x = imin(l, r);
            break;
          default:
            x = imax(l, r);
            break;
        }
      }
      p = p ? p * x : std::move(x);
    }
    add(p ? p * t.coeff : int_const(t.coeff));
  }
  if (!sum) return int_const(d.constant_term());
  return sum + d.constant_term();
}

namespace {

class Substituter {
 public:
  explicit Substituter(const Substitution& s) : s_(s) {
    for (const auto& [v, e] : s) mask_ |= var_bit(*v);
  }
  Expr run(const Expr& e) {
    if (!e || (e->var_mask & mask_) == 0) return e;
    if (e->kind == Kind::Var) {
      for (const auto& [v, r] : s_)
        if (v == e->var) return r;
      return e;
    }
    // Only a node held twice can be met twice.
    const bool shared = e.use_count() > 1;
    if (shared)
      if (auto it = memo_.find(e.get()); it != memo_.end()) return it->second.second;
    std::vector<Expr> args;
    args.reserve(e->args.size());
    bool changed = false;
    for (const Expr& a : e->args) {
      args.push_back(run(a));
      changed = changed || args.back() != a;
    }
    Expr r = changed ? with_args(e, std::move(args)) : e;
    if (shared) memo_.emplace(e.get(), std::pair(e, r));
    return r;
  }
  void run(Body& b) {
    for (StmtPtr& p : b) {
      Stmt& s = *p;
      for (Expr* e : {&s.begin, &s.extent, &s.cond, &s.value}) *e = run(*e);
      for (Expr& e : s.index) e = run(e);
      for (Expr& e : s.args) e = run(e);
      run(s.body);
      run(s.else_body);
    }
  }

 private:
  const Substitution& s_;
  uint64_t mask_ = 0;
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> memo_;  // keeps keys alive
};

}  // namespace

Expr substitute(const Expr& e, const Substitution& s) { return Substituter(s).run(e); }

void substitute(Body& b, const Substitution& s) {
  Substituter sub(s);
  sub.run(b);
  BufferMap changed;  // buffers whose shapes mention a replaced variable
  for_each_stmt(b, [&](const Stmt& st) {
    if (st.kind != Stmt::Kind::Alloc) return;
    std::vector<Expr> shape;
    bool differs = false;
    for (const Expr& e : st.buffer->shape) {
      shape.push_back(sub.run(e));
      differs = differs || shape.back() != e;
    }
    if (!differs) return;
    auto n = std::make_shared<BufferDef>(*st.buffer);
    n->shape = std::move(shape);
    changed[st.buffer.get()] = n;
  });
  if (!changed.empty()) replace_buffers(b, changed, [](const std::string& n) { return n; });
}

}  // namespace tenfold::loop
