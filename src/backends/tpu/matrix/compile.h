// The backend of the matrix family: the int8 part of a graph becomes a program of
// src/tpu/matrix/isa.h, the rest steps of the host.
//
// Device ops are found from each int8 value backwards (match.h):
//   products    convolution, dot_general, with bias, rescaling and bounds    -> multiply, activate
//   pools       maximum over windows, means over windows and dimensions      -> pool
//   elementwise any chain of elementwise ops and views on one or two int8 values, evaluated once
//               for each of their 256 or 65536 values                         -> map
// Weights are cut in tiles of the array's size and streamed for each block of rows; grouped
// convolutions put several groups side by side in one tile. All else runs on the host, with its
// reason; tensors cross as int8 where they can.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/ir.h"
#include "tpu/chips/chip.h"
#include "tpu/matrix/isa.h"

namespace tenfold::tpu::matrix {

struct CompileOptions {
  bool values = true;  // false: weights and tables stay out of the program (timing only)
};

// An int8 tensor in host memory, in the order of dimensions it has on the chip.
struct Crossing {
  const Value* value = nullptr;
  int64_t address = 0;
  std::vector<int64_t> order;  // of the dimensions, slowest first
};

struct HostOp {
  std::string name, op, reason;
};

struct Step {
  Function* function = nullptr;  // in the module; takes `inputs`, gives `outputs`
  std::vector<const Value*> inputs, outputs;
  std::vector<Crossing> from_chip;  // inputs the chip wrote
  std::vector<Crossing> to_chip;    // outputs the chip reads next
};

struct MatrixModel {
  Program program;
  std::vector<Step> steps;          // by the id of the program's host steps
  std::vector<Crossing> arguments;  // that the chip reads as they are
  std::vector<Crossing> results;    // that the chip leaves in host memory
  std::vector<HostOp> host_ops;     // with a reason each
  int64_t weight_bytes = 0;         // of all products
};

// `m` after inlining; functions for the host's steps are added to it, and it must outlive the
// model. Errors: tpu-open-size (a size that is not a number), matrix-memory.
Result<MatrixModel> compile(Module& m, const Chip& chip, const CompileOptions& options = {});

}  // namespace tenfold::tpu::matrix
