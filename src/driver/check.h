// Everything that is wrong with a model, or unsupported, without running it.
#pragma once

#include <string>
#include <vector>

#include "driver/session.h"

namespace tenfold {

struct CheckReport {
  struct Problem {
    std::string node, op;
    int opset = 0;
    std::string id, message;
  };
  struct PerTarget {
    std::string name;
    bool ok = true;
  };
  // Nodes of one op, opset and types; see onnx::OpUse.
  struct Use {
    std::string op;
    int opset = 0, since = 0;
    std::vector<std::string> types;
    int nodes = 0, refused = 0;
  };
  bool ok = true;
  std::vector<Problem> problems;
  std::vector<PerTarget> targets;
  std::vector<Use> ops;  // of an ONNX model
};

// For options.target, or for every target of this build.
CheckReport check_model(const ModelSource& source, const CompileOptions& options, bool all_targets);

}  // namespace tenfold
