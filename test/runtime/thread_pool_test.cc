#include "runtime/thread_pool.h"

#include <numeric>
#include <thread>

#include <gtest/gtest.h>

namespace tenfold::rt {
namespace {

struct Counted {
  uint64_t alive = kAlive;
  std::vector<std::atomic<int>> visits;
  static constexpr uint64_t kAlive = 0x600df00d;
  explicit Counted(int64_t extent) : visits(static_cast<size_t>(extent)) {}
  ~Counted() { alive = 0; }
  static void visit(void* self, int64_t begin, int64_t end, int) {
    Counted& r = *static_cast<Counted*>(self);
    ASSERT_EQ(r.alive, kAlive);
    for (int64_t i = begin; i < end; ++i) ++r.visits[static_cast<size_t>(i)];
  }
};

// Short runs of few and of many parts in turn, on more workers than cores: a worker that was put
// aside in the middle of taking a part must not take one of the run that follows.
TEST(ThreadPoolTest, every_part_runs_once_while_its_run_is_alive) {
  ThreadPool pool(6);
  static constexpr int kParts[] = {2, 64, 3, 24, 2, 5};
  for (int i = 0; i < 20000; ++i) {
    const int parts = kParts[i % 6];
    Counted run(parts);
    pool.run(parts, parts, Counted::visit, &run);
    for (const auto& v : run.visits) ASSERT_EQ(v, 1) << "run " << i << " of " << parts << " parts";
  }
}

TEST(ThreadPoolTest, callers_at_once_get_their_own_runs) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        Counted run(3 + t);
        pool.run(3 + t, 3 + t, Counted::visit, &run);
        for (const auto& v : run.visits) wrong += v != 1;
      }
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tenfold::rt
