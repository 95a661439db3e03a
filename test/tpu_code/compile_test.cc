// Kernel code against the bundles made from it, on a machine that computes how values were made.
#include "backends/tpu/code/compile.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "tpu_code/hash_machine.h"

namespace tenfold::tpu::code {
namespace {

constexpr uint32_t kSpillRow = 60000, kSpillWord = 60000;

struct Outcome {
  Program program;
  CompileReport report;
};

Chip chip(const std::string& name) {
  auto c = find_chip(name);
  TF_CHECK(c.ok(), to_string(c.errors()));
  return *c;
}

// Compiles and compares; the report for who wants to look at it.
Outcome expect_same(const Kernel& k, const Chip& c, CompileOptions options = {}) {
  options.spill_row = kSpillRow, options.spill_rows = 4096;
  options.spill_word = kSpillWord, options.spill_words = 512;
  Outcome o;
  Status verified = verify(k);
  EXPECT_TRUE(verified.ok()) << to_string(verified.errors()) << to_text(k);
  auto r = compile(k, c, &o.program, options);
  EXPECT_TRUE(r.ok()) << to_string(r.errors());
  if (!r.ok()) return o;
  o.report = *r;
  Program runnable = o.program;
  runnable.add_bundle(std::vector<Inst>{make(Op::Halt)});
  Status legal = check(runnable, c);
  EXPECT_TRUE(legal.ok()) << to_string(legal.errors());
  HashMachine want(c);
  want.run(k);
  EXPECT_EQ(want.error, "");
  for (bool late : {false, true}) {
    HashMachine got(c);
    got.late_copies = late;
    got.run(o.program);
    EXPECT_EQ(got.error, "");
    std::string different;
    auto a = got.state(kSpillRow, kSpillWord), b = want.state(kSpillRow, kSpillWord);
    for (const auto& [key, v] : b) {
      if (!a.count(key) || a[key] != v) different += key + "; ";
    }
    EXPECT_TRUE(a == b) << different << "\n" << to_text(k) << disassemble(o.program);
  }
  return o;
}

Kernel elementwise(int64_t trips, bool counted = false) {
  Kernel k("relu");
  Builder b(&k);
  auto x = b.region("x", Space::Vmem, 0, 8 * 600), y = b.region("y", Space::Vmem, 4800, 8 * 600);
  auto zero = b.vec(Op::VSplat, 0);
  Arg n = trips;
  if (counted) n = b.constant(static_cast<int32_t>(trips));
  b.loop(n, [&](Scalar i) { b.store(y, i * 8, b.vec(Op::VMaxF, b.load(x, i * 8), zero)); });
  return k;
}

TEST(Compile, OneLoadAndOneStoreTakeOneCycleAnIteration) {
  for (const char* name : {"v2", "v5e", "v6e"}) {
    Outcome o = expect_same(elementwise(512), chip(name));
    ASSERT_EQ(o.report.loops.size(), 1u);
    EXPECT_TRUE(o.report.loops[0].pipelined);
    EXPECT_EQ(o.report.loops[0].interval, 1) << name;
  }
}

TEST(Compile, AnyNumberOfIterations) {
  for (int64_t n = 0; n < 40; ++n) {
    expect_same(elementwise(n), chip("v5e"));
    expect_same(elementwise(n, true), chip("v5e"));
  }
  expect_same(elementwise(-3, true), chip("v5e"));
}

TEST(Compile, ThreeOperandsNeedTwoLoadCycles) {
  // d = a * b + c: three loads on two slots are 2 cycles; on v2's one slot 3.
  Kernel k("fma");
  Builder b(&k);
  auto r = b.region("in", Space::Vmem, 0, 3 * 8192), y = b.region("out", Space::Vmem, 30000, 8192);
  b.loop(1000, [&](Scalar i) {
    auto p = b.vec(Op::VMulF, b.load(r, i * 8), b.load(r, i * 8 + 8192));
    b.store(y, i * 8, b.vec(Op::VAddF, p, b.load(r, i * 8 + 16384)));
  });
  EXPECT_EQ(expect_same(k, chip("v5e")).report.loops[0].interval, 2);
  Outcome v2 = expect_same(k, chip("v2"));
  EXPECT_EQ(v2.report.loops[0].interval, 3);
  EXPECT_EQ(v2.report.loops[0].bound, "vload");
}

TEST(Compile, ASumIsBoundByTheAdder) {
  Kernel k("sum");
  Builder b(&k);
  auto x = b.region("x", Space::Vmem, 0, 8192), y = b.region("y", Space::Vmem, 9000, 8);
  auto acc = b.var(b.vec(Op::VSplat, 0));
  b.loop(100, [&](Scalar i) { b.set(acc, b.vec(Op::VAddF, acc, b.load(x, i * 8))); });
  b.store(y, 0, acc);
  Chip c = chip("v5e");
  Outcome o = expect_same(k, c);
  EXPECT_EQ(o.report.loops[0].interval, static_cast<int>(c.valu_latency));
  EXPECT_EQ(o.report.loops[0].bound, "recurrence: vadd.f32");
}

TEST(Compile, AnOldValueIsKeptWhileItIsNeeded) {
  // m' = max(m, x); s' = s * f(m - m') : m is read after m' exists.
  Kernel k("online");
  Builder b(&k);
  auto x = b.region("x", Space::Vmem, 0, 8192), y = b.region("y", Space::Vmem, 9000, 16);
  auto m = b.var(b.vec(Op::VSplat, 0)), s = b.var(b.vec(Op::VSplat, 1));
  b.loop(64, [&](Scalar i) {
    auto v = b.load(x, i * 8);
    auto next = b.vec(Op::VMaxF, m, v);
    auto scale = b.vec(Op::VExp, b.vec(Op::VSubF, m, next));
    auto e = b.vec(Op::VExp, b.vec(Op::VSubF, v, next));
    b.set(m, next);
    b.set(s, b.vec(Op::VAddF, b.vec(Op::VMulF, s, scale), e));
  });
  b.store(y, 0, m);
  b.store(y, 8, s);
  for (const char* name : {"v2", "v4", "v5e", "v6e"}) expect_same(k, chip(name));
}

TEST(Compile, MatrixProductKeepsTheArrayBusy) {
  // 64 blocks of 16 rows through array 0 with one weight tile: a block every 16 cycles on v5e.
  Kernel k("matmul");
  Builder b(&k);
  auto w = b.region("w", Space::Vmem, 0, 64), x = b.region("x", Space::Vmem, 1000, 8 * 64);
  auto y = b.region("y", Space::Vmem, 3000, 16 * 64);
  for (int i = 0; i < 8; ++i) b.emit(Op::MxWB, 0, i, b.load(w, 8 * i));
  b.emit(Op::MxSwap, 0);
  b.loop(64, [&](Scalar i) {
    b.emit(Op::MxMB, 0, 0, 16, b.load(x, i * 8));
    b.store(y, i * 16, b.vec(Op::MxPop, 0));
    b.store(y, i * 16 + 8, b.vec(Op::MxPop, 0));
  });
  Chip c = chip("v5e");
  Outcome o = expect_same(k, c);
  EXPECT_TRUE(o.report.loops[0].pipelined);
  EXPECT_EQ(o.report.loops[0].interval, 16);
  EXPECT_EQ(o.report.loops[0].bound, "rows of array 0");
}

TEST(Compile, AccumulatorsAndStagedPartsOfWideArrays) {
  Chip c = chip("v6e");
  Kernel k("matmul");
  Builder b(&k);
  auto w = b.region("w", Space::Vmem, 0, 8 * 32 * 4), x = b.region("x", Space::Vmem, 2000, 16 * 64);
  auto y = b.region("y", Space::Vmem, 5000, 32 * 16);
  b.loop(4, [&](Scalar kk) {
    for (int i = 0; i < 32; ++i) b.emit(Op::MxWB, 0, i, b.load(w, kk * 256 + 8 * i));
    b.emit(Op::MxSwap, 0);
    b.loop(16, [&](Scalar i) {
      b.emit(Op::MxLB, 0, 1, b.load(x, i * 16 + 8));
      b.emit(Op::MxAB, 0, 0, 16, i * 4, b.load(x, i * 16));
    });
  });
  b.loop(64, [&](Scalar i) { b.store(y, i * 8, b.vec(Op::MxRead, 0, i)); });
  Outcome o = expect_same(k, c);
  EXPECT_EQ(o.report.loops[1].interval, 8);
}

TEST(Compile, MoreValuesThanRegistersGoToMemory) {
  for (int live : {40, 70, 100, 200}) {
    Kernel k("pressure");
    Builder b(&k);
    auto x = b.region("x", Space::Vmem, 0, 8192), y = b.region("y", Space::Vmem, 9000, 8192);
    std::vector<Vector> values;
    for (int i = 0; i < live; ++i) values.push_back(b.load(x, i * 8));
    // A loop while all of them are alive, then all in the other order.
    auto acc = b.var(b.vec(Op::VSplat, 0));
    b.loop(50, [&](Scalar i) { b.set(acc, b.vec(Op::VAddF, acc, b.load(x, i * 8))); });
    for (int i = 0; i < live; ++i) {
      b.store(y, i * 8, b.vec(Op::VMulF, values[live - 1 - i], acc));
    }
    Outcome o = expect_same(k, chip("v5e"));
    EXPECT_TRUE(o.report.loops[0].pipelined);
    EXPECT_EQ(o.report.spilled > 0, live > 60);
  }
}

TEST(Compile, ManyScalarsAndMasks) {
  Kernel k("many");
  Builder b(&k);
  auto s = b.region("s", Space::Smem, 0, 64), y = b.region("y", Space::Vmem, 0, 8000);
  std::vector<Scalar> rows;
  std::vector<Mask> masks;
  for (int i = 0; i < 60; ++i) rows.push_back(b.load_word(s, i));
  for (int i = 0; i < 40; ++i) masks.push_back(b.msk(Op::MLaneLt, rows[i]));
  b.loop(20, [&](Scalar i) {
    for (int j = 0; j < 40; j += 8) {
      b.store_mask(y, i * 40 + j, b.vec(Op::VSplat, i), masks[j]);
    }
  });
  for (int i = 0; i < 40; ++i) {
    b.store_mask(y, 1000 + i * 8, b.vec(Op::VSplat, rows[59 - i]), masks[i]);
  }
  EXPECT_GT(expect_same(k, chip("v5e")).report.spilled, 0);
}

TEST(Compile, ALoadIsRepeatedRatherThanHeld) {
  // Softmax of rows of 1024: eight registers wait for their maximum, then for their sum. The nine
  // transcendentals bound it; 88 registers would be held for that.
  Kernel k("softmax");
  Builder b(&k);
  auto x = b.region("x", Space::Vmem, 0, 64 * 64), y = b.region("y", Space::Vmem, 5000, 64 * 64);
  b.loop(64, [&](Scalar i) {
    std::vector<Vector> v, e;
    for (int j = 0; j < 8; ++j) v.push_back(b.load(x, i * 64 + j * 8));
    auto m = v[0];
    for (int j = 1; j < 8; ++j) m = b.vec(Op::VMaxF, m, v[j]);
    m = b.vec(Op::XMax, m);
    for (int j = 0; j < 8; ++j) e.push_back(b.vec(Op::VExp, b.vec(Op::VSubF, v[j], m)));
    auto s = e[0];
    for (int j = 1; j < 8; ++j) s = b.vec(Op::VAddF, s, e[j]);
    s = b.vec(Op::VRcp, b.vec(Op::XSum, s));
    for (int j = 0; j < 8; ++j) b.store(y, i * 64 + j * 8, b.vec(Op::VMulF, e[j], s));
  });
  Outcome o = expect_same(k, chip("v5e"));
  EXPECT_EQ(o.report.loops[0].bound_interval, 9);
  EXPECT_LE(o.report.loops[0].interval, 14);
  EXPECT_EQ(o.report.spilled, 0);
}

TEST(Compile, NestsShareTheirPointers) {
  Kernel k("nest");
  Builder b(&k);
  auto x = b.region("x", Space::Vmem, 0, 8192), y = b.region("y", Space::Vmem, 8192, 8192);
  b.loop(10, [&](Scalar i) {
    b.loop(12, [&](Scalar j) {
      b.store(y, i * 768 + j * 64, b.load(x, i * 768 + j * 64 + 8));
      b.store(y, i * 768 + j * 64 + 8, b.load(x, i * 768 + j * 64));
    });
  });
  Outcome o = expect_same(k, chip("v5e"));
  // One pointer an inner loop, one an outer, two counters.
  EXPECT_LE(o.report.scalar_registers, 4);
  EXPECT_EQ(o.report.loops[1].interval, 2);
}

TEST(Compile, AStoreThatTheNextIterationLoadsIsWaitedFor) {
  // y[i + 1] = f(y[i]): the loop's own memory carries the value.
  for (int distance : {1, 2, 3, 7}) {
    Kernel k("scan");
    Builder b(&k);
    auto y = b.region("y", Space::Vmem, 0, 8192);
    b.loop(100,
           [&](Scalar i) { b.store(y, i * 8 + 8 * distance, b.vec(Op::VNegF, b.load(y, i * 8))); });
    Chip c = chip("v5e");
    Outcome o = expect_same(k, c);
    int way = static_cast<int>(c.vload_latency + c.valu_latency) + 1;  // store to load: 1
    EXPECT_EQ(o.report.loops[0].interval, (way + distance - 1) / distance) << distance;
  }
}

// ---- random kernel code
// --------------------------------------------------------------------------

class RandomCode {
 public:
  RandomCode(uint64_t seed, const Chip& c) : rng_(seed), chip_(c), k_("random"), b_(&k_) {
    a_ = b_.region("a", Space::Vmem, 0, 4096);
    c_ = b_.region("c", Space::Vmem, 4096, 4096);
    d_ = b_.region("d", Space::Vmem, 8192, 4096);
    h_ = b_.region("h", Space::Hbm, 0, 4096);
    s_ = b_.region("s", Space::Smem, 0, 128);
  }
  Kernel run(int statements = 20) {
    vectors_.push_back(b_.vec(Op::VSplat, 3));
    masks_.push_back(b_.msk(Op::MLaneLt, 5));
    scalars_.push_back(b_.constant(7));
    for (int i = 0; i < 2; ++i) var_vectors_.push_back(b_.var(vectors_[0]));
    var_scalars_.push_back(b_.var(scalars_[0]));
    block(0, 1 + statements + static_cast<int>(rng_.below(4)));
    for (auto v : var_vectors_) b_.store(d_, 4000, v);
    for (auto v : var_scalars_) b_.store_word(s_, 120, v);
    return std::move(k_);
  }

