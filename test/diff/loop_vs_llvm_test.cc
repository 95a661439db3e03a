// Kernels of random graphs, on the values that the graph gives them: the loop interpreter on the
// plain and on the scheduled nest, LLVM's code of both. TENFOLD_GRAPHS and TENFOLD_SEED as in
// random_graph_test.cc.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "driver/pipeline.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "loop/interp.h"
#include "passes/lower/emit_kernel.h"
#include "passes/lower/fusion_plan.h"
#include "passes/lower/schedule.h"
#include "random_graph.h"
#include "run_graph.h"
#include "runtime/executor.h"

namespace tenfold::testing {
namespace {

using Values = std::unordered_map<const Value*, Literal>;
using Env = std::unordered_map<std::string, int64_t>;

struct Aligned {
  explicit Aligned(size_t n)
      : data(static_cast<std::byte*>(std::aligned_alloc(64, (n + 127) / 64 * 64))) {}
  ~Aligned() { std::free(data); }
  Aligned(const Aligned&) = delete;
  std::byte* data;
};

int64_t number(const loop::Expr& e, const loop::Kernel& k, const std::vector<int64_t>& symbols) {
  loop::Substitution s;
  for (size_t i = 0; i < k.symbols.size(); ++i) {
    s.push_back({k.symbols[i], loop::int_const(symbols[i])});
  }
  int64_t v = -1;
  TF_CHECK(loop::is_const(loop::simplify(loop::substitute(e, s)), &v), loop::print(e));
  return v;
}

Status run_code(const loop::Kernel& k, std::vector<Literal>& buffers,
                const std::vector<int64_t>& symbols) {
  const Backend* cpu = find_backend("cpu");
  TF_ASSIGN(Target target, cpu->parse_target("cpu"));
  CodegenOptions options;
  options.threads = 1;
  std::vector<loop::Kernel> kernels;
  TF_ASSIGN(loop::Kernel copy, loop::parse_kernel(loop::print(k), "kernel.loop"));
  kernels.push_back(std::move(copy));
  TF_ASSIGN(CompiledKernels c, cpu->compile(kernels, target, options));
  const auto& code = c.kernels[0];
  TF_ASSIGN(std::string so, cpu->link_shared(c.object, target, code.phase_symbols));
  TF_ASSIGN(auto library, rt::Code::from_bytes(so));
  std::vector<std::unique_ptr<Aligned>> memory;
  std::vector<void*> pointers;
  for (const Literal& l : buffers) {
    memory.push_back(std::make_unique<Aligned>(l.byte_count()));
    if (l.byte_count()) std::memcpy(memory.back()->data, l.bytes(), l.byte_count());
    pointers.push_back(memory.back()->data);
  }
  for (size_t p = 0; p < code.phase_symbols.size(); ++p) {
    const int64_t n = number(code.extents[p], kernels[0], symbols);
    const Aligned work(static_cast<size_t>(number(code.workspace_bytes[p], kernels[0], symbols)));
    auto f = reinterpret_cast<rt::PhaseFunction>(library->find(code.phase_symbols[p]));
    for (int64_t i = 0; i < n; i += 2) {  // in pieces, as threads take them
      f(pointers.data(), symbols.data(), i, std::min(n, i + 2), work.data);
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].byte_count()) {
      std::memcpy(buffers[i].mutable_bytes(), memory[i]->data, buffers[i].byte_count());
    }
  }
  return ok_status();
}

Status interpreted(const loop::Kernel& k, std::vector<Literal>& buffers,
                   const std::vector<int64_t>& symbols) {
  std::vector<Literal*> pointers;
  for (Literal& b : buffers) pointers.push_back(&b);
  return loop::interpret(k, pointers, symbols, {.check_independence = true});
}

bool has_transcendental(const Group& g) {
  for (const Op* op : g.members) {
    if (op->is("tenfold.softmax")) return true;
    if (!op->def->prim) continue;
    const Prim p = *op->def->prim;
    if (arity(p) == 1 && p != Prim::Neg && p != Prim::Abs && p != Prim::Sqrt) return true;
    if (p == Prim::Pow || p == Prim::Atan2) return true;
  }
  return false;
}

// One group in the four ways; "" when they agree.
std::string compare_ways(const Group& g, const Values& values, const Env& env, bool with_code) {
  std::vector<std::vector<Literal>> results;
  std::vector<std::string> names;
  for (const bool scheduled : {false, true}) {
    auto k = emit_kernel(g, "subject");
    if (!k.ok()) return to_string(k.errors());
    loop::simplify(k->kernel);
    if (scheduled) {
      auto target = find_backend("cpu")->parse_target("cpu");
      std::vector<Repack> repacks;
      const Status s =
          schedule_kernel(*k, g.hero, target->machine, [](int) { return false; }, repacks);
      if (!s.ok()) return to_string(s.errors());
    }
    if (const Status s = loop::verify(k->kernel); !s.ok()) return to_string(s.errors());
    std::vector<Literal> buffers;
    std::vector<int64_t> symbols;
    for (const SymbolRef& s : k->symbols) {
      const auto at = env.find(s->name);
      if (at == env.end()) return "";
      symbols.push_back(at->second);
    }
    for (const Value* v : k->params) {
      const auto at = values.find(v);
      if (at == values.end()) return "";  // inside control flow
      buffers.push_back(v->def() == g.root ? Literal(v->type.dtype, at->second.dims())
                                           : at->second);
    }
    for (const bool code : {false, true}) {
      if (code && !with_code) continue;
      std::vector<Literal> mine = buffers;
      const Status s =
          code ? run_code(k->kernel, mine, symbols) : interpreted(k->kernel, mine, symbols);
      names.push_back(std::string(scheduled ? "scheduled, " : "plain, ") +
                      (code ? "LLVM" : "interpreter"));
      if (!s.ok()) return names.back() + ": " + to_string(s.errors()) + loop::print(k->kernel);
      mine.resize(g.root->num_results());
      results.push_back(std::move(mine));
    }
  }
  const bool exact_hero = !g.hero || !is_float(g.hero->result()->type.dtype);
  const bool exact = exact_hero && !has_transcendental(g);
  for (size_t w = 1; w < results.size(); ++w) {
    for (size_t i = 0; i < results[0].size(); ++i) {
      const Literal& want = results[0][i];
      double peak = 1e-3;
      for (int64_t e = 0; e < want.size() && is_float(want.dtype()); ++e) {
        const double m = std::abs(want.as_f64(e));
        if (std::isfinite(m)) peak = std::max(peak, m);
      }
      const double part = bit_width(want.dtype()) < 32 ? 5e-2 : 1e-3;
      const std::string d =
          difference(results[w][i], want, exact || !is_float(want.dtype()) ? 0 : part * peak);
      if (!d.empty()) return names[w] + " against " + names[0] + ": " + d;
    }
  }
  return "";
}

TEST(Kernels, interpreter_and_llvm_agree_on_plain_and_scheduled_nests) {
  const char* first_text = std::getenv("TENFOLD_SEED");
  const char* count_text = std::getenv("TENFOLD_GRAPHS");
  const int64_t first = first_text ? std::atoll(first_text) : 1;
  const int64_t count = count_text                          ? std::atoll(count_text)
                        : first_text                        ? 1
                        : std::getenv("TENFOLD_LONG_TESTS") ? 1000
                                                            : 40;
  int failures = 0, kernels = 0;
  for (int64_t seed = first; seed < first + count && failures < 5; ++seed) {
    announce("kernels of graph seed " + std::to_string(seed));
    const RandomGraph g = random_graph(static_cast<uint64_t>(seed));
    PipelineOptions options;
    options.opt_level = seed % 2 ? 2 : 0;
    ASSERT_TRUE(run_pipeline(*g.module, options).ok());
    const Function& f = *g.module->main();
    Values values;
    EvalOptions eval;
    eval.observe = [&](const Value& v, const Literal& l) { values[&v] = l; };
    auto want = evaluate(*g.module, f, g.args, eval);
    ASSERT_TRUE(want.ok()) << "seed " << seed << to_string(want.errors());
    Env env;
    for (size_t i = 0; i < g.args.size(); ++i) {
      const Value* a = f.body.args[i].get();
      values[a] = g.args[i];
      for (int d = 0; d < a->type.rank(); ++d) {
        if (SymbolRef s = a->type.shape[d].as_symbol()) env[s->name] = g.args[i].dims()[d];
      }
    }
    const BlockPlan plan = plan_fusion(f.body, {});
    for (const Group& group : plan.groups) {
      ++kernels;
      const std::string problem = compare_ways(group, values, env, kernels % 2 == 0 || count == 1);
      if (problem.empty()) continue;
      ++failures;
      ADD_FAILURE() << "seed " << seed << ", kernel at " << print(*group.root) << "\n"
                    << problem << "\n"
                    << print(*g.module);
    }
  }
  EXPECT_GT(kernels, count);
}

}  // namespace
}  // namespace tenfold::testing
