// Running programs made by hand.
#include <gtest/gtest.h>

#include <thread>

#include "runtime/programs.h"

namespace tenfold::rt {
namespace {

class ScaleTest : public testing::Test {
 protected:
  std::vector<float> constants = scale_constants();
  std::shared_ptr<const Executable> exe =
      executable(scale_program(), constants.data(), scale_functions());
  std::shared_ptr<ThreadPool> one = std::make_shared<ThreadPool>(1);
  std::shared_ptr<ThreadPool> two = std::make_shared<ThreadPool>(2);

  static std::span<const float> floats(const TensorView& v) {
    size_t n = 1;
    for (int64_t d : v.dims) n *= static_cast<size_t>(d);
    return {static_cast<const float*>(v.data), n};
  }
  static std::string id(const Status& s) { return s.ok() ? "" : s.errors()[0].id; }
  static std::string message(const Status& s) { return s.ok() ? "" : s.errors()[0].message; }
};

TEST_F(ScaleTest, OneProgramServesEveryLength) {
  Context c(exe, one);
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(c.run({{x.data(), DType::F32, {2, 3}}}).ok());
  EXPECT_EQ(c.outputs()[0].dims, (std::vector<int64_t>{2, 3}));
  auto y = floats(c.outputs()[0]);
  EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{2, 21, 301, 5, 51, 601}));
  std::vector<float> more(3 * 777, 1);
  ASSERT_TRUE(c.run({{more.data(), DType::F32, {777, 3}}}).ok());
  y = floats(c.outputs()[0]);
  ASSERT_EQ(y.size(), 2331u);
  for (size_t i = 0; i < y.size(); i += 3) {
    ASSERT_EQ(y[i], 2);
    ASSERT_EQ(y[i + 2], 101);
  }
}

TEST_F(ScaleTest, InputsOfAnyAlignmentWork) {
  Context c(exe, one);
  std::vector<float> memory(64);
  for (size_t shift = 0; shift < 16; ++shift) {
    float* x = memory.data() + shift;
    for (int i = 0; i < 3; ++i) x[i] = 1;
    ASSERT_TRUE(c.run({{x, DType::F32, {1, 3}}}).ok());
    EXPECT_EQ(floats(c.outputs()[0])[1], 11);
  }
}

TEST_F(ScaleTest, OutputsGoWhereTheCallerWants) {
  Context c(exe, two);
  std::vector<float> x(30, 2), y(31, -7);
  c.bind_output(0, y.data(), 30 * sizeof(float));
  ASSERT_TRUE(c.run({{x.data(), DType::F32, {10, 3}}}).ok());
  EXPECT_EQ(c.outputs()[0].data, y.data());
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[29], 201);
  EXPECT_EQ(y[30], -7);
  // Memory of another size is left alone.
  ASSERT_TRUE(c.run({{x.data(), DType::F32, {1, 3}}}).ok());
  EXPECT_NE(c.outputs()[0].data, y.data());
}

TEST_F(ScaleTest, ATakenOutputOutlivesTheNextRun) {
  Context c(exe, one);
  std::vector<float> x = {1, 1, 1}, other = {5, 5, 5};
  ASSERT_TRUE(c.run({{x.data(), DType::F32, {1, 3}}}).ok());
  auto* y = static_cast<const float*>(c.outputs()[0].data);
  std::shared_ptr<void> memory = c.take_output(0);
  ASSERT_EQ(memory.get(), y);
  ASSERT_TRUE(c.run({{other.data(), DType::F32, {1, 3}}}).ok());
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(floats(c.outputs()[0])[0], 6);
}

TEST_F(ScaleTest, WrongInputsAreNamed) {
  Context c(exe, one);
  std::vector<float> x(4000);
  EXPECT_EQ(id(c.run({})), "input-count");
  EXPECT_EQ(id(c.run({{x.data(), DType::F64, {1, 3}}})), "input-dtype");
  EXPECT_EQ(id(c.run({{x.data(), DType::F32, {3}}})), "input-rank");
  Status wide = c.run({{x.data(), DType::F32, {1, 4}}});
  EXPECT_EQ(id(wide), "input-shape");
  EXPECT_EQ(message(wide), "input `x`: dimension 1 is 4, the model takes 3");
  Status tall = c.run({{x.data(), DType::F32, {1001, 3}}});
  EXPECT_EQ(id(tall), "input-shape");
  EXPECT_NE(message(tall).find("(n) is 1001"), std::string::npos) << message(tall);
  EXPECT_EQ(id(c.run({{x.data(), DType::F32, {0, 3}}})), "input-shape");
  // And the context is fit for use afterwards.
  EXPECT_TRUE(c.run({{x.data(), DType::F32, {1, 3}}}).ok());
}

