// Scheduling as a problem of its own: nodes that hold resources, edges that keep two nodes apart.
// Who the nodes are (ops of kernel code) and what a resource is (a slot of a chip's bundle, a
// matrix unit's input) is said in resources.h and dependences.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tenfold::tpu::code {

// One of `resource` is taken for `cycles` cycles from the node's issue on.
struct ResourceUse {
  uint8_t resource = 0;
  uint16_t cycles = 1;
  bool operator==(const ResourceUse&) const = default;
};
using ResourceUses = std::vector<ResourceUse>;

// Issue of `to` in iteration i + distance comes at least `latency` cycles after that of `from` in
// iteration i. Distance is 0 in straight code.
struct Edge {
  int32_t from = 0, to = 0;
  int32_t latency = 0;
  int32_t distance = 0;
  bool value = false;  // `to` reads a register that `from` writes
};

struct Problem {
  std::vector<int> capacity;  // of each resource, a cycle
  std::vector<const ResourceUses*> nodes;
  std::vector<Edge> edges;
};

struct Schedule {
  std::vector<int> time;  // of each node
  int length = 0;         // last issue + 1
};

enum class Priority {
  Height,  // the longest way to the end first: short, and hungry for registers
  Source,  // as written, later ops only into gaps of a short window: thrifty
};

// Straight code; edges of distance > 0 are left out. Near-linear in nodes and edges.
Schedule list_schedule(const Problem& problem, Priority priority = Priority::Height);

// What keeps a loop from starting an iteration every cycle.
struct IntervalBound {
  int resource_ii = 1;  // by the fullest resource
  int resource = -1;
  int recurrence_ii = 1;        // by the longest cycle of edges over its distance
  std::vector<int> recurrence;  // nodes of that cycle
  int ii() const { return resource_ii > recurrence_ii ? resource_ii : recurrence_ii; }
};
IntervalBound interval_bound(const Problem& problem);

struct ModuloSchedule {
  int ii = 0;             // 0: none found
  std::vector<int> time;  // of each node in the first iteration, from 0 on
  int length = 0;
  int stages() const { return (length + ii - 1) / ii; }
};
// Iterative modulo scheduling (Rau, MICRO 1994), then values' lives shortened by moving nodes
// within their slack. Tries intervals from `min_ii` to `max_ii`.
ModuloSchedule modulo_schedule(const Problem& problem, int min_ii, int max_ii);

}  // namespace tenfold::tpu::code