 private:
  template <class T>
  T pick(const std::vector<T>& v) {
    // Mostly recent ones.
    size_t n = v.size(), back = rng_.below(3) ? std::min<size_t>(n, 6) : n;
    return v[n - 1 - rng_.below(back)];
  }
  Vector vector() { return rng_.below(4) ? pick(vectors_) : pick(var_vectors_); }
  Scalar scalar() {
    if (!rng_.below(4)) return pick(var_scalars_);
    if (!indices_.empty() && rng_.below(2)) return pick(indices_);
    return pick(scalars_);
  }
  // A row that stays within the region.
  Arg row() {
    if (indices_.empty() || !rng_.below(4)) return Arg(static_cast<int>(rng_.below(64)) * 8);
    Scalar r = pick(indices_) * static_cast<int>(8 * rng_.below(4));
    if (rng_.below(2)) r = r + pick(indices_) * static_cast<int>(rng_.below(20));
    if (rng_.below(4) == 0) {
      r = r + b_.scl(Op::SAnd, pick(scalars_), 63);
    }
    return r + static_cast<int>(rng_.below(30) * 4);
  }
  RegionRef region() {
    switch (rng_.below(3)) {
      case 0:
        return a_;
      case 1:
        return c_;
      default:
        return d_;
    }
  }
  void statement(int depth) {
    switch (rng_.below(depth < 3 ? 16 : 13)) {
      case 0:
      case 1:
        vectors_.push_back(b_.load(region(), row()));
        return;
      case 2:
        b_.store(region(), row(), vector());
        return;
      case 3:
        vectors_.push_back(b_.vec(rng_.below(2) ? Op::VAddF : Op::VMulI, vector(), vector()));
        return;
      case 4:
        vectors_.push_back(rng_.below(2) ? b_.vec(Op::VExp, vector())
                                         : b_.vec(Op::XRotLane, vector(), scalar()));
        return;
      case 5:
        b_.set(pick(var_vectors_),
               rng_.below(2) ? b_.vec(Op::VSubF, vector(), vector()) : vector());
        return;
      case 6:
        b_.set(pick(var_scalars_), b_.scl(Op::SAnd, scalar() + scalar(), 31));
        return;
      case 7:
        scalars_.push_back(rng_.below(2) ? b_.load_word(s_, static_cast<int>(rng_.below(64)))
                                         : b_.scl(Op::SXor, scalar(), 5));
        return;
      case 8:
        b_.store_word(s_, static_cast<int>(rng_.below(64)), scalar());
        return;
      case 9:
        masks_.push_back(rng_.below(2) ? b_.msk(Op::VLtF, vector(), vector())
                                       : b_.msk(Op::MAnd, pick(masks_), pick(masks_)));
        if (rng_.below(2)) {
          vectors_.push_back(b_.vec(Op::VSel, pick(masks_), vector(), vector()));
        } else {
          b_.store_mask(region(), row(), vector(), pick(masks_));
        }
        return;
      case 10: {
        int array = static_cast<int>(rng_.below(chip_.mxu_count));
        if (rng_.below(2)) {
          b_.emit(Op::MxWB, array, static_cast<int>(rng_.below(8)), vector());
          b_.emit(Op::MxSwap, array);
        }
        int rows = rng_.below(2) ? 16 : 8;
        b_.emit(Op::MxMB, array, 0, rows, vector());
        for (int i = 0; i < results_of(chip_, rows); ++i) {
          vectors_.push_back(b_.vec(Op::MxPop, array));
        }
        return;
      }
      case 11: {
        int n = 1 + static_cast<int>(rng_.below(3));
        for (int i = 0; i < n; ++i) b_.emit(Op::XTransPush, vector(), i);
        b_.emit(Op::XTransGo);
        for (int i = 0; i < n; ++i) vectors_.push_back(b_.vec(Op::XTransPop, i));
        return;
      }
      case 12: {
        DmaShape s;
        s.rows = 8 * static_cast<uint32_t>(1 + rng_.below(3));
        RegionRef on_chip = region();
        int32_t semaphore = static_cast<int32_t>(rng_.below(3));
        if (rng_.below(2)) {
          b_.dma(h_, row(), on_chip, row(), semaphore, s);
        } else {
          b_.dma(on_chip, row(), h_, row(), semaphore, s);
        }
        if (rng_.below(2)) vectors_.push_back(b_.load(on_chip.id == a_.id ? c_ : a_, row()));
        if (rng_.below(2)) {
          b_.wait(semaphore, 1, {h_, on_chip});
        } else {
          b_.wait(semaphore, 1);
        }
        return;
      }
      case 13:
        b_.if_(
            b_.scl(Op::SAnd, scalar(), 1), [&] { block(depth + 1, 3); },
            [&] {
              if (rng_.below(2)) block(depth + 1, 3);
            });
        return;
      default: {
        Arg trips = static_cast<int>(rng_.below(14));
        if (rng_.below(3) == 0) trips = b_.scl(Op::SAnd, scalar(), depth ? 7 : 31);
        b_.loop(trips, [&](Scalar i) {
          indices_.push_back(i);
          block(depth + 1, 1 + static_cast<int>(rng_.below(depth ? 10 : 8)));
          indices_.pop_back();
        });
        return;
      }
    }
  }
  void block(int depth, int statements) {
    size_t v = vectors_.size(), s = scalars_.size(), m = masks_.size();
    for (int i = 0; i < statements; ++i) statement(depth);
    if (!depth) return;
    vectors_.resize(v), scalars_.resize(s), masks_.resize(m);
  }

