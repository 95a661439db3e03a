// The scheduler by itself, on problems small enough to solve on paper.
#include "backends/tpu/code/schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace tenfold::tpu::code {
namespace {

struct Loop : Problem {
  std::vector<ResourceUses> kinds;
  explicit Loop(std::vector<int> capacities) {
    capacity = std::move(capacities);
    for (size_t r = 0; r < capacity.size(); ++r) kinds.push_back({{static_cast<uint8_t>(r), 1}});
  }
  int node(int resource) {
    nodes.push_back(&kinds[resource]);
    return static_cast<int>(nodes.size()) - 1;
  }
  void edge(int from, int to, int latency, int distance = 0) {
    edges.push_back({from, to, latency, distance, true});
  }
};

void expect_legal(const Problem& p, const std::vector<int>& time, int ii) {
  for (const Edge& e : p.edges) {
    if (!ii && e.distance) continue;
    EXPECT_GE(time[e.to] + e.distance * ii, time[e.from] + e.latency);
  }
  std::map<std::pair<int, int>, int> used;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    for (const ResourceUse& u : *p.nodes[i]) {
      for (int c = 0; c < u.cycles; ++c) {
        int t = time[i] + c;
        std::pair<int, int> slot(ii ? t % ii : t, u.resource);
        EXPECT_LE(++used[slot], p.capacity[u.resource]);
      }
    }
  }
}

enum { kLoad, kAlu, kStore };

TEST(Schedule, AddOfTwoArraysIsBoundByItsLoads) {
  // c[i] = a[i] + b[i]: two loads and one store with one slot each: 2 cycles an iteration.
  Loop p({1, 2, 1});
  int a = p.node(kLoad), b = p.node(kLoad), c = p.node(kAlu), d = p.node(kStore);
  p.edge(a, c, 4);
  p.edge(b, c, 4);
  p.edge(c, d, 2);
  IntervalBound bound = interval_bound(p);
  EXPECT_EQ(bound.resource_ii, 2);
  EXPECT_EQ(bound.resource, kLoad);
  EXPECT_EQ(bound.recurrence_ii, 1);
  ModuloSchedule m = modulo_schedule(p, bound.ii(), 50);
  EXPECT_EQ(m.ii, 2);
  expect_legal(p, m.time, m.ii);
  // Straight: loads at 0 and 1, add at 5, store at 7.
  Schedule s = list_schedule(p);
  EXPECT_EQ(s.length, 8);
  expect_legal(p, s.time, 0);
}

TEST(Schedule, ASumIsBoundByItsRecurrence) {
  // s += a[i] with an adder of latency 3; then two steps a turn through the same sum.
  Loop p({1, 2, 1});
  int a = p.node(kLoad), s = p.node(kAlu);
  p.edge(a, s, 4);
  p.edge(s, s, 3, 1);
  EXPECT_EQ(interval_bound(p).recurrence_ii, 3);
  int b = p.node(kLoad), t = p.node(kAlu);
  p.edge(b, t, 4);
  p.edges[1] = {s, t, 3, 0, true};
  p.edge(t, s, 3, 1);
  IntervalBound bound = interval_bound(p);
  EXPECT_EQ(bound.recurrence_ii, 6);
  EXPECT_EQ(bound.recurrence.size(), 2u);
  ModuloSchedule m = modulo_schedule(p, bound.ii(), 50);
  EXPECT_EQ(m.ii, 6);
  expect_legal(p, m.time, m.ii);
}

TEST(Schedule, ARecurrenceOverTwoIterationsCountsHalf) {
  // x[i] = x[i-2] * 0.5: latency 5 over distance 2 is 2.5, so 3.
  Loop p({1, 2, 1});
  int a = p.node(kAlu);
  p.edge(a, a, 5, 2);
  EXPECT_EQ(interval_bound(p).recurrence_ii, 3);
}

TEST(Schedule, LoadsWaitUntilTheyAreNeeded) {
  // The second operand of the last add is not fetched at the start of a long chain.
  Loop p({2, 1, 1});
  int a = p.node(kLoad), b = p.node(kLoad);
  int x = a;
  for (int i = 0; i < 6; ++i) {
    int y = p.node(kAlu);
    p.edge(x, y, i ? 2 : 4);
    x = y;
  }
  int z = p.node(kAlu), st = p.node(kStore);
  p.edge(x, z, 2);
  p.edge(b, z, 4);
  p.edge(z, st, 2);
  ModuloSchedule m = modulo_schedule(p, interval_bound(p).ii(), 50);
  EXPECT_EQ(m.ii, 7);
  expect_legal(p, m.time, m.ii);
  EXPECT_GE(m.time[b], m.time[z] - 4 - m.ii + 1);
}

TEST(Schedule, AUnitHeldForSeveralCyclesFitsRoundTheLoop) {
  Loop p({1, 1, 1});
  ResourceUses wide = {{kAlu, 5}};
  p.nodes = {&wide, &wide};
  p.edges = {{0, 1, 1, 0, false}};
  IntervalBound b = interval_bound(p);
  EXPECT_EQ(b.resource_ii, 10);
  ModuloSchedule m = modulo_schedule(p, b.ii(), 20);
  EXPECT_EQ(m.ii, 10);
  expect_legal(p, m.time, m.ii);
}

TEST(Schedule, RandomProblemsAreLegalAndNearTheirBound) {
  Rng rng(7);
  int over = 0, total = 0;
  for (int round = 0; round < 300; ++round) {
    Loop p({2, 3, 1});
    int n = 2 + static_cast<int>(rng.below(40));
    for (int i = 0; i < n; ++i) p.node(static_cast<int>(rng.below(3)));
    for (int i = 1; i < n; ++i) {
      int k = static_cast<int>(rng.below(3));
      for (int j = 0; j < k; ++j) {
        p.edge(static_cast<int>(rng.below(i)), i, static_cast<int>(rng.below(7)));
      }
      if (rng.below(8) == 0) {
        p.edge(i, static_cast<int>(rng.below(i + 1)), 1 + static_cast<int>(rng.below(5)),
               1 + static_cast<int>(rng.below(2)));
      }
    }
    for (Priority priority : {Priority::Height, Priority::Source}) {
      expect_legal(p, list_schedule(p, priority).time, 0);
    }
    IntervalBound b = interval_bound(p);
    ModuloSchedule m = modulo_schedule(p, b.ii(), b.ii() + 60);
    ASSERT_GT(m.ii, 0);
    expect_legal(p, m.time, m.ii);
    over += m.ii - b.ii();
    total += b.ii();
  }
  EXPECT_LE(over, total / 50);  // within 2 % of the bound over all
}

}  // namespace
}  // namespace tenfold::tpu::code
