// The register-blocked, packed form of matrix multiplication and convolution, reached from the
// naive nest by general primitives alone; results bit for bit those of the naive nest.
#include <chrono>

#include "loop/schedule_testing.h"

namespace tenfold::loop {
namespace {

const char kMatmul[] = R"(kernel matmul {
  symbol M in [1, 4096]
  symbol N in [1, 4096]
  symbol K in [0, 4096]
  param A: f32[M, K]
  param B: f32[K, N]
  param C: f32[M, N] written
  parallel i = 0 +: M {
    for j = 0 +: N {
      alloc acc: f32[] stack
      acc[] = 0.0
      for k = 0 +: K {
        acc[] = acc[] + A[i, k] * B[k, j]
      }
      C[i, j] = acc[]
    }
  }
})";

Kernel static_matmul(int64_t m, int64_t n, int64_t k) {
  std::string t = kMatmul;
  t.erase(t.find("  symbol M"), t.find("  param A") - t.find("  symbol M"));
  auto put = [&](const std::string& what, const std::string& with) {
    for (size_t p = 0; (p = t.find(what, p)) != std::string::npos; p += with.size())
      t.replace(p, what.size(), with);
  };
  put("[M, ", "[" + std::to_string(m) + ", ");
  put("[K, ", "[" + std::to_string(k) + ", ");
  put(", K]", ", " + std::to_string(k) + "]");
  put(", N]", ", " + std::to_string(n) + "]");
  put("+: M", "+: " + std::to_string(m));
  put("+: N", "+: " + std::to_string(n));
  put("+: K", "+: " + std::to_string(k));
  return kernel_of(t);
}

// The schedule of one register-blocked nest over loops i, j, k and accumulator acc.
void block(Kernel& k, int64_t mr, int64_t nr, bool pack_a) {
  Schedule s(&k);
  must(s.split("i", mr, Tail::Guard), k);
  must(s.split("j", nr, Tail::Guard), k);
  must(s.reorder({"jo", "ii"}), k);
  must(s.expand("acc", "ji"), k);
  must(s.expand("acc", "ii"), k);
  EXPECT_EQ(must(s.fission("ji", "ii"), k),
            (std::vector<std::string>{"ii", "ji", "ii_1", "ji_1", "ii_2", "ji_2"}));
  must(s.reorder({"k", "ii_1", "ji_1"}), k);
  EXPECT_EQ(must(s.cache_read("B", "jo", {"0", "1"}), k), "B_c");
  if (pack_a) EXPECT_EQ(must(s.cache_read("A", "io", {"1", "0"}), k), "A_c");
  simplify(k);
  if (k.body[0]->kind == Stmt::Kind::For) {
    for (const char* l : {"ii", "ii_1"}) {
      Status r = s.unguard(l);
      if (!r.ok() && pack_a)
        EXPECT_NE(to_string(r.errors()).find("no branch"), std::string::npos)
            << to_string(r.errors()) << print(k);
    }
  }
  for (const char* l : {"ji", "ji_1", "ji_2"}) {
    must(s.split(l, 16, Tail::Exact), k);
    must(s.vectorize(std::string(l) + "i"), k);
    must(s.unroll(std::string(l) + "o"), k);
  }
  for (const char* l : {"ii", "ii_1", "ii_2"}) must(s.unroll(l), k);
  must(s.vectorize("B_c1"), k);
  Result<std::string> f = s.fuse("io", "jo");
  if (!pack_a)
    EXPECT_EQ(must(std::move(f), k), "iojo");
  else
    EXPECT_FALSE(f.ok());  // the packed A is in between
  must(s.parallel(pack_a ? "io" : "iojo"), k);
  simplify(k);
  Status v = verify(k);
  EXPECT_TRUE(v.ok()) << to_string(v.errors());
}

