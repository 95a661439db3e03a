// Each primitive: what it makes, and what it refuses and why.
#include <functional>
#include <map>

#include "loop/schedule_testing.h"

namespace tenfold::loop {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char kStencil[] = R"(kernel stencil {
  param x: f32[40] written
  param y: f32[40] written
  for i = 1 +: 38 {
    x[i] = x[i - 1] + y[i]
  }
  for j = 0 +: 40 {
    y[j] = y[j] * 2.0
  }
  for a = 0 +: 4 {
    for b = 0 +: 10 {
      x[a * 10 + b] = y[a * 10 + b]
    }
  }
  for c = 1 +: 3 {
    for d = 0 +: 9 {
      x[c * 10 + d] = x[(c - 1) * 10 + d + 1] + 1.0
    }
  }
})";

TEST(LoopSchedule, DependencesDecide) {
  Kernel k = kernel_of(kStencil);
  Schedule s(&k);
  EXPECT_TRUE(has(refusal(s.parallel("i")), "may touch the same element"));
  must(s.parallel("j"), k);
  must(s.parallel("a"), k);
  must(s.vectorize("b"), k);
  must(s.reorder({"b", "a"}), k);
  // (1, -1): vectorizing the inner loop is fine, exchanging the loops is not.
  EXPECT_TRUE(has(refusal(s.reorder({"d", "c"})), "may touch the same element"));
  EXPECT_TRUE(has(refusal(s.parallel("c")), "may touch the same element"));
  must(s.vectorize("d"), k);
  EXPECT_TRUE(has(refusal(s.parallel("d")), "top-level"));
  EXPECT_TRUE(has(refusal(s.unroll("nothing")), "no such loop"));
  EXPECT_EQ(difference(kernel_of(kStencil), k, {}), "");
}

TEST(LoopSchedule, FusedLoopsAreStillUnderstood) {
  Kernel k = kernel_of(R"(kernel k {
    symbol n in [1, 50]
    param x: f32[n, 7, 12] written
    for a = 0 +: n { for b = 0 +: 7 { for c = 0 +: 12 { x[a, b, c] = x[a, b, c] + 1.0 } } }
  })");
  const std::string before = print(k);
  Schedule s(&k);
  EXPECT_EQ(must(s.fuse("a", "b"), k), "ab");
  EXPECT_EQ(must(s.fuse("ab", "c"), k), "abc");
  must(s.parallel("abc"), k);
  must(s.split("abc", 16, Tail::Guard), k);
  must(s.vectorize("abci"), k);
  EXPECT_EQ(difference(kernel_of(before), k, {5}), "");
}

TEST(LoopSchedule, FissionKeepsTheOrderOfDependences) {
  Kernel k = kernel_of(R"(kernel k {
    param x: f32[20] written
    param y: f32[20] written
    for i = 1 +: 19 {
      x[i] = y[i] + 1.0
      y[i] = x[i - 1] * 2.0
    }
    for j = 1 +: 19 {
      x[j] = y[j - 1] + 1.0
      y[j] = x[j] * 2.0
    }
    for l = 0 +: 20 {
      let t: i64 = l * 2 % 20
      x[t] = 1.0
      y[t] = 2.0
    }
  })");
  Kernel before = kernel_of(print(k));
  Schedule s(&k);
  must(s.fission("i"), k);
  EXPECT_TRUE(has(refusal(s.fission("j")), "may touch the same element"));
  EXPECT_EQ(must(s.fission("l"), k), (std::vector<std::string>{"l", "l_1"}));
  ASSERT_TRUE(verify(k).ok());
  EXPECT_EQ(difference(before, k, {}), "");
}

TEST(LoopSchedule, SharedCellsAreExpandedBeforeFission) {
  Kernel k = kernel_of(R"(kernel k {
    param x: f32[20]
    param y: f32[20] written
    for i = 0 +: 20 { alloc t: f32[] stack t[] = x[i] y[i] = t[] * t[] } })");
  Kernel before = kernel_of(print(k));
  Schedule s(&k);
  EXPECT_TRUE(has(refusal(s.fission("i")), "expand it first"));
  must(s.expand("t", "i"), k);
  must(s.fission("i"), k);
  EXPECT_EQ(difference(before, k, {}), "");
}

