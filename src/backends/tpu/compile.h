// A graph as a program for a chip of the bundle family.
//
//   plan       which ops run together as a kernel of the chip, which on the host and why
//   memory     every value in HBM or on the chip for its lifetime
//   kernels    copies in blocks under the arithmetic, weights of the next kernel while this one
//   runs
//
// The program is one stream of bundles; work of the host stands in it as steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/tpu/code/compile.h"
#include "backends/tpu/layout.h"
#include "backends/tpu/lower.h"
#include "graph/ir.h"
#include "tpu/chips/chip.h"
#include "tpu/isa/isa.h"

namespace tenfold::tpu {

struct TpuOptions {
  Precision precision = Precision::Bf16;
  bool fuse = true;
  bool text = false;  // keep the kernel code as text, to read
};

// A tensor in HBM.
struct HbmTensor {
  const Value* value = nullptr;
  Layout layout;
  uint32_t row = 0;
};

// What the report speaks of: one model node, or several that run as one kernel.
struct NodeInfo {
  std::string name;  // the user's own
  std::string op;    // of the graph
  double flops = 0;
  double useful_macs = 0;   // of the matrix unit
  double data_bytes = 0;    // operands and results once, without padding
  double padding = 1;       // worst of its tensors: bytes kept for a byte of data
  std::string worst;        // that tensor
  std::string host_reason;  // not empty: runs on the host
};

// Ops that the host runs between two bundles, in order, as one step of the program.
struct HostWork {
  std::vector<const tenfold::Op*> ops;
  std::string reason;
  std::vector<HbmTensor> reads, writes;  // what crosses; other values stay with the host
  std::vector<int> nodes;
};

struct ChipProgram {
  Program program;
  std::vector<HostWork> host;  // as program.host_steps
  std::vector<NodeInfo> nodes;
  std::vector<HbmTensor> inputs, constants, outputs;    // those the chip touches
  std::vector<std::pair<const Value*, Literal>> known;  // found while compiling: counters of loops
  std::vector<code::CompileReport> kernels;             // as program.kernels
  int64_t hbm_bytes = 0;                                // peak
  int64_t onchip_bytes = 0;                             // peak of VMEM as planned
  std::vector<std::string> kernel_text;                 // with options.text
  std::vector<std::string> memory_plan;  // the largest things at the peak, for messages
};

// `m` has been through the graph pipeline and outlives the result. Errors: tpu-memory (with the
// plan and the peak), tpu-spill.
Result<ChipProgram> compile_chip(const Module& m, const Chip& chip, const TpuOptions& options);

}  // namespace tenfold::tpu
