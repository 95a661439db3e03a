// Which instructions must come after which, and by how much.
#pragma once

#include "backends/tpu/code/machine.h"
#include "backends/tpu/code/tree.h"

namespace tenfold::tpu::code {

// How many iterations ago the value of operand i was computed: 0 or 1.
using Distances = std::array<uint8_t, kMaxOperands>;

// The scheduling problem of straight code. `queued` results of each array are in its queue when the
// code starts; it is brought up to date.
Problem straight_problem(const std::vector<Line>& lines, const Tree& tree, Machine* machine,
                         std::vector<int>* queued);

// That of a loop's body, each register of which is written once at most; a register's next value
// goes into another register, so that only true dependences hold. `distances` of each line's
// operands are filled in. `pointers` say how addresses move from one iteration to the next.
Problem loop_problem(const std::vector<Line>& lines, const std::vector<Pointer>& pointers,
                     const Tree& tree, Machine* machine, const std::vector<int>& queued,
                     std::vector<Distances>* distances);

}  // namespace tenfold::tpu::code
