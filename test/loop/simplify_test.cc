// The simplifier against brute force: random expressions over variables with random ranges, every
// assignment evaluated before and after; and the forms that fused reshapes leave, which must
// vanish.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "loop/interp.h"
#include "loop/ir.h"
#include "loop/rules/rules.h"

namespace tenfold::loop {
namespace {

using Env = std::map<const VarDef*, int64_t>;

int64_t fdiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

// Plain evaluation, independent of the folding constructors.
int64_t eval(const Expr& e, const Env& env) {
  switch (e->kind) {
    case ExprNode::Kind::Const:
      return e->i;
    case ExprNode::Kind::Var:
      return env.at(e->var.get());
    case ExprNode::Kind::Guard:
      return eval(e->args[eval(e->args[0], env) ? 1 : 2], env);
    default:
      break;
  }
  std::vector<int64_t> a;
  for (const Expr& x : e->args) a.push_back(eval(x, env));
  switch (e->prim) {
    case Prim::Add:
      return a[0] + a[1];
    case Prim::Sub:
      return a[0] - a[1];
    case Prim::Mul:
      return a[0] * a[1];
    case Prim::FloorDiv:
      return fdiv(a[0], a[1]);
    case Prim::FloorMod:
      return a[0] - fdiv(a[0], a[1]) * a[1];
    case Prim::Min:
      return std::min(a[0], a[1]);
    case Prim::Max:
      return std::max(a[0], a[1]);
    case Prim::Lt:
      return a[0] < a[1];
    case Prim::Le:
      return a[0] <= a[1];
    case Prim::Gt:
      return a[0] > a[1];
    case Prim::Ge:
      return a[0] >= a[1];
    case Prim::Eq:
      return a[0] == a[1];
    case Prim::Ne:
      return a[0] != a[1];
    case Prim::And:
      return a[0] & a[1];
    case Prim::Or:
      return a[0] | a[1];
    case Prim::Not:
      return !a[0];
    case Prim::Select:
      return a[0] ? a[1] : a[2];
    default:
      ADD_FAILURE() << print(e);
      return 0;
  }
}

struct Space {
  Var n;  // a symbol
  std::vector<Var> loops;
  std::vector<Expr> begin, extent;
};

struct Generator {
  std::mt19937_64 rng;
  Space s;
  int64_t pick(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(rng() % static_cast<uint64_t>(hi - lo + 1));
  }

  Expr divisor() {
    switch (pick(0, 9)) {
      case 0:
        return var_ref(s.n);
      case 1:
        return var_ref(s.n) * pick(2, 4);
      case 2:
        return var_ref(s.n) + pick(1, 3);
      default:
        return int_const(pick(1, 12));
    }
  }
  Expr integer(int depth) {
    if (depth <= 0 || pick(0, 9) == 0) {
      const int64_t k = pick(0, 9);
      if (k == 0) return int_const(pick(-8, 40));
      if (k == 1) return var_ref(s.n);
      return var_ref(
          s.loops[static_cast<size_t>(pick(0, static_cast<int64_t>(s.loops.size()) - 1))]);
    }
    const Expr a = integer(depth - 1);
    switch (pick(0, 13)) {
      case 12:
      case 13: {  // remainders and quotients by related numbers
        const int64_t c = pick(2, 4), d = pick(2, 4);
        return op(pick(0, 1) ? Prim::FloorDiv : Prim::FloorMod,
                  {op(pick(0, 2) ? Prim::FloorMod : Prim::FloorDiv, {a, int_const(c * d)}),
                   int_const(c)});
      }
      case 0:
      case 1:
      case 2:
        return a + integer(depth - 1);
      case 3:
        return a - integer(depth - 1);
      case 4:
      case 5:
        return a * pick(-4, 12);
      case 6:
        return pick(0, 3) ? a * pick(1, 8) : a * var_ref(s.n);
      case 7:
      case 8:
        return op(Prim::FloorDiv, {a, divisor()});
      case 9:
        return op(Prim::FloorMod, {a, divisor()});
      case 10:
        return op(pick(0, 1) ? Prim::Min : Prim::Max,
                  {a, pick(0, 1) ? integer(depth - 1) : int_const(pick(-5, 30))});
      default:
        return pick(0, 1) ? guard(boolean(depth - 1), a, integer(depth - 1))
                          : select(boolean(depth - 1), a, integer(depth - 1));
    }
  }
  Expr boolean(int depth) {
    if (depth > 1 && pick(0, 3) == 0) {
      const Expr a = boolean(depth - 1);
      if (pick(0, 3) == 0) return logical_not(a);
      return pick(0, 1) ? logical_and(a, boolean(depth - 1)) : logical_or(a, boolean(depth - 1));
    }
    static constexpr Prim kCompare[] = {Prim::Lt, Prim::Le, Prim::Gt, Prim::Ge, Prim::Eq, Prim::Ne};
    return op(kCompare[pick(0, 5)],
              {integer(depth), pick(0, 1) ? int_const(pick(-4, 50)) : integer(depth - 1)});
  }
};

class Brute {
 public:
  Brute(const Space& s, const Expr& a, const Expr& b) : s_(s), a_(a), b_(b) {}
  std::string run() {
    for (int64_t n = s_.n->min; n <= s_.n->max && bad_.empty(); ++n) {
      env_[s_.n.get()] = n;
      loop(0);
    }
    return bad_;
  }