TEST(LoopScheduleMatmul, ReachesTheRegisterBlockedPackedForm) {
  for (bool pack_a : {false, true}) {
    Kernel k = kernel_of(kMatmul);
    const Kernel naive = kernel_of(kMatmul);
    block(k, 6, 64, pack_a);
    if (HasFailure()) return;
    for (auto [m, n, d] :
         {std::array{6, 64, 3}, {1, 1, 1}, {13, 70, 9}, {12, 128, 5}, {5, 63, 0}, {18, 65, 33}})
      EXPECT_EQ(difference(naive, k, {m, n, d}), "") << m << " " << n << " " << d << print(k);
  }
}

TEST(LoopScheduleMatmul, TheMicroKernelHasNoMasksWhenPacked) {
  Kernel k = kernel_of(kMatmul);
  block(k, 6, 64, true);
  const std::string t = print(k);
  // The update nest: k, then the unrolled rows and vectors, nothing between.
  EXPECT_NE(t.find(R"(      for k = 0 +: K {
        unrolled ii_1 = 0 +: 6 independent {
          unrolled ji_1o = 0 +: 4 {
            vectorized ji_1i = 0 +: 16 {
              acc[ii_1, ji_1o * 16 + ji_1i] = acc[ii_1, ji_1o * 16 + ji_1i] + A_c[k, ii_1] * B_c[k, ji_1o * 16 + ji_1i]
            }
          }
        }
      })"),
            std::string::npos)
      << t;
  EXPECT_NE(t.find("alloc acc: f32[6, 64] stack"), std::string::npos) << t;
}

TEST(LoopScheduleMatmul, StaticShapesThatDivideHaveNoBranchAtAll) {
  Kernel k = static_matmul(24, 128, 40);
  const Kernel naive = static_matmul(24, 128, 40);
  block(k, 8, 64, false);
  EXPECT_EQ(print(k).find("if "), std::string::npos) << print(k);
  EXPECT_EQ(print(k).find("guard("), std::string::npos) << print(k);
  EXPECT_EQ(difference(naive, k, {}), "");
}

TEST(LoopScheduleMatmul, TheTraceReplays) {
  Kernel k = kernel_of(kMatmul);
  Schedule s(&k);
  must(s.split("i", 6, Tail::Cut), k);
  must(s.split("j", 64, Tail::Guard), k);
  must(s.reorder({"jo", "ii"}), k);
  must(s.expand("acc", "ji"), k);
  must(s.expand("acc", "ii"), k);
  must(s.fission("ji", "ii"), k);
  must(s.reorder({"k", "ii_1", "ji_1"}), k);
  must(s.cache_read("B", "jo", {"1/16", "0", "1%16"}), k);
  must(s.vectorize("ji_1"), k);
  Kernel again = kernel_of(kMatmul);
  Status r = replay(k.trace, again);
  ASSERT_TRUE(r.ok()) << to_string(r.errors());
  EXPECT_EQ(print(again), print(k));
  EXPECT_EQ(difference(kernel_of(kMatmul), again, {13, 70, 5}), "");
  EXPECT_FALSE(replay({"split nothing 3 guard"}, again).ok());
  EXPECT_FALSE(replay({"dance i"}, again).ok());
}

TEST(LoopScheduleMatmul, RaggedRowsInACutLoop) {
  Kernel k = kernel_of(kMatmul);
  Schedule s(&k);
  const auto sp = must(s.split("i", 6, Tail::Cut), k);
  EXPECT_EQ(sp.tail, "it");
  must(s.split("j", 64, Tail::Guard), k);
  must(s.reorder({"jo", "ii"}), k);
  simplify(k);
  for (auto [m, n] : {std::array{6, 64}, {1, 1}, {13, 70}, {11, 65}})
    EXPECT_EQ(difference(kernel_of(kMatmul), k, {m, n, 7}), "");
}

