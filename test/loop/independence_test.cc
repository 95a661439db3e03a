// The interpreter's check of the promise that iterations are independent.
#include <gtest/gtest.h>

#include "loop/interp.h"

namespace tenfold::loop {
namespace {

// "" when the promise holds in a run over x = [0, 1, ... 7] and out of 8.
std::string check(const std::string& body) {
  auto k = parse_kernel(
      "kernel k {\n  param out: i64[8] align 8 written\n  param x: i64[8] align 8\n" + body + "}\n",
      "k.loop");
  if (!k.ok()) return to_string(k.errors());
  Literal out(DType::I64, {8}), x(DType::I64, {8});
  for (int64_t i = 0; i < 8; ++i) x.set_i64(i, i), out.set_i64(i, 0);
  Status s = interpret(*k, {&out, &x}, {}, {.check_independence = true});
  return s.ok() ? "" : s.errors()[0].message;
}

TEST(IndependenceTest, elementwise_loops_are) {
  EXPECT_EQ(check("  parallel i = 0 +: 8 independent {\n    out[i] = x[i] + x[7 - i]\n  }\n"), "");
}

TEST(IndependenceTest, a_loop_without_the_mark_may_depend) {
  EXPECT_EQ(check("  for i = 0 +: 8 {\n    out[0] = out[0] + x[i]\n  }\n"), "");
}

TEST(IndependenceTest, a_sum_in_one_place_is_not) {
  EXPECT_NE(check("  for i = 0 +: 8 independent {\n    out[0] = out[0] + x[i]\n  }\n")
                .find("independent"),
            std::string::npos);
}

TEST(IndependenceTest, a_value_of_the_iteration_before_or_after_is_not) {
  EXPECT_NE(check("  for i = 0 +: 7 independent {\n    out[i + 1] = out[i] + x[i]\n  }\n"), "");
  EXPECT_NE(check("  for i = 0 +: 7 independent {\n    out[i] = out[i + 1] + x[i]\n  }\n"), "");
}

TEST(IndependenceTest, two_writes_of_one_place_are_not) {
  EXPECT_NE(check("  for i = 0 +: 8 independent {\n    out[i / 2] = 1\n  }\n"), "");
}

TEST(IndependenceTest, scratch_of_each_iteration_is_its_own) {
  EXPECT_EQ(check("  for i = 0 +: 8 independent {\n    alloc a: i64[] stack\n    a[] = x[i]\n"
                  "    out[i] = a[]\n  }\n"),
            "");
  EXPECT_NE(check("  alloc a: i64[] stack\n  for i = 0 +: 8 independent {\n    a[] = x[i]\n"
                  "    out[i] = a[]\n  }\n"),
            "");
}

TEST(IndependenceTest, loops_after_each_other_are_ordered) {
  EXPECT_EQ(check("  for i = 0 +: 8 independent {\n    out[i] = x[i]\n  }\n"
                  "  for j = 0 +: 8 independent {\n    out[7 - j] = out[7 - j] + 1\n  }\n"),
            "");
  // Inside of an independent loop they are ordered for one iteration only.
  EXPECT_NE(
      check("  for i = 0 +: 4 independent {\n"
            "    for j = 0 +: 2 independent {\n      out[i * 2 + j] = x[j]\n    }\n"
            "    for k = 0 +: 2 independent {\n      out[6 - i * 2 + k] = x[k]\n    }\n  }\n"),
      "");
}

}  // namespace
}  // namespace tenfold::loop
