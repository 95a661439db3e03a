// --verify and --bisect: a compiled model against the graph evaluator on the user's own input.
#pragma once

#include <string>
#include <vector>

#include "driver/session.h"

namespace tenfold {

// Largest |a - b| over the largest |b|, over finite pairs; infinite when NaN or infinity stand in
// different places or the shapes differ. `a` is the one looked at, `b` the one to be met.
double relative_error(const Literal& a, const Literal& b);
// The error that is allowed: 1e-4 for f32 and f64, one unit in the last place for narrower floats,
// 0 for everything that is not a float.
double allowed_error(DType t);

struct VerifyReport {
  bool ok = true;
  struct Output {
    std::string name;
    double error = 0;
    bool ok = true;
  };
  std::vector<Output> outputs;
  // When not ok: the first node of the model whose value differs, and what was found there.
  std::string node, detail;
};

// The evaluator's outputs for a model on inputs in its own order.
Result<std::vector<Literal>> evaluate_model(const ModelSource& source,
                                            const CompileOptions& options,
                                            const std::vector<Literal>& inputs);

// `outputs`: what the session gave for `inputs`.
Result<VerifyReport> verify_outputs(const Session& session, const std::vector<Literal>& inputs,
                                    const std::vector<Literal>& outputs);

struct BisectReport {
  bool differs = false;  // false: nothing to look for
  int passes = 0;        // how many passes run before the difference shows; the last one makes it
  std::string culprit;   // a pass, or "lowering at -O2"
  int tried = 0;
};
// Finds the first pass of the pipeline (else the level of lowering) that makes a wrong result.
Result<BisectReport> bisect_passes(const Session& session, const std::vector<Literal>& inputs);

}  // namespace tenfold
