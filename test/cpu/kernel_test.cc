// Generated code against the loop interpreter, bit for bit.
#include <gtest/gtest.h>

#include "jit.h"
#include "kernels.h"
#include "loop/interp.h"

namespace tenfold {
namespace {

void check(std::vector<KernelCase> cases, CodegenOptions options = {},
           const std::string& target = "cpu") {
  std::vector<loop::Kernel> kernels;
  for (KernelCase& c : cases) kernels.push_back(std::move(c.kernel));
  Jit jit;
  ASSERT_EQ(jit.build(kernels, target, options), "");
  for (size_t k = 0; k < kernels.size(); ++k) {
    SCOPED_TRACE(kernels[k].name);
    const Status valid = loop::verify(kernels[k]);
    ASSERT_TRUE(valid.ok()) << to_string(valid.errors());
    std::vector<Literal> want = cases[k].buffers, got = cases[k].buffers, split = got;
    std::vector<Literal*> pw, pg, ps;
    for (size_t i = 0; i < want.size(); ++i) {
      pw.push_back(&want[i]);
      pg.push_back(&got[i]);
      ps.push_back(&split[i]);
    }
    const Status s =
        loop::interpret(kernels[k], pw, cases[k].symbols, {.check_independence = true});
    ASSERT_TRUE(s.ok()) << to_string(s.errors()) << loop::print(kernels[k]);
    jit.run(k, pg, cases[k].symbols);
    jit.run(k, ps, cases[k].symbols, 3);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(got[i].same(want[i])) << kernels[k].params[i]->name << ": got " << got[i].str(64)
                                        << "\nwant " << want[i].str(64) << "\n"
                                        << loop::print(kernels[k]);
      EXPECT_TRUE(split[i].same(want[i])) << "in three pieces: " << kernels[k].params[i]->name;
    }
  }
}

TEST(Kernels, give_the_interpreters_bits) { check(kernel_cases()); }
TEST(Kernels, give_the_interpreters_bits_without_optimisation) {
  check(kernel_cases(), {.opt_level = 0});
}
#ifdef __x86_64__
TEST(Kernels, give_the_interpreters_bits_with_avx2) {
  std::vector<KernelCase> cases = kernel_cases();
  for (uint64_t seed = 300; seed < 340; ++seed) cases.push_back(random_kernel(seed));
  check(std::move(cases), {}, "cpu:haswell");
}
#endif
TEST(Kernels, random_nests_give_the_interpreters_bits) {
  std::vector<KernelCase> cases;
  for (uint64_t seed = 1; seed <= 150; ++seed) cases.push_back(random_kernel(seed));
  check(std::move(cases));
}

}  // namespace
}  // namespace tenfold