TEST_F(ScaleTest, ThreadsShareAModel) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Context c(exe, two);
      std::vector<float> x(300, static_cast<float>(t));
      for (int i = 0; i < 200; ++i) {
        if (!c.run({{x.data(), DType::F32, {100, 3}}}).ok()) ++wrong;
        if (floats(c.outputs()[0])[298] != static_cast<float>(10 * t + 1)) ++wrong;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ScaleTest, ProfilesCountWork) {
  Context c(exe, one);
  std::vector<KernelTime> times;
  c.profile = &times;
  std::vector<float> x(30);
  ASSERT_TRUE(c.run({{x.data(), DType::F32, {10, 3}}}).ok());
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].kernel, 0);
  EXPECT_EQ(times[0].flops, 30);
  EXPECT_EQ(times[1].flops, 0);
}

TEST(CountTest, LoopsUntilTheConditionFails) {
  int64_t zero = 0;
  auto exe = executable(count_program(), &zero, count_functions());
  Context c(exe, std::make_shared<ThreadPool>(1));
  for (auto [x, want] : {std::pair<int64_t, int64_t>{1, 7}, {100, 0}, {99, 1}, {13, 3}}) {
    ASSERT_TRUE(c.run({{&x, DType::I64, {}}}).ok());
    EXPECT_EQ(*static_cast<const int64_t*>(c.outputs()[0].data), want) << x;
  }
  int64_t negative = -1;
  Status s = c.run({{&negative, DType::I64, {}}});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.errors()[0].id, "check-failed");
  EXPECT_EQ(s.errors()[0].message, "x is negative");
}

// Every index of a program is checked before it is used.
TEST(CreateTest, RefusesDamagedPrograms) {
  auto refused = [](auto&& damage) {
    Program p = count_program();
    damage(p);
    int64_t zero = 0;
    auto exe = Executable::create(std::move(p), reinterpret_cast<const std::byte*>(&zero), nullptr,
                                  Code::from_table(count_functions()));
    return !exe.ok() && exe.errors()[0].id == "bad-program";
  };
  EXPECT_TRUE(refused([](Program& p) { p.blocks.clear(); }));
  EXPECT_TRUE(refused([](Program& p) { p.inputs[0] = 99; }));
  EXPECT_TRUE(refused([](Program& p) { p.outputs[0] = -1; }));
  EXPECT_TRUE(refused([](Program& p) { p.buffers[0].alias_of = 0; }));
  EXPECT_TRUE(refused([](Program& p) { p.buffers[0].block = 3; }));
  EXPECT_TRUE(refused([](Program& p) { p.buffers[6].const_offset = 1; }));
  EXPECT_TRUE(refused([](Program& p) { p.buffers[0].dims = {symbol(0)}; }));
  EXPECT_TRUE(refused([](Program& p) { p.buffers[0].dims = {SizeExpr{}}; }));
  EXPECT_TRUE(refused([](Program& p) { p.blocks[0].instrs[0].a = 3; }));
  EXPECT_TRUE(refused([](Program& p) { p.blocks[0].instrs[0].args[0] = 8; }));
  EXPECT_TRUE(refused([](Program& p) { p.blocks[0].instrs[4].blocks = {0, 0}; }));
  EXPECT_TRUE(refused([](Program& p) { p.blocks[1].results.clear(); }));
  EXPECT_TRUE(refused([](Program& p) { p.kernels[0].phases[0].symbol = "missing"; }));
  EXPECT_TRUE(refused([](Program& p) { p.kernels[0].flops = symbol(5); }));
}

}  // namespace
}  // namespace tenfold::rt