// k in blocks, the outer one outside the tile: partial sums go through C.
TEST(LoopScheduleMatmul, KSplitAccumulatesThroughTheOutput) {
  Kernel k = kernel_of(kMatmul);
  Schedule s(&k);
  must(s.forward("acc"), k);
  must(s.fission("j", "i"), k);  // C = 0; C += A * B
  must(s.split("i_1", 6, Tail::Guard), k);
  must(s.split("j_1", 64, Tail::Guard), k);
  must(s.split("k", 32, Tail::Guard), k);
  must(s.reorder({"i_1o", "j_1o", "ko", "ki", "i_1i", "j_1i"}), k);
  simplify(k);
  const std::string acc = must(s.cache_write("C", "ko"), k);
  must(s.cache_read("B", "ko"), k);
  simplify(k);
  must(s.vectorize("j_1i"), k);
  must(s.unroll("i_1i"), k);
  simplify(k);
  Status v = verify(k);
  ASSERT_TRUE(v.ok()) << to_string(v.errors()) << print(k);
  for (auto [m, n, d] : {std::array{6, 64, 32}, {1, 1, 1}, {13, 70, 67}, {7, 65, 31}})
    EXPECT_EQ(difference(kernel_of(kMatmul), k, {m, n, d}), "") << print(k);
}

TEST(LoopScheduleMatmul, AScheduleTakesLittleTime) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    Kernel k = static_matmul(384, 512, 256);
    const auto t0 = std::chrono::steady_clock::now();
    block(k, 6, 64, true);
    best = std::min(best,
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
  }
  RecordProperty("milliseconds", std::to_string(best * 1e3));
  EXPECT_LT(best, 0.05);
}

const char kConv[] = R"(kernel conv {
  param x: f32[2, 9, 11, 5]
  param w: f32[3, 3, 5, 70]
  param y: f32[2, 5, 11, 70] written
  parallel n = 0 +: 2 {
    for oh = 0 +: 5 {
      for ow = 0 +: 11 {
        for oc = 0 +: 70 {
          alloc acc: f32[] stack
          acc[] = 0.0
          for kh = 0 +: 3 {
            for kw = 0 +: 3 {
              for ic = 0 +: 5 {
                acc[] = acc[] + guard(oh * 2 + kh >= 1 & oh * 2 + kh < 10 & (ow + kw >= 1 & ow + kw < 12), x[n, oh * 2 + kh - 1, ow + kw - 1, ic], 0.0) * w[kh, kw, ic, oc]
              }
            }
          }
          y[n, oh, ow, oc] = max(acc[], 0.0)
        }
      }
    }
  }
})";

TEST(LoopScheduleConv, ReachesTheRegisterBlockedForm) {
  Kernel k = kernel_of(kConv);
  Schedule s(&k);
  must(s.split("ow", 6, Tail::Guard), k);
  must(s.split("oc", 64, Tail::Guard), k);
  must(s.reorder({"oco", "owi"}), k);
  must(s.expand("acc", "oci"), k);
  must(s.expand("acc", "owi"), k);
  must(s.fission("oci", "owi"), k);
  must(s.reorder({"kh", "kw", "ic", "owi_1", "oci_1"}), k);
  must(s.cache_read("w", "oco", {"0", "1", "2", "3"}), k);
  must(s.cache_read("x", "owo", {"1", "2", "3", "0"}), k);
  simplify(k);
  must(s.unguard("owi"), k);
  must(s.unguard("owi_1"), k);
  for (const char* l : {"oci", "oci_1", "oci_2"}) {
    must(s.split(l, 16, Tail::Exact), k);
    must(s.vectorize(std::string(l) + "i"), k);
    must(s.unroll(std::string(l) + "o"), k);
  }
  must(s.unroll("owi_1"), k);
  must(s.fuse("n", "oh"), k);
  must(s.parallel("noh"), k);
  simplify(k);
  Status v = verify(k);
  ASSERT_TRUE(v.ok()) << to_string(v.errors()) << print(k);
  EXPECT_EQ(difference(kernel_of(kConv), k, {}), "") << print(k);
}

}  // namespace
}  // namespace tenfold::loop
