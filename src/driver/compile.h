// From a model file to a compiled model: import, graph pipeline, lowering, code generation, linking.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "driver/pipeline.h"
#include "graph/ir.h"
#include "runtime/program.h"

namespace tenfold {

struct CompileOptions {
  std::string target = "cpu";
  PipelineOptions pipeline;  // opt_level, dumps, disabled passes
  int compile_threads = 2;
  // Fixed sizes by input name (--shape); other open dimensions stay symbolic.
  std::map<std::string, std::vector<int64_t>> shapes;
};

struct CompiledModel {
  rt::Program program;
  std::shared_ptr<const std::string> constants;  // the blob program offsets point into
  std::string object;         // relocatable
  std::string shared_object;  // linked, for dlopen and .so artifacts
  Target target;
  struct Stage {
    std::string name;
    double seconds;
  };
  std::vector<Stage> stages;
  PipelineReport report;
};

// By suffix and content: .onnx, .mlir. Every problem of the model at once.
Result<std::unique_ptr<Module>> load_model(const std::string& path, const CompileOptions& options);
// Compiles `m` in place (it is consumed: passes rewrite it).
Result<CompiledModel> compile(Module& m, const CompileOptions& options);

}  // namespace tenfold
