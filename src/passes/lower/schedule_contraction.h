// Register-blocked schedules of sums of products: matrix multiplication and convolution alike.
//
// From the naive nest   for outs { acc = 0; for reds: acc += a * b; out = epilogue(acc) }
// where b (and the output) run along one output loop J and a does not:
//   J in blocks of nv vectors, rows I (an output loop that b does not depend on) in blocks of mi,
//   acc becomes mi x nv vector registers, the reduction runs outside them, b is packed in blocks of
//   J (constants at compile time), and all outer loops together are split over threads.
#pragma once

#include "loop/machine.h"
#include "passes/lower/schedule.h"

namespace tenfold {

// False when the kernel has not this structure; it is then unchanged.
bool schedule_contraction(EmittedKernel& k, const loop::Machine& machine,
                          const std::function<bool(int)>& constant, std::vector<Repack>& repacks);

// Register block for rows x columns (-1: not known) with `lanes` to a vector.
struct RegisterBlock {
  int rows = 1, vectors = 1;
};
RegisterBlock choose_register_block(int64_t rows, int64_t columns, int lanes,
                                    const loop::Machine& machine);

}  // namespace tenfold
