// The graph pipeline: which passes run, in order, and the manager that runs them.
#pragma once

#include <string>
#include <vector>

#include "graph/pass.h"

namespace tenfold {

struct PipelineOptions {
  int opt_level = 3;
  bool fast_math = false;
  bool signed_bytes = false;          // see PassContext; compile() sets it from the target
  std::vector<std::string> disabled;  // pass names
  std::string stop_after;             // pass name, empty: run all
  int max_passes = -1;                // bisection: run only the first so many
  bool verify_each = false;           // run the verifier after every pass that changed something
  std::string dump_dir;               // numbered .mlir files, one per change; empty: none
  std::string dump_filter;            // regular expression on the pass name
};

struct PassTiming {
  std::string name;
  double seconds = 0;
  bool changed = false;
};

struct PipelineReport {
  std::vector<PassTiming> passes;
  std::vector<std::string> remarks;
};

// The pass names of an optimisation level, in order.
std::vector<std::string> pipeline(int opt_level);
Result<PipelineReport> run_pipeline(Module& m, const PipelineOptions& options);

}  // namespace tenfold
