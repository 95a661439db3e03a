// Random single ops on simulated chips against the evaluator, from the op table (see
// ops/sample_util.h). Whatever the chip does not lower runs on the host, so every op must be right;
// how many reach the chip is counted and held.
//
// TENFOLD_SAMPLES sets the count an op, TENFOLD_TPU_OPS a part of the ops' names; with
// TENFOLD_VERBOSE each op's share on the chip and the reasons are printed.
#include <cstdlib>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "driver/simulate.h"
#include "graph/evaluator.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "ops/sample_util.h"
#include "support/close.h"

namespace tenfold::testing {
namespace {

int count(int standard) {
  if (const char* n = std::getenv("TENFOLD_SAMPLES")) return std::atoi(n);
  return std::getenv("TENFOLD_LONG_TESTS") ? standard * 10 : standard;
}

// The chip computes what the evaluator computes, rounding included; sums are taken in another
// order, and f32 products are made of `precision`'s pieces.
double allowed(const Op& op, const std::string& precision) {
  const DType t = real_of(op.result()->type.dtype);
  const OpKind k = op.def->kind;
  if (k == OpKind::Elementwise || k == OpKind::View || k == OpKind::Constant || k == OpKind::Sort ||
      !is_float(t))
    return 0;
  if (t == DType::BF16) return 1.6e-2;
  if (t == DType::F16) return 2e-3;
  if (t == DType::F64) return 1e-12;
  const bool products = k == OpKind::Contraction || k == OpKind::Window;
  if (products && precision == "bf16") return 1.6e-2;
  if (products && precision == "bf16x3") return 1e-4;
  return 1e-5;
}

struct Tally {
  int chip = 0, host = 0;
  std::map<std::string, int> reasons;
};

void compare_with_evaluator(const std::string& chip_name, const std::string& precision, int samples,
                            int64_t max_dim, int max_rank, std::map<std::string, Tally>* tally) {
  auto chip = tpu::find_chip(chip_name);
  ASSERT_TRUE(chip.ok());
  const char* only = std::getenv("TENFOLD_TPU_OPS");
  int failures = 0;
  for (const OpDef* def : all_ops()) {
    if (only && def->name.find(only) == std::string_view::npos) continue;
    SampleOptions options;
    options.special_values = def->kind == OpKind::Elementwise || def->kind == OpKind::View;
    // A product's sample may have many dimensions.
    options.max_dim = def->kind == OpKind::Contraction ? std::min<int64_t>(max_dim, 12) : max_dim;
    options.max_rank = max_rank;
    // Half of the samples of types that live on the chip.
    SampleOptions native = options;
    native.dtypes = {DType::F32, DType::BF16, DType::I32, DType::U32, DType::I8,
                     DType::U8,  DType::Bool, DType::I16, DType::U16};
    for (int seed = 0; seed < samples && failures < 12; ++seed) {
      auto s = sample_op(*def, static_cast<uint64_t>(seed), seed % 2 ? options : native);
      if (!s) break;
      auto want = evaluate(*s->module, *s->module->main(), s->args);
      if (!want.ok()) continue;
      SimulateOptions o;
      o.precision = precision;
      auto got = simulate_module(*s->module, *chip, o, s->args);
      const auto fail = [&](const std::string& why) {
        ++failures;
        ADD_FAILURE() << chip_name << " " << def->name << " seed " << seed << ":\n"
                      << print(*s->module) << why;
      };
      if (!got.ok()) {
        fail(to_string(got.errors()));
        continue;
      }
      Tally& t = (*tally)[std::string(def->name)];
      bool host = false;
      for (const auto& n : got->nodes) {
        host |= !n.host_reason.empty();
        if (!n.host_reason.empty()) ++t.reasons[n.host_reason];
      }
      ++(host ? t.host : t.chip);
      for (size_t i = 0; i < want->size(); ++i)
        if (!close(got->outputs[i].value, (*want)[i], allowed(*s->op, precision)))
          fail("chip      " + got->outputs[i].value.str(64) + "\nevaluator " + (*want)[i].str(64));
    }
  }
}

void report(const std::map<std::string, Tally>& tally) {
  int some = 0;
  for (const auto& [name, t] : tally) {
    some += t.chip > 0;
    if (!std::getenv("TENFOLD_VERBOSE")) continue;
    std::printf("%-36s chip %3d host %3d", name.c_str(), t.chip, t.host);
    int shown = 0;
    for (const auto& [why, n] : t.reasons)
      if (shown++ < 4) std::printf("  %dx %s;", n, why.c_str());
    std::printf("\n");
  }
  std::printf("%d of %zu ops reached the chip\n", some, tally.size());
}

TEST(TpuOps, small_shapes_on_v5e) {
  std::map<std::string, Tally> tally;
  compare_with_evaluator("v5e", "bf16", count(4), 9, 4, &tally);
  report(tally);
}
TEST(TpuOps, shapes_of_several_tiles_on_v6e) {
  std::map<std::string, Tally> tally;
  compare_with_evaluator("v6e", "bf16", count(3), 140, 2, &tally);
  report(tally);
}
TEST(TpuOps, f32_products_in_pieces) {
  for (const char* precision : {"bf16x3", "bf16x6"}) {
    std::map<std::string, Tally> tally;
    compare_with_evaluator("v5e", precision, count(2), 9, 4, &tally);
  }
}

}  // namespace
}  // namespace tenfold::testing
