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
  // Names of passes, or of dumps ("07-sink_reshapes", to say which of several); empty: all run.
  std::string start_from;  // the input is a dump from before this one
  std::string stop_after;
  int max_passes = -1;       // bisection: run only the first so many
  bool verify_each = false;  // run the verifier after every pass that changed something
  std::string dump_dir;      // numbered .mlir files, one per change; empty: none
  std::string dump_filter;   // regular expression on the pass name
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
// Lowering relies on it: it cannot be left out.
bool needed_pass(std::string_view name);
// The place of a pass in pipeline(level), from 1; 0 when it has none. A name alone is its first.
int place_of_pass(const std::string& name, int opt_level);
Result<PipelineReport> run_pipeline(Module& m, const PipelineOptions& options);

}  // namespace tenfold
