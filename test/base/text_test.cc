// String helpers, random numbers, errors as text.
#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/result.h"
#include "base/rng.h"

namespace tenfold {
namespace {

TEST(Text, Helpers) {
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ',').size(), 1u);
  EXPECT_EQ(trim(" \t a b\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(to_lower("AbC-1"), "abc-1");
  EXPECT_EQ(json_quote("a\"\\\n\x01"), "\"a\\\"\\\\\\n\\u0001\"");
}

TEST(Text, FileNamesAreSafe) {
  EXPECT_EQ(safe_file_name("a/b:c 1.0_-Z"), "a_b_c_1.0_-Z");
  EXPECT_EQ(safe_file_name("../x"), ".._x");
  EXPECT_EQ(safe_file_name(".."), "_..");
  EXPECT_EQ(safe_file_name(""), "_");
  EXPECT_EQ(safe_file_name("\xc3\xa9"), "__");
}

TEST(Text, SuggestsTheNearest) {
  EXPECT_EQ(nearest("Rellu", {"Relu", "Gelu", "Add"}), "Relu");
  EXPECT_EQ(nearest("matmul", {"MatMul"}), "MatMul");
  EXPECT_EQ(nearest("Transformer", {"Add", "Mul"}), "");
}

TEST(Rng, IsTheSameEverywhere) {
  // splitmix64's published first outputs for seed 0 fill the state; then xoshiro256++.
  Rng a(0), b(0), c(1);
  const uint64_t s0 = 0xe220a8397b1dcdafu, s3 = 0xf88bb8a8724c81ecu;
  const uint64_t sum = s0 + s3;
  const uint64_t first = ((sum << 23) | (sum >> 41)) + s0;
  EXPECT_EQ(a.next(), first);
  EXPECT_EQ(b.next(), first);
  EXPECT_NE(c.next(), first);
}

TEST(Rng, Distributions) {
  Rng r(42);
  double sum = 0, squares = 0, uniform = 0;
  int counts[6] = {};
  constexpr int kN = 60000;
  for (int i = 0; i < kN; ++i) {
    const double x = r.normal(), u = r.uniform();
    EXPECT_TRUE(u >= 0 && u < 1);
    sum += x;
    squares += x * x;
    uniform += u;
    counts[r.range(-2, 3) + 2]++;
  }
  EXPECT_NEAR(sum / kN, 0, 0.02);
  EXPECT_NEAR(squares / kN, 1, 0.03);
  EXPECT_NEAR(uniform / kN, 0.5, 0.01);
  for (int c : counts) EXPECT_NEAR(c, kN / 6, 500);
  EXPECT_EQ(r.below(1), 0u);
  r.range(INT64_MIN, INT64_MAX);
}

Result<int> half(int x) {
  if (x % 2) return Error{"odd", "found 3, wanted an even number", {"m.mlir:1:2"}, {"a note"}};
  return x / 2;
}
Result<int> quarter(int x) {
  TF_ASSIGN(const int h, half(x));
  TF_ASSIGN(const int q, half(h));
  return q;
}

TEST(Result, CarriesErrors) {
  EXPECT_EQ(*quarter(8), 2);
  auto r = quarter(6);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(to_string(r.errors()[0]),
            "m.mlir:1:2: found 3, wanted an even number [odd]\n    a note");
}

}  // namespace
}  // namespace tenfold