TEST(LoopSchedule, ComputeAtShrinksTheProducer) {
  Kernel k = kernel_of(R"(kernel blur {
    param x: f32[64, 66]
    param y: f32[62, 64] written
    alloc t: f32[64, 64] workspace
    for a = 0 +: 64 { for b = 0 +: 64 { t[a, b] = x[a, b] + x[a, b + 1] + x[a, b + 2] } }
    for i = 0 +: 62 { for j = 0 +: 64 { y[i, j] = t[i, j] + t[i + 1, j] + t[i + 2, j] } }
  })");
  Kernel before = kernel_of(print(k));
  Schedule s(&k);
  must(s.split("i", 8, Tail::Guard), k);
  must(s.compute_at("t", "io"), k);
  simplify(k);
  EXPECT_TRUE(has(print(k), "alloc t: f32[10, 64] workspace")) << print(k);
  must(s.parallel("io"), k);
  ASSERT_TRUE(verify(k).ok());
  EXPECT_EQ(difference(before, k, {}), "");
  EXPECT_TRUE(has(refusal(s.compute_at("t", "ii")), "its producer is under a condition"));
}

TEST(LoopSchedule, RfactorSplitsAReduction) {
  const char text[] = R"(kernel sum {
    symbol n in [0, 1000]
    param x: f32[n]
    param y: f32[2] written
    alloc s: f32[] stack
    alloc m: f32[] stack
    s[] = 0.0
    m[] = -inf
    for i = 0 +: n {
      s[] = s[] + x[i] * x[i]
      m[] = max(m[], x[i])
    }
    y[0] = s[]
    y[1] = m[]
  })";
  Kernel k = kernel_of(text);
  Schedule s(&k);
  EXPECT_TRUE(has(refusal(s.vectorize("i")), "not constant"));
  EXPECT_EQ(must(s.rfactor("i", 16), k), "ii");
  must(s.vectorize("ii"), k);
  ASSERT_TRUE(verify(k).ok());
  for (int64_t n : {0, 1, 15, 16, 100}) EXPECT_EQ(difference(kernel_of(text), k, {n}, 1e-5), "");
  Kernel bad = kernel_of(kStencil);
  Schedule t(&bad);
  EXPECT_TRUE(has(refusal(t.rfactor("i", 4)), "rfactor"));
}

TEST(LoopSchedule, TensorizeFindsTheDotProduct) {
  const char text[] = R"(kernel qdot {
    param a: ui8[8, 24]
    param b: i8[6, 16, 4]
    param c: i32[8, 16] written
    for i = 0 +: 8 { for l = 0 +: 16 {
      alloc acc: i32[] stack
      acc[] = 0:i32
      for ko = 0 +: 6 { for q = 0 +: 4 {
        acc[] = acc[] + cast<i32>(a[i, ko * 4 + q]) * cast<i32>(b[ko, l, q])
      } }
      c[i, l] = acc[]
    } } })";
  Kernel k = kernel_of(text);
  Schedule s(&k);
  EXPECT_TRUE(has(refusal(s.tensorize("q", "dot4_s8s8")), "does not have the form"));
  EXPECT_TRUE(has(refusal(s.tensorize("ko", "dot4_u8s8")), "extent 4"));
  must(s.tensorize("q", "dot4_u8s8"), k);
  EXPECT_TRUE(has(print(k), "call dot4_u8s8(acc[], a[i, ko * 4], b[ko, l, 0])")) << print(k);
  must(s.vectorize("l"), k);
  ASSERT_TRUE(verify(k).ok());
  EXPECT_EQ(difference(kernel_of(text), k, {}), "");
}

TEST(LoopSchedule, DoubleBufferFillsAhead) {
  const char text[] = R"(kernel k {
    symbol n in [0, 100]
    param x: f32[n, 8]
    param y: f32[n] written
    for i = 0 +: n { for j = 0 +: 8 { y[i] = y[i] + x[i, j] } } })";
  Kernel k = kernel_of(text);
  Schedule s(&k);
  must(s.cache_read("x", "i", {}, Scope::Stack), k);
  must(s.double_buffer("x_c"), k);
  ASSERT_TRUE(verify(k).ok()) << print(k);
  EXPECT_TRUE(has(print(k), "pipelined i")) << print(k);
  for (int64_t n : {0, 1, 2, 7}) EXPECT_EQ(difference(kernel_of(text), k, {n}), "") << print(k);
  EXPECT_TRUE(has(refusal(s.double_buffer("x_c")), "no loop is around it"));
}

TEST(LoopSchedule, CacheWriteRefusesToRace) {
  Kernel k = kernel_of(R"(kernel k {
    param y: f32[64] written
    parallel i = 0 +: 8 { for j = 0 +: 8 { if j % 2 == 0 { y[j * 8 + i] = 1.0 } } } })");
  Schedule s(&k);
  const std::string before = print(k);
  EXPECT_TRUE(has(refusal(s.cache_write("y", "i")), "may overlap"));
  EXPECT_EQ(print(k), before);
}

