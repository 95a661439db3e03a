// A model on a simulated chip: compiled for it, run, and accounted for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "array/npy.h"
#include "driver/session.h"
#include "tpu/chips/chip.h"

namespace tenfold {

struct SimulateOptions {
  CompileOptions compile;                   // target "tpu:v5e" or "tpu:FILE"
  std::string precision = "bf16";           // of f32 contractions: bf16, bf16x3, bf16x6
  bool timing_only = false;                 // no values
  uint64_t max_cycles = uint64_t{1} << 40;  // a program that takes more is taken to run for ever
  bool tile_clock = true;                   // timing_only: loops in steady state are multiplied out
  uint64_t seed = 0;                        // of random inputs
  bool advice = true;                       // simulate changes that might pay
  bool code = false;                        // kernel code and its loops as text, in code_report
};

struct Simulation {
  struct Node {
    std::string name, op;
    uint64_t cycles = 0;
    double flops = 0;
    uint64_t hbm_bytes = 0;
    std::string bound_by;  // unit or cause that most of its cycles went to
    double padding = 1;    // bytes kept for a byte of data, worst tensor
    std::string padded;    // that tensor
    double mxu_utilization = 0;
    double mxu_useful_share = 0;
    double intensity = 0;       // flops for a byte of HBM
    double roofline_share = 0;  // of what the roofline allows at that intensity
    std::string host_reason;    // not empty: on the host
  };
  struct Advice {
    std::string text;
    double gain = 1;         // times as fast
    bool simulated = false;  // else estimated
  };
  std::string chip;
  double clock_mhz = 0;
  uint64_t cycles = 0;
  double microseconds = 0;
  double mxu_utilization = 0, mxu_useful_share = 0;
  uint64_t hbm_bytes = 0;
  double hbm_bandwidth_share = 0;
  int64_t hbm_peak_bytes = 0, onchip_peak_bytes = 0;
  double cpu_seconds = 0, compile_seconds = 0;
  uint64_t simulated_bundles = 0;
  std::map<std::string, std::map<std::string, uint64_t>> units;
  std::vector<Node> nodes;
  std::vector<Advice> advice;
  std::vector<std::string> memory_plan;
  std::string code_report;  // of the kernels' loops
  bool random_inputs = false;
  std::map<std::string, std::vector<int64_t>> sizes;  // chosen for open dimensions
  std::vector<NamedLiteral> inputs, outputs;          // with values
};

// `given`: inputs by name; none: seeded random ones. Errors: those of reading a model, chip-*,
// tpu-memory, tpu-cycle-limit, target-form.
Result<Simulation> simulate(const ModelSource& source, const SimulateOptions& options,
                            const std::vector<NamedLiteral>& given);

// The chip of a target "tpu:NAME" or "tpu:FILE".
Result<tpu::Chip> chip_of_target(const std::string& target);

// Runs a graph that has been through the pipeline; what simulate() stands on, and the differential
// tests. `inputs` in the function's order; empty with timing_only.
Result<Simulation> simulate_module(const Module& m, const tpu::Chip& chip,
                                   const SimulateOptions& options,
                                   const std::vector<Literal>& inputs);

}  // namespace tenfold