  Rng rng_;
  const Chip& chip_;
  Kernel k_;
  Builder b_;
  RegionRef a_, c_, d_, h_, s_;
  std::vector<Vector> vectors_, var_vectors_;
  std::vector<Scalar> scalars_, var_scalars_, indices_;
  std::vector<Mask> masks_;
};

TEST(Compile, RandomCodeComputesTheSame) {
  const bool long_run = std::getenv("TENFOLD_LONG_TESTS") != nullptr;
  const int rounds = long_run ? 4000 : 150;
  for (const char* name : {"v2", "v4", "v5e", "v6e"}) {
    Chip c = chip(name);
    for (int seed = 0; seed < rounds; ++seed) {
      SCOPED_TRACE(std::string(name) + " seed " + std::to_string(seed));
      Kernel k = RandomCode(static_cast<uint64_t>(seed) * 31 + 5, c).run(seed / 10);
      expect_same(k, c);
      if (seed % 8 == 0) {
        CompileOptions plain;
        plain.schedule = false;
        expect_same(k, c, plain);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Compile, FewRegistersGiveTheSame) {
  Chip c = chip("v5e");
  c.vector_registers = 12;
  c.scalar_registers = 14;
  c.mask_registers = 3;
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_same(RandomCode(static_cast<uint64_t>(seed) * 77 + 1, c).run(), c);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tenfold::tpu::code
