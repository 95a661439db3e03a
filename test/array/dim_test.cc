// Dimensions: known folds, bounds, the text form, and random expressions against naive evaluation.
#include "array/dim.h"

#include <gtest/gtest.h>

#include <map>

#include "array/type.h"
#include "base/rng.h"

namespace tenfold {
namespace {

const Dim n = Dim::symbol("n", 1, 1000);
const Dim m = Dim::symbol("m", 1, 1000);
const Dim z = Dim::symbol("z");  // 0 or more

TEST(Dim, IsCanonical) {
  EXPECT_EQ(n * 2 - n, n);
  EXPECT_EQ((n + 1) * (n - 1), n * n - 1);
  EXPECT_EQ(n * m, m * n);
  EXPECT_EQ(n - n, Dim(0));
  EXPECT_EQ(min(n, m), min(m, n));
  EXPECT_EQ(max(max(n, m), z), max(n, max(z, m)));
  EXPECT_EQ(Dim::symbol("n", 1, 1000), n);
  EXPECT_NE(n, m);
}

TEST(Dim, DivisionFoldsWhenExact) {
  EXPECT_EQ(floordiv(n * 4, 2), n * 2);
  EXPECT_EQ(floordiv(n * 4 + 2, 2), n * 2 + 1);
  EXPECT_EQ(floordiv(n * 4 + 3, 2), n * 2 + 1);
  EXPECT_EQ(floordiv(n * m, m), n);
  EXPECT_EQ(floordiv(n * m * 6, m * 3), n * 2);
  EXPECT_EQ(floordiv((n + 1) * m, n + 1), m);
  EXPECT_EQ(floordiv((n + 1) * (m + 2), m + 2), n + 1);
  EXPECT_EQ(floordiv(n, n), Dim(1));
  EXPECT_FALSE(floordiv(z, z).is_const());  // 0/0
  EXPECT_EQ(floordiv(floordiv(n, 2), 3), floordiv(n, 6));
  EXPECT_EQ(floordiv(n, 1), n);
  EXPECT_EQ(floordiv(n, -1), -n);
  EXPECT_EQ(floordiv(n, 2000), Dim(0));
  EXPECT_EQ(ceildiv(n * 8, 8), n);
  EXPECT_EQ(floordiv(Dim(-7), 2), Dim(-4));
  EXPECT_EQ(floordiv(Dim(7), -2), Dim(-4));
  EXPECT_EQ(mod(Dim(-7), 3), Dim(2));
  EXPECT_EQ(mod(Dim(7), -3), Dim(-2));
  EXPECT_EQ(mod(n * 4 + 3, 2), Dim(1));
  EXPECT_EQ(mod(n * m, m), Dim(0));
  EXPECT_EQ(mod(n, 2000), n);
  EXPECT_EQ(mod(mod(n, 8), 4), mod(n, 4));
  EXPECT_FALSE(floordiv(n, 0).eval([](const Symbol&) { return 4; }));
  EXPECT_FALSE(mod(n, 0).eval([](const Symbol&) { return 4; }));
}

TEST(Dim, MinAndMaxFoldByBounds) {
  EXPECT_EQ(min(n, 2000), n);
  EXPECT_EQ(min(n, 0), Dim(0));
  EXPECT_EQ(max(n, 1), n);
  EXPECT_EQ(min(n + 1, n + 2), n + 1);
  EXPECT_EQ(max(min(n, 8), 8), Dim(8));
  EXPECT_EQ(min(n, min(n, 8)), min(n, 8));
  EXPECT_EQ(min(n, 8).str(), "min(n, 8)");
}

TEST(Dim, BoundsFollowTheSymbols) {
  EXPECT_EQ((n * 2 + 1).min(), 3);
  EXPECT_EQ((n * 2 + 1).max(), 2001);
  EXPECT_EQ((-n).min(), -1000);
  EXPECT_EQ((n - m).min(), -999);
  EXPECT_EQ(z.max(), INT64_MAX);
  EXPECT_EQ((z * z).max(), INT64_MAX);
  EXPECT_EQ((z + 5).min(), 5);
  EXPECT_EQ((-z).max(), 0);
  EXPECT_EQ((-z).min(), INT64_MIN);
  EXPECT_EQ(floordiv(n, 3).max(), 333);
  EXPECT_EQ(mod(n, 7).max(), 6);
  const Dim s = Dim::symbol("s", -3, 2);
  EXPECT_EQ((s * s).min(), 0);
  EXPECT_EQ((s * s).max(), 9);
  EXPECT_EQ((s * s * s).min(), -27);
  EXPECT_GE((n - floordiv(n, 2) * 2).min(), 0);
  EXPECT_LE((n - floordiv(n, 2) * 2).max(), 1);
  EXPECT_GE((n - min(n, 8)).min(), 0);
  EXPECT_GE((max(n, 8) - n).min(), 0);
  EXPECT_EQ((Dim(INT64_MAX) + 1).value(), INT64_MAX);
  EXPECT_EQ((Dim(INT64_MIN) * 2).value(), INT64_MIN);
}

TEST(Dim, ComparesInThreeValues) {
  EXPECT_EQ(equal(n + 1, n + 1), Truth::Yes);
  EXPECT_EQ(equal(n, n + 1), Truth::No);
  EXPECT_EQ(equal(n, m), Truth::Unknown);
  EXPECT_EQ(equal(n * 2, m * 2 + 1), Truth::No);
  EXPECT_EQ(equal(Dim::symbol("four", 4, 4), 4), Truth::Yes);
  EXPECT_EQ(less(n, 1001), Truth::Yes);
  EXPECT_EQ(less(n, 1), Truth::No);
  EXPECT_EQ(less(n, m), Truth::Unknown);
  EXPECT_EQ(less_equal(min(n, 8), n), Truth::Yes);
  EXPECT_EQ(less_equal(floordiv(n, 2) * 2, n), Truth::Yes);
}

TEST(Dim, SubstitutesAndCollects) {
  const auto r = (n * m + floordiv(m, 2)).substitute([](const Symbol& s) -> std::optional<Dim> {
    if (s.name == "m") return Dim(4);
    return std::nullopt;
  });
  EXPECT_EQ(r, n * 4 + 2);
  std::vector<SymbolRef> out;
  (n * m + floordiv(m, n + 3) + max(m * z, 2)).collect_symbols(out);
  EXPECT_EQ(out.size(), 3u);
  EXPECT_EQ(n.as_symbol()->name, "n");
  EXPECT_EQ((n + 1).as_symbol(), nullptr);
  EXPECT_FALSE(n.eval([](const Symbol&) { return std::nullopt; }));
}

Result<Dim> parse(std::string_view text) {
  static std::map<std::string, SymbolRef, std::less<>> known;
  return Dim::parse(text, [](std::string_view s) -> SymbolRef {
    if (s == "missing") return nullptr;
    auto& ref = known[std::string(s)];
    if (!ref) ref = std::make_shared<Symbol>(Symbol{std::string(s), 1, 1000});
    return ref;
  });
}

TEST(Dim, WritesAndReads) {
  EXPECT_EQ(Dim(7).str(), "7");
  EXPECT_EQ((n * 2 + 1).str(), "2*n + 1");
  EXPECT_EQ((-n - 1).str(), "-n - 1");
  EXPECT_EQ((n * n * m - m * 3).str(), "m*n*n - 3*m");
  EXPECT_EQ(floordiv(n, 2).str(), "floordiv(n, 2)");
  EXPECT_EQ(Dim::symbol("batch size").str(), "\"batch size\"");
  EXPECT_EQ(Dim(INT64_MIN).str(), "-9223372036854775808");
  for (const Dim& d : {n * 2 + 1, -n - 1, floordiv(n * 3 - 1, m), min(n, m) * max(n, 8) - 4,
                       mod(n * m + 1, 7), Dim::symbol("a \"b\\", 1, 1000) * n, Dim(INT64_MIN)}) {
    auto r = parse(d.str());
    ASSERT_TRUE(r.ok()) << d.str();
    EXPECT_EQ(*r, d) << d.str();
  }
  EXPECT_EQ(*parse(" ceildiv( n , 2 ) "), ceildiv(n, 2));
  EXPECT_EQ(*parse("-(n - 2) * 3"), n * -3 + 6);
}

TEST(Dim, RefusesBadText) {
  for (std::string bad : {"", "n +", "2n", "f(n, 2)", "min(n)", "(n", "missing",
                          "99999999999999999999", "\"open", "n / 2", "n)", "min(n, 2, 3)"}) {
    auto r = parse(bad);
    ASSERT_FALSE(r.ok()) << bad;
    EXPECT_EQ(r.errors()[0].id, "dim-syntax");
  }
  EXPECT_FALSE(parse(std::string(100000, '(')).ok());
}

// A random expression, both as a Dim and evaluated directly. nullopt: a division by zero.
struct Pair {
  Dim dim;
  std::optional<int64_t> value;
};
int64_t floor_of(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
Pair random_pair(Rng& rng, const std::vector<std::pair<Dim, int64_t>>& symbols, int depth) {
  if (depth == 0 || rng.chance(0.2)) {
    if (rng.chance(0.4)) {
      const int64_t c = rng.range(-6, 6);
      return {Dim(c), c};
    }
    const auto& s = symbols[rng.below(symbols.size())];
    return {s.first, s.second};
  }
  const Pair a = random_pair(rng, symbols, depth - 1), b = random_pair(rng, symbols, depth - 1);
  const bool known = a.value && b.value;
  auto both = [&](auto f) {
    return known ? std::optional<int64_t>(f(*a.value, *b.value)) : std::nullopt;
  };
  switch (rng.below(7)) {
    case 0:
      return {a.dim + b.dim, both([](int64_t x, int64_t y) { return x + y; })};
    case 1:
      return {a.dim - b.dim, both([](int64_t x, int64_t y) { return x - y; })};
    case 2:
      return {a.dim * b.dim, both([](int64_t x, int64_t y) { return x * y; })};
    case 3:
      return {min(a.dim, b.dim), both([](int64_t x, int64_t y) { return std::min(x, y); })};
    case 4:
      return {max(a.dim, b.dim), both([](int64_t x, int64_t y) { return std::max(x, y); })};
    case 5:
      if (known && *b.value == 0) return {floordiv(a.dim, b.dim), std::nullopt};
      return {floordiv(a.dim, b.dim), both(floor_of)};
    default:
      if (known && *b.value == 0) return {mod(a.dim, b.dim), std::nullopt};
      return {mod(a.dim, b.dim), both([](int64_t x, int64_t y) { return x - floor_of(x, y) * y; })};
  }
}

TEST(Dim, RandomExpressionsKeepTheirValue) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Rng rng(seed);
    std::vector<std::pair<Dim, int64_t>> symbols;
    std::map<std::string, int64_t> values;
    for (const char* s : {"a", "b", "c"}) {
      const int64_t lo = rng.range(-5, 5), hi = lo + rng.range(0, 9);
      const int64_t v = rng.range(lo, hi);
      symbols.emplace_back(Dim::symbol(s, lo, hi), v);
      values[s] = v;
    }
    const Pair p = random_pair(rng, symbols, 4);
    if (!p.value) continue;
    const auto got = p.dim.eval([&](const Symbol& s) { return std::optional(values.at(s.name)); });
    ASSERT_TRUE(got) << "seed " << seed << ": " << p.dim.str();
    EXPECT_EQ(*got, *p.value) << "seed " << seed << ": " << p.dim.str();
    EXPECT_LE(p.dim.min(), *p.value) << "seed " << seed << ": " << p.dim.str();
    EXPECT_GE(p.dim.max(), *p.value) << "seed " << seed << ": " << p.dim.str();
    // The text reads back as the same expression.
    const auto back = Dim::parse(p.dim.str(), [&](std::string_view s) {
      return symbols[static_cast<size_t>(s[0] - 'a')].first.as_symbol();
    });
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, p.dim) << "seed " << seed << ": " << p.dim.str() << " / " << back->str();
  }
}

TEST(TensorType, SaysItsShape) {
  EXPECT_EQ(type_of(DType::F32, {2, 3}).str(), "tensor<2x3xf32>");
  EXPECT_EQ(type_of(DType::Bool, {}).str(), "tensor<i1>");
  EXPECT_EQ(type_of(DType::F32, {n, 3}).str(), "tensor<?x3xf32, #tenfold.dims<n, 3>>");
  EXPECT_EQ(type_of(DType::F32, {n, 3}).num_elements(), n * 3);
  EXPECT_FALSE(type_of(DType::F32, {n}).is_static());
  EXPECT_EQ(type_of(DType::F32, {4, 0}).static_shape(), (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(type_of(DType::F32, {n}), type_of(DType::F32, {n}));
}

}  // namespace
}  // namespace tenfold
