// Samples of every op with all sizes of all arguments open, each by itself: a run with any shapes
// ends as the evaluator ends, with the same values or with an error. TENFOLD_SAMPLES sets how many
// samples an op (1; TENFOLD_LONG_TESTS: 20), TENFOLD_SEED the first.
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "graph/check.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "ops/sample_util.h"
#include "random_graph.h"
#include "run_graph.h"

namespace tenfold::testing {
namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* v = std::getenv(name);
  return v && *v ? std::atoll(v) : otherwise;
}

// False when the op does not take open sizes.
bool open_sizes(OpSample& s) {
  auto& args = s.module->main()->body.args;
  for (size_t i = 0; i < args.size(); ++i) {
    Shape& shape = args[i]->type.shape;
    for (size_t k = 0; k < shape.size(); ++k) {
      shape[k] = Dim::symbol("s" + std::to_string(i) + "_" + std::to_string(k));
    }
  }
  Diag diag(*s.op);
  const std::vector<TensorType> types = s.op->def->infer(*s.op, diag);
  if (!diag.ok()) return false;
  for (size_t i = 0; i < types.size(); ++i) s.op->result(static_cast<int>(i))->type = types[i];
  return verify(*s.module).ok();
}

bool close(const Literal& got, const Literal& want) {
  if (got.type() != want.type()) return false;
  if (got.same(want)) return true;
  if (!is_float(want.dtype()) && !is_complex(want.dtype())) return false;
  double peak = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    const double m = std::abs(want.as_c128(i));
    if (std::isfinite(m)) peak = std::max(peak, m);
  }
  const double part = bit_width(real_of(want.dtype())) < 32 ? 0.1 : 1e-4;
  return compare(got, want, part, part * peak).mismatches == 0;
}

TEST(OpenShapes, a_run_ends_as_the_evaluator_ends) {
  const int64_t samples = setting("TENFOLD_SAMPLES", std::getenv("TENFOLD_LONG_TESTS") ? 20 : 1);
  const int64_t first = setting("TENFOLD_SEED", 1);
  int failures = 0, refused = 0, ran = 0;
  for (const OpDef* def : all_ops()) {
    for (int64_t seed = first; seed < first + samples && failures < 8; ++seed) {
      auto s = sample_op(*def, static_cast<uint64_t>(seed),
                         {.special_values = false, .max_dim = 5, .max_rank = 3, .dtypes = {}});
      if (!s) break;
      if (s->args.empty() || !open_sizes(*s)) continue;
      announce(std::string(def->name) + " seed " + std::to_string(seed) + "\n" + print(*s->module));
      auto compiled = Compiled::make(*s->module, seed % 2 ? 3 : 0);
      if (!compiled.ok()) {
        // Sizes of workspace that depend on data are refused, with a reason.
        EXPECT_FALSE(compiled.errors()[0].id.empty());
        continue;
      }
      Rng rng(static_cast<uint64_t>(seed) * 31 + 7);
      for (int variant = 0; variant < 5; ++variant) {
        std::vector<Literal> args = s->args;
        if (variant > 0) {  // one size of one argument changes
          const size_t i = rng.below(args.size());
          std::vector<int64_t> dims = args[i].dims();
          if (dims.empty()) continue;
          const size_t k = rng.below(dims.size());
          dims[k] = std::max<int64_t>(0, dims[k] + rng.range(-2, 2));
          args[i] = sample_literal(rng, args[i].dtype(), dims, false);
        }
        auto want = evaluate(*s->module, *s->module->main(), args);
        auto got = compiled->run(args, variant % 2 + 1);
        std::string problem;
        if (want.ok() != got.ok()) {
          problem = want.ok() ? "only compiled code refuses: " + to_string(got.errors())
                              : "only the evaluator refuses: " + to_string(want.errors());
        } else if (!want.ok()) {
          ++refused;
          if (want.errors()[0].id != got.errors()[0].id) {
            problem =
                "evaluator " + to_string(want.errors()) + "compiled " + to_string(got.errors());
          }
        } else {
          ++ran;
          for (size_t r = 0; r < want->size(); ++r) {
            if (!close((*got)[r], (*want)[r])) {
              problem += "result " + std::to_string(r) + ": got  " + (*got)[r].str(32) +
                         "\n  want " + (*want)[r].str(32);
            }
          }
        }
        if (problem.empty()) continue;
        ++failures;
        std::string shapes;
        for (const Literal& a : args) shapes += " " + a.type().str();
        ADD_FAILURE() << def->name << " seed " << seed << ", variant " << variant << ":" << shapes
                      << "\n"
                      << print(*s->module) << problem;
        break;
      }
    }
  }
  EXPECT_GT(refused, 20);
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace tenfold::testing
