// Software pipelining of one innermost loop without branches.
#pragma once

#include <optional>

#include "backends/tpu/code/assembly.h"
#include "backends/tpu/code/compile.h"
#include "backends/tpu/code/dependences.h"

namespace tenfold::tpu::code {

struct PipelineLimits {
  std::array<int, 3> registers;  // that the loop may use, by RegKind, those it only reads included
  int max_interval = 0;          // of the plain schedule: no use to be slower than that
};

// A loop that has been scheduled, not yet written.
struct PipelinedLoop {
  std::vector<Line> lines;  // each register written once
  std::vector<Distances> distances;
  std::vector<int> time;  // of each line in its iteration
  int interval = 0, stages = 0, unroll = 1;
  std::vector<int32_t> carried;  // registers read before they are written
  LoopReport report;
};

// `live_out` says whether a register is read after the loop. Empty: not worth it or no schedule
// within the limits; the report's bound says why.
std::optional<PipelinedLoop> pipeline_loop(const LoopNode& loop, Tree* tree, Machine* machine,
                                           const std::vector<char>& live_out,
                                           const std::vector<int>& queued,
                                           const PipelineLimits& limits, LoopReport* report);

// Lines of a loop's body with each register written once: earlier values of a register get names of
// their own, and a copy into what the loop carries becomes the carried register itself.
std::vector<Line> single_writes(const Nodes& body, Tree* tree, const std::vector<char>& live_out);

// Writes the loop: ramp up, steady state, ramp down. `trips` >= 1 constant, or a register that
// holds a number of iterations >= stages - 1 + unroll.
class PipelineWriter {
 public:
  PipelineWriter(const PipelinedLoop& loop, const std::vector<Pointer>& pointers, Tree* tree,
                 Assembly* out, int scalar_slots)
      : loop_(loop), pointers_(pointers), tree_(tree), out_(out), scalar_slots_(scalar_slots) {}

  void constant(int64_t trips);
  // Afterwards `left` (a register) holds how many iterations remain, fewer than `unroll`, the
  // pointers stand at the first of them and carried registers have their own names.
  void counted(int32_t trips, int32_t left);

 private:
  const PipelinedLoop& loop_;
  const std::vector<Pointer>& pointers_;
  Tree* tree_;
  Assembly* out_;
  int scalar_slots_;
  std::vector<std::vector<int32_t>> names_;  // of each register that has several, by copy
  std::vector<std::vector<int>> row_;        // lines of each cycle modulo the interval
  int32_t name(int32_t reg, int64_t iteration) const;
  void make_names(int64_t last);
  void copies_in();
  void copies_out(int64_t last);
  // Lines of the cycle `row` in step `step` (iteration step - stage) with low <= iteration < high;
  // pointers stand at iteration `at`.
  void cycle(int row, int64_t step, int64_t low, int64_t high, int64_t at, std::vector<Instr>* b);
  void steps(int64_t from, int64_t to, int64_t low, int64_t high, int64_t at);
  void kernel(int64_t first_step, int32_t counter);
};

}  // namespace tenfold::tpu::code
