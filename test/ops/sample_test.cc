// Random single ops (ops/sample_util.h): the evaluator against the op's own loops in the loop
// interpreter, at concrete and at symbolic shapes. TENFOLD_SAMPLES sets the count an op (40).
#include "ops/sample_util.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "case_file.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "run_loops.h"
#include "support/close.h"

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

int count() {
  const char* n = std::getenv("TENFOLD_SAMPLES");
  return n ? std::atoi(n) : 40;
}

SampleOptions options_for(const OpDef& def) {
  SampleOptions options;
  // Sums of huge and infinite numbers depend on their order.
  options.special_values = def.kind == OpKind::Elementwise || def.kind == OpKind::View;
  return options;
}

// A size v above 1 becomes the symbol "n<v>", so that equal sizes stay equal.
void make_symbolic(TensorType& t) {
  for (Dim& d : t.shape) {
    if (d.is_const() && d.value() > 1) d = Dim::symbol("n" + std::to_string(d.value()), 1);
  }
}
std::optional<int64_t> symbol_value(const Symbol& s) { return std::atoi(s.name.c_str() + 1); }

// The same op on operands of symbolic shapes; false when the op does not take them.
bool make_symbolic(OpSample& s) {
  for (auto& a : s.module->main()->body.args) make_symbolic(a->type);
  const OpDef& def = *s.op->def;
  if (def.explicit_results) {
    for (int i = 0; i < s.op->num_results(); ++i) make_symbolic(s.op->result(i)->type);
  }
  Diag diag(*s.op);
  const std::vector<TensorType> types = def.infer(*s.op, diag);
  if (!diag.ok()) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    s.op->result(static_cast<int>(i))->type = types[i];
  }
  return true;
}

void compare_levels(bool symbolic) {
  int sampled = 0, failures = 0;
  for (const OpDef* def : all_ops()) {
    for (int seed = 0; seed < count() && failures < 10; ++seed) {
      auto s = sample_op(*def, static_cast<uint64_t>(seed), options_for(*def));
      if (!s) break;
      const auto fail = [&](const std::string& why) {
        ++failures;
        ADD_FAILURE() << def->name << " seed " << seed << ":\n" << print(*s->module) << why;
      };
      auto want = evaluate(*s->module, *s->module->main(), s->args);
      if (!want.ok()) {
        fail(to_string(want.errors()));
        continue;
      }
      if (!runs_as_loops(*s->op)) continue;
      if (symbolic && !make_symbolic(*s)) continue;
      ++sampled;
      auto got = run_loops(s->op, s->args, symbol_value);
      if (!got.ok()) {
        fail(to_string(got.errors()));
        continue;
      }
      for (size_t i = 0; i < got->size(); ++i) {
        if (close((*got)[i], (*want)[i], allowed(*s->op))) continue;
        fail("loops     " + (*got)[i].str(64) + "\nevaluator " + (*want)[i].str(64));
      }
    }
  }
  EXPECT_GT(sampled, 60 * count());
}

TEST(Samples, evaluator_and_loops_agree) { compare_levels(false); }
TEST(Samples, evaluator_and_loops_of_symbolic_shapes_agree) { compare_levels(true); }

TEST(Samples, a_seed_gives_the_same_sample) {
  const OpDef* def = find_op("stablehlo.dot_general");
  auto a = sample_op(*def, 3), b = sample_op(*def, 3);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(print(*a->module), print(*b->module));
  for (size_t i = 0; i < a->args.size(); ++i) EXPECT_TRUE(a->args[i].same(b->args[i]));
}

}  // namespace
}  // namespace tenfold::testing
