// A model on a chip of the matrix family (v1, Edge): compiled by backends/tpu/matrix, run by
// tpu/matrix/sim, its host steps by the graph evaluator.
#pragma once

#include <memory>
#include <vector>

#include "array/literal.h"
#include "backends/tpu/matrix/compile.h"
#include "tpu/matrix/sim.h"

namespace tenfold {

struct MatrixSimulation {
  tpu::matrix::MatrixModel model;  // program, host ops with their reasons
  tpu::matrix::Report report;      // ranges as model.program.ranges
  std::vector<Literal> outputs;    // in the model's order; empty when only timed
};

// `m` as it was imported; it is changed. With `inputs` null only cycles are counted.
// Errors: those of compile() and run() there, and of the evaluator.
Result<MatrixSimulation> simulate_matrix(Module& m, const tpu::Chip& chip,
                                         const std::vector<Literal>* inputs);

}  // namespace tenfold
