// --verify: says on standard error how a compiled model compares with the evaluator.
#include <cstdio>

#include "command.h"
#include "driver/verify.h"

namespace tenfold::cli {

Result<bool> report_verification(const Session& session, const std::vector<Literal>& inputs,
                                 const std::vector<Literal>& outputs) {
  Progress progress("evaluating the model node by node");
  TF_ASSIGN(VerifyReport r, verify_outputs(session, inputs, outputs));
  for (const auto& out : r.outputs)
    std::fprintf(stderr, "verify: output %s: %s, relative error %.3g\n", out.name.c_str(),
                 out.ok ? "right" : "DIFFERS", out.error);
  if (!r.ok) {
    print_errors({{"verify-differs",
                   (r.node.empty() ? "" : "first node that differs: ") + r.detail,
                   {r.node.empty() ? session.name() : r.node},
                   {}}});
  }
  return r.ok;
}

}  // namespace tenfold::cli
