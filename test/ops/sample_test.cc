// Random single ops (ops/sample_util.h): the evaluator against the op's own loops in the loop
// interpreter, at concrete shapes. TENFOLD_SAMPLES sets the count an op (default 40).
#include "ops/sample_util.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "case_file.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "run_loops.h"

namespace tenfold::testing {
namespace {

// Exact where the arithmetic is the same; sums differ by rounding, so their error is taken relative
// to the largest value.
double allowed(const Op& op) {
  const DType t = real_of(op.result()->type.dtype);
  const OpKind k = op.def->kind;
  const bool exact =
      k == OpKind::Elementwise || k == OpKind::View || k == OpKind::Constant || k == OpKind::Sort;
  if (exact || !is_float(t)) return 0;
  if (t == DType::F64) return 1e-12;
  if (t == DType::F32) return 1e-5;
  return t == DType::F16 ? 2e-3 : t == DType::BF16 ? 1.6e-2 : 0.51;
}

bool close(const Literal& got, const Literal& want, double tolerance) {
  if (got.type() != want.type()) return false;
  if (tolerance == 0) return got.same(want);
  double peak = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double m = std::abs(want.as_c128(i));
    if (std::isfinite(m)) peak = std::max(peak, m);
  }
  return compare(got, want, tolerance, tolerance * peak).mismatches == 0;
}

TEST(Samples, evaluator_and_loops_agree) {
  const char* count = std::getenv("TENFOLD_SAMPLES");
  const int n = count ? std::atoi(count) : 40;
  int sampled = 0, failures = 0;
  for (const OpDef* def : all_ops()) {
    for (int seed = 0; seed < n && failures < 10; ++seed) {
      SampleOptions options;
      // Sums of huge and infinite numbers depend on their order.
      options.special_values = def->kind == OpKind::Elementwise || def->kind == OpKind::View;
      auto s = sample_op(*def, static_cast<uint64_t>(seed), options);
      if (!s) break;
      ++sampled;
      const std::string what = std::string(def->name) + " seed " + std::to_string(seed) + ":\n";
      auto want = evaluate(*s->module, *s->module->main(), s->args);
      if (!want.ok()) {
        ++failures;
        ADD_FAILURE() << what << print(*s->module) << to_string(want.errors());
        continue;
      }
      if (!runs_as_loops(*s->op)) continue;
      auto got = run_loops(s->op, s->args);
      if (!got.ok()) {
        ++failures;
        ADD_FAILURE() << what << print(*s->module) << to_string(got.errors());
        continue;
      }
      for (size_t i = 0; i < got->size(); ++i) {
        if (close((*got)[i], (*want)[i], allowed(*s->op))) continue;
        ++failures;
        ADD_FAILURE() << what << print(*s->module) << "loops     " << (*got)[i].str(64)
                      << "\nevaluator " << (*want)[i].str(64);
      }
    }
  }
  EXPECT_GT(sampled, 60 * n);
}

TEST(Samples, a_seed_gives_the_same_sample) {
  const OpDef* def = find_op("stablehlo.dot_general");
  auto a = sample_op(*def, 3), b = sample_op(*def, 3);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(print(*a->module), print(*b->module));
  for (size_t i = 0; i < a->args.size(); ++i) EXPECT_TRUE(a->args[i].same(b->args[i]));
}

}  // namespace
}  // namespace tenfold::testing