TEST(LoopSchedule, PromisesOfIndependenceStayTrue) {
  Kernel k = kernel_of(R"(kernel k {
    param y: f32[64] written
    for i = 0 +: 8 independent { for j = 0 +: 8 { if j % 2 == 0 { y[j * 8 + i] = 1.0 } } } })");
  Schedule s(&k);
  EXPECT_TRUE(has(refusal(s.cache_write("y", "i")), "may overlap"));
  Kernel b = kernel_of(R"(kernel k {
    param x: f32[6, 8]
    param y: f32[6] written
    for i = 0 +: 6 independent { for j = 0 +: 8 { y[i] = y[i] + x[i, j] } } })");
  Schedule t(&b);
  must(t.cache_read("x", "i", {}, Scope::Stack), b);
  must(t.double_buffer("x_c"), b);
  EXPECT_FALSE(has(print(b), "independent")) << print(b);
}

TEST(LoopSchedule, UnguardKeepsWhatIsLookedAt) {
  const char text[] = R"(kernel k {
    param x: f32[8]
    param y: f32[8] written
    alloc t: f32[8] stack
    for a = 0 +: 8 { t[a] = 0.0 }
    for i = 0 +: 8 { if i < 5 { t[i] = t[i] + x[i] } }
    for o = 0 +: 8 { y[o] = t[o] } })";
  Kernel k = kernel_of(text);
  Schedule s(&k);
  EXPECT_TRUE(has(refusal(s.unguard("i")), "may see elements"));
  std::string masked = text;
  masked.replace(masked.find("{ y[o]"), 2, "{ if o < 4 { ");
  masked.replace(masked.rfind("} }"), 3, "} } }");
  Kernel m = kernel_of(masked);
  Schedule t(&m);
  must(t.unguard("i"), m);
  EXPECT_EQ(difference(kernel_of(masked), m, {}), "");
}

