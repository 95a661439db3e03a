// From a model file to a compiled model: import, graph pipeline, lowering, code generation,
// linking.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
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
  int lower_level = -1;      // of lowering and code generation when not the pipeline's (bisection)
  int compile_threads = 2;
  // Fixed sizes by input name (--shape); other open dimensions stay symbolic.
  std::map<std::string, std::vector<int64_t>> shapes;
  // ONNX: lengths of sequence inputs, optional inputs that are left empty, and inputs with a
  // default that are to be arguments.
  std::map<std::string, int64_t> sequence_lengths;
  std::set<std::string> empty_optionals;
  std::vector<std::string> override_defaults;
  // Values of inputs that the compiler must know (axes, ranks); a call with others compiles again.
  std::map<std::string, Literal> values;
};

// Inputs whose value or shape, when fixed, might let a refused model be read.
struct ModelNeeds {
  std::set<std::string> values, shapes;
};

struct CompiledModel {
  rt::Program program;
  // What program offsets point into, program.const_bytes of it, aligned to 64 bytes.
  std::shared_ptr<const std::byte> constants;
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

// By suffix, and by content where that says nothing: .onnx, .mlir. Every problem of the model at
// once.
Result<std::unique_ptr<Module>> load_model(const std::string& path, const CompileOptions& options,
                                           ModelNeeds* needs = nullptr);
// The same from memory. `owner` keeps the bytes alive; `name` stands in messages and its suffix
// counts; `folder` is where external data may lie, empty: nowhere.
Result<std::unique_ptr<Module>> load_model_bytes(std::span<const std::byte> bytes,
                                                 const std::string& name, const std::string& folder,
                                                 const CompileOptions& options,
                                                 ModelNeeds* needs = nullptr);
// Compiles `m` in place (it is consumed: passes rewrite it).
Result<CompiledModel> compile(Module& m, const CompileOptions& options);

}  // namespace tenfold
