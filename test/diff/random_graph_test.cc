// Random graphs: the evaluator against compiled code at every optimisation level, on one thread and
// on two, with arguments and with constants in their place.
//
// TENFOLD_GRAPHS sets how many (60; TENFOLD_LONG_TESTS: 3000), TENFOLD_SEED the first seed. A
// failing graph is made smaller and printed with its seed.
#include "random_graph.h"

#include <chrono>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "graph/text.h"
#include "run_graph.h"

namespace tenfold::testing {
namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* v = std::getenv(name);
  return v && *v ? std::atoll(v) : otherwise;
}

struct Way {
  int level;
  bool folded;
  std::string str() const {
    return "-O" + std::to_string(level) + (folded ? ", arguments folded" : "");
  }
};

// "" when the graph computes the same however it is compiled, else what differs.
std::string check(const RandomGraph& g, const std::vector<Way>& ways, uint64_t seed) {
  auto want = reference(*g.module, g.args);
  if (!want.ok()) return "evaluator: " + to_string(want.errors());
  std::vector<Literal> base;  // the first way's
  for (const Way& w : ways) {
    if (w.folded && g.symbolic) continue;
    announce("graph seed " + std::to_string(seed) + ", " + w.str());
    std::unique_ptr<Module> folded;
    if (w.folded) folded = fold_arguments(*g.module, g.args, Rng(seed).next() | 1);
    auto c = Compiled::make(w.folded ? *folded : *g.module, w.level);
    if (!c.ok()) return w.str() + ": " + to_string(c.errors());
    auto one = c->run(g.args, 1);
    if (!one.ok()) return w.str() + ": " + to_string(one.errors());
    auto two = c->run(g.args, 2);
    if (!two.ok()) return w.str() + ", 2 threads: " + to_string(two.errors());
    for (size_t i = 0; i < one->size(); ++i) {
      const std::string at = w.str() + ", result " + std::to_string(i) + ": ";
      if (std::string d = difference((*two)[i], (*one)[i], 0); !d.empty()) {
        return at + "2 threads against 1: " + d;
      }
      const Bound& b = want->bounds[i];
      // Beyond this a rounding error may show as anything.
      if (!b.exact && !(b.error < 0.1 * b.peak)) continue;
      std::string d = difference((*one)[i], want->results[i], b.exact ? 0 : b.error);
      if (!d.empty()) return at + d;
      if (!base.empty() && b.elementwise && !w.folded) {
        d = difference((*one)[i], base[i], 0);
        if (!d.empty()) return at + "against " + ways[0].str() + ": " + d;
      }
    }
    if (base.empty()) base = std::move(*one);
  }
  return "";
}

TEST(RandomGraphs, compiled_code_meets_the_evaluator) {
  const bool long_run = std::getenv("TENFOLD_LONG_TESTS") != nullptr;
  const int64_t first = setting("TENFOLD_SEED", 1);
  const int64_t count = setting("TENFOLD_GRAPHS", std::getenv("TENFOLD_SEED") ? 1
                                                  : long_run                  ? 3000
                                                                              : 60);
  int failures = 0;
  for (int64_t seed = first; seed < first + count && failures < 5; ++seed) {
    announce("making graph seed " + std::to_string(seed));
    const RandomGraph g = random_graph(static_cast<uint64_t>(seed));
    if (std::getenv("TENFOLD_PRINT")) std::puts(print(*g.module).c_str());
    const Status ok = verify(*g.module);
    ASSERT_TRUE(ok.ok()) << "seed " << seed << "\n" << print(*g.module) << to_string(ok.errors());
    std::vector<Way> ways = {{0, false}, {1, false}, {3, false}, {3, true}};
    if (!long_run && count > 1) ways.erase(ways.begin() + seed % 2);
    const auto seed_u = static_cast<uint64_t>(seed);
    const std::string problem = check(g, ways, seed_u);
    if (problem.empty()) continue;
    ++failures;
    const RandomGraph small =
        shrink(g, [&](const RandomGraph& c) { return !check(c, ways, seed_u).empty(); }, 15);
    std::string args;
    for (const Literal& a : small.args) args += "\n  " + a.str(12);
    ADD_FAILURE() << "seed " << seed << ": " << problem << "\nmade smaller:\n"
                  << print(*small.module) << "arguments:" << args << "\n"
                  << check(small, ways, seed_u);
  }
}

TEST(RandomGraphs, a_seed_gives_the_same_graph) {
  const RandomGraph a = random_graph(5), b = random_graph(5);
  EXPECT_EQ(print(*a.module), print(*b.module));
  for (size_t i = 0; i < a.args.size(); ++i) EXPECT_TRUE(a.args[i].same(b.args[i]));
}

}  // namespace
}  // namespace tenfold::testing