// Random schedules on random nests: whatever is accepted keeps the meaning, and replays.
TEST(LoopScheduleProperty, RandomLegalSchedulesKeepTheMeaning) {
  const char* env = std::getenv("TENFOLD_SEED");
  const uint64_t seed = env ? std::strtoull(env, nullptr, 10) : 7;
  int applied = 0;
  std::map<std::string, int> used;
  for (int c = 0; c < 300; ++c) {
    std::mt19937_64 rng(seed * 1000003 + static_cast<uint64_t>(c));
    auto pick = [&](int64_t lo, int64_t hi) {
      return lo + static_cast<int64_t>(rng() % static_cast<uint64_t>(hi - lo + 1));
    };
    auto num = [&](int64_t lo, int64_t hi) { return std::to_string(pick(lo, hi)); };
    const std::string a = num(1, 7), b = num(1, 9), d = num(0, 5);
    const char* n1[] = {"i", "j", "k"};
    auto ix = [&](int k) {  // an index within 0..63
      const std::string v = n1[pick(0, k)], w = n1[pick(0, k)];
      switch (pick(0, 5)) {
        case 0:
          return v;
        case 1:
          return v + " * " + num(1, 4);
        case 2:
          return v + " * 7 + " + w;
        case 3:
          return "(" + v + " * 5 + " + num(0, 3) + ") % 16";
        case 4:
          return v + " + " + num(0, 3);
        default:
          return v + " * 3 // 2 + " + w;
      }
    };
    std::string t =
        "kernel r {\n symbol n in [1, 6]\n param x: i32[128] written\n"
        " param y: i32[128] written\n param z: i32[128]\n";
    t += "for i = " + num(0, 1) + " +: " + (pick(0, 2) ? a : "n") +
         " { for j = 0 +: " + (pick(0, 3) ? b : "n") + " {\n";
    t += " alloc acc: i32[] stack\n acc[] = z[" + ix(1) + "]\n";
    if (pick(0, 1)) t += " if j + i < " + num(2, 9) + " { x[" + ix(1) + "] = z[" + ix(1) + "] }\n";
    t += " for k = 0 +: " + d + " { acc[] = acc[] + z[" + ix(2) + "] * " +
         (pick(0, 1) ? "x" : "z") + "[" + ix(2) + "] }\n";
    t += " " + std::string(pick(0, 2) ? "y" : "x") + "[" + ix(1) + "] = acc[] + " +
         (pick(0, 1) ? "y" : "z") + "[" + ix(1) + "]\n } }\n";
    if (pick(0, 1))
      t += "for p = 0 +: 8 { for q = 0 +: 8 { y[p * 8 + q] = y[p * 8 + q] + x[q * " + num(1, 8) +
           " + p] } }\n";
    t += "}";
    Kernel k = kernel_of(t);
    const Kernel before = kernel_of(t);
    Schedule s(&k);
    for (int step = 0; step < 14; ++step) {
      std::vector<std::string> loops, allocs;
      for (size_t n = 0; n < k.body.size(); ++n) {
        std::function<void(const Stmt&)> walk = [&](const Stmt& st) {
          if (st.kind == Stmt::Kind::For) loops.push_back(st.var->name);
          if (st.kind == Stmt::Kind::Alloc) allocs.push_back(st.buffer->name);
          for (const StmtPtr& x : st.body) walk(*x);
        };
        walk(*k.body[n]);
      }
      if (loops.empty() || loops.size() > 40) break;
      auto loop = [&] { return loops[rng() % loops.size()]; };
      auto near = [&](const std::string& l) {  // often the next loop
        for (size_t n = 0; n + 1 < loops.size(); ++n)
          if (loops[n] == l && pick(0, 2)) return loops[n + 1];
        return loop();
      };
      const size_t lines = k.trace.size();
      const std::string l = loop();
      static constexpr const char* kBuffers[] = {"x", "y", "z"};
      switch (pick(0, 13)) {
        case 0:
        case 1:
          (void)s.split(l, pick(1, 5), static_cast<Tail>(pick(0, 2)));
          break;
        case 2:
        case 3:
          (void)s.reorder({near(l), l});
          break;
        case 4:
          (void)s.fuse(l, near(l));
          break;
        case 5:
          (void)s.vectorize(l);
          break;
        case 6:
          (void)s.unroll(l);
          break;
        case 7:
          (void)s.parallel(l);
          break;
        case 8:
          if (!allocs.empty()) (void)s.expand(allocs[rng() % allocs.size()], l);
          break;
        case 9:
          if (!allocs.empty()) (void)s.expand(allocs[rng() % allocs.size()], l);
          (void)s.fission(pick(0, 1) ? l : near(l), pick(0, 1) ? l : std::string());
          break;
        case 10:
          (void)s.cache_read(
              kBuffers[pick(0, 2)], l,
              pick(0, 1) ? std::vector<std::string>{"0/4", "0%4"} : std::vector<std::string>{},
              pick(0, 1) ? Scope::Stack : Scope::Workspace);
          break;
        case 11:
          (void)s.cache_write(kBuffers[pick(0, 1)], l,
                              pick(0, 1) ? Scope::Stack : Scope::Workspace);
          break;
        case 12:
          (void)s.rfactor(l, pick(2, 4));
          break;
        default:
          (void)s.unguard(l);
          break;
      }
      if (k.trace.size() > lines) {
        ++applied;
        ++used[k.trace.back().substr(0, k.trace.back().find(' '))];
      }
      Status v = verify(k);
      ASSERT_TRUE(v.ok()) << "seed " << seed << " case " << c << "\n"
                          << to_string(v.errors()) << print(k);
    }
    const std::string text = print(k);
    Kernel again = kernel_of(t);
    Status r = replay(k.trace, again);
    ASSERT_TRUE(r.ok()) << "seed " << seed << " case " << c << to_string(r.errors()) << text;
    ASSERT_EQ(print(again), text) << "seed " << seed << " case " << c;
    ASSERT_EQ(print(kernel_of(text)), text);
    Kernel simple = kernel_of(text);
    simplify(simple);
    Status v = verify(simple);
    ASSERT_TRUE(v.ok()) << to_string(v.errors()) << text << print(simple);
    for (int64_t n : {1, 4, 6}) {
      ASSERT_EQ(difference(before, k, {n}), "") << "seed " << seed << " case " << c << "\n"
                                                << t << text;
      ASSERT_EQ(difference(before, simple, {n}), "") << "seed " << seed << " case " << c << "\n"
                                                     << t << text << print(simple);
    }
  }
  EXPECT_GT(applied, 600);
  for (const char* p : {"split", "reorder", "fuse", "vectorize", "unroll", "parallel", "expand",
                        "fission", "cache_read", "cache_write", "rfactor"})
    EXPECT_GT(used[p], 0) << p;
}

}  // namespace
}  // namespace tenfold::loop