 private:
  void loop(size_t d) {
    if (!bad_.empty()) return;
    if (d == s_.loops.size()) {
      const int64_t x = eval(a_, env_), y = eval(b_, env_);
      if (x == y) return;
      for (const auto& [v, i] : env_) bad_ += v->name + " = " + std::to_string(i) + " ";
      bad_ += ": " + std::to_string(x) + " became " + std::to_string(y);
      return;
    }
    const int64_t b = eval(s_.begin[d], env_), e = eval(s_.extent[d], env_);
    for (int64_t i = b; i < b + e; ++i) {
      env_[s_.loops[d].get()] = i;
      loop(d + 1);
    }
  }
  const Space& s_;
  const Expr &a_, &b_;
  Env env_;
  std::string bad_;
};

TEST(LoopSimplify, KeepsEveryValueAndUsesEveryRule) {
  const char* env_seed = std::getenv("TENFOLD_SEED");
  const uint64_t seed = env_seed ? std::strtoull(env_seed, nullptr, 10) : 20240611;
  std::set<std::string> fired;
  int shrunk = 0, unstable = 0;
  const int kCases = 6000;
  for (int c = 0; c < kCases; ++c) {
    Generator g{std::mt19937_64(seed + static_cast<uint64_t>(c)), {}};
    g.s.n = std::make_shared<VarDef>(VarDef{"n", DType::I64, 1, g.pick(1, 5)});
    Algebra alg;
    std::vector<const Rule*> used;
    alg.fired = &used;
    alg.bind_symbol(g.s.n);
    for (int d = 0; d < 3; ++d) {
      Var v =
          std::make_shared<VarDef>(VarDef{std::string(1, static_cast<char>('i' + d)), DType::I64});
      Expr begin = int_const(g.pick(0, 2) ? 0 : g.pick(-3, 3));
      Expr extent = int_const(g.pick(1, 6));
      if (g.pick(0, 2) == 0) extent = var_ref(g.s.n);
      if (d > 0 && g.pick(0, 5) == 0) begin = var_ref(g.s.loops.back()) * g.pick(1, 3);
      if (d > 0 && g.pick(0, 4) == 0)
        extent = imin(int_const(g.pick(2, 6)), var_ref(g.s.n) * 3 - var_ref(g.s.loops.back()) * 2);
      if (g.pick(0, 6) == 0) extent = idiv(var_ref(g.s.n) + 3, int_const(2));
      alg.bind_loop(v, begin, extent);
      g.s.loops.push_back(v);
      g.s.begin.push_back(begin);
      g.s.extent.push_back(extent);
    }
    const Expr e = g.pick(0, 2) ? g.integer(3) : g.boolean(2);
    const Expr r = alg.simplify(e);
    for (const Rule* u : used) fired.insert(u->name);
    ASSERT_EQ(Brute(g.s, e, r).run(), "") << "seed " << seed << " case " << c << "\n"
                                          << print(e) << "\n  -> " << print(r);
    shrunk += print(r).size() < print(e).size();
    Algebra fresh;
    fresh.bind_symbol(g.s.n);
    for (size_t d = 0; d < 3; ++d) fresh.bind_loop(g.s.loops[d], g.s.begin[d], g.s.extent[d]);
    if (!same(fresh.simplify(r), r)) {
      ++unstable;
      if (std::getenv("TENFOLD_SHOW"))
        printf("unstable: %s\n  -> %s\n  -> %s\n", print(e).c_str(), print(r).c_str(),
               print(fresh.simplify(r)).c_str());
    }
  }
  EXPECT_GT(shrunk, kCases / 2);
  EXPECT_LT(unstable, kCases / 100);
  for (Prim p : {Prim::FloorDiv, Prim::FloorMod, Prim::Min, Prim::Max, Prim::Lt, Prim::Le, Prim::Gt,
                 Prim::Ge, Prim::Eq, Prim::Ne})
    for (const Rule& r : rules_of(p)) EXPECT_TRUE(fired.count(r.name)) << r.name << " never fired";
}

std::string simplified(std::string_view text) {
  auto k = parse_kernel(text, "t");
  if (!k.ok()) return to_string(k.errors());
  simplify(*k);
  Status s = verify(*k);
  if (!s.ok()) return to_string(s.errors());
  std::string t = print(*k);
  return t.substr(t.find("for"));
}

TEST(LoopSimplify, ReshapeIndicesVanishOverSplitLoops) {
  EXPECT_EQ(simplified(R"(kernel k {
    param x: f32[12, 35]
    param y: f32[3, 4, 5, 7] written
    for a = 0 +: 3 { for b = 0 +: 4 { for c = 0 +: 5 { for d = 0 +: 7 {
      y[a, b, c, d] = x[(((a * 4 + b) * 5 + c) * 7 + d) // 35, (((a * 4 + b) * 5 + c) * 7 + d) % 35]
    } } } } })"),
            R"(for a = 0 +: 3 {
    for b = 0 +: 4 {
      for c = 0 +: 5 {
        for d = 0 +: 7 {
          y[a, b, c, d] = x[a * 4 + b, c * 7 + d]
        }
      }
    }
  }
}
)");
}

TEST(LoopSimplify, ReshapeIndicesVanishWithSymbolicSizes) {
  EXPECT_EQ(simplified(R"(kernel k {
    symbol n in [1, 4096]
    symbol m
    param x: f32[n * m, 64]
    param y: f32[n, m, 64] written
    for a = 0 +: n { for b = 0 +: m { for c = 0 +: 64 {
      y[a, b, c] = x[((a * m + b) * 64 + c) // 64, ((a * m + b) * 64 + c) % 64]
      y[((a * m + b) * 64 + c) // (m * 64), ((a * m + b) * 64 + c) // 64 % m, c] = 1.0
    } } } })"),
            R"(for a = 0 +: n {
    for b = 0 +: m {
      for c = 0 +: 64 {
        y[a, b, c] = x[a * m + b, c]
        y[a, b, c] = 1.0
      }
    }
  }
}
)");
}

TEST(LoopSimplify, SplitAndJoinedAgainIsTheVariable) {
  EXPECT_EQ(simplified(R"(kernel k {
    param x: f32[420]
    param y: f32[420] written
    for f = 0 +: 420 {
      y[f] = x[f // 35 * 35 + f // 7 % 5 * 7 + f % 7]
    } })"),
            "for f = 0 +: 420 {\n    y[f] = x[f]\n  }\n}\n");
}

TEST(LoopSimplify, BranchesAndGuardsThatAreDecidedGo) {
  EXPECT_EQ(simplified(R"(kernel k {
    symbol n in [1, 100]
    param x: f32[n]
    param y: f32[n] written
    for o = 0 +: (n + 7) // 8 { for i = 0 +: min(8, n - o * 8) {
      if o * 8 + i < n { y[o * 8 + i] = guard(o * 8 + i >= 0, x[o * 8 + i], 0.0) } else { y[0] = 1.0 }
    } }
    for z = 0 +: n { for w = 5 +: 1 { if z < 10 { if z < 12 { y[z + w - 5] = 0.0 } } } }
    for q = 0 +: max(0, n - 200) { y[q] = 2.0 }
    })"),
            R"(for o = 0 +: (n + 7) // 8 {
    for i = 0 +: min(n - o * 8, 8) {
      y[o * 8 + i] = x[o * 8 + i]
    }
  }
  for z = 0 +: n {
    if z < 10 {
      y[z] = 0.0
    }
  }
}
)");
}

TEST(LoopSimplify, MasksDoNotDependOnLanesWhenTheStepDivides) {
  EXPECT_EQ(simplified(R"(kernel k {
    param y: f32[128] written
    for o = 0 +: 3 { for l = 0 +: 64 { if o * 64 + l < 128 { y[o * 64 + l] = 0.0 } } }
    })"),
            R"(for o = 0 +: 3 {
    for l = 0 +: 64 {
      if o < 2 {
        y[o * 64 + l] = 0.0
      }
    }
  }
}
)");
}

TEST(LoopSimplify, MemoryContentsMayWrapAndAreLeftAlone) {
  const std::string t = simplified(R"(kernel k {
    param x: i64[4]
    param y: i64[4] written
    param b: i1[4] written
    for i = 0 +: 4 {
      y[i] = x[i] * 4 // 4
      b[i] = x[i] + 1 > x[i]
    } })");
  EXPECT_NE(t.find("x[i] * 4 // 4"), std::string::npos) << t;
  EXPECT_NE(t.find("x[i] + 1 > x[i]"), std::string::npos) << t;
}

}  // namespace
}  // namespace tenfold::loop
