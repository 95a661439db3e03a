// Descriptors of StableHLO ops that are read, so that the message can say why they cannot be used.
#pragma once

#include "graph/op_def.h"

namespace tenfold {

inline OpDef unsupported_op(std::string_view name, std::string_view summary, std::string_view why) {
  return {
      .name = name,
      .summary = summary,
      .doc = why,
      .kind = OpKind::Opaque,
      .min_operands = 0,
      .max_operands = -1,
      .num_results = -1,
      .num_regions = -1,
      .infer =
          [why](const Op& op, Diag& diag) {
            diag.fail("unsupported", "is not supported: " + std::string(why));
            std::vector<TensorType> stated;
            for (int i = 0; i < op.num_results(); ++i) stated.push_back(op.result(i)->type);
            return stated;
          },
      .explicit_results = true,
      .eval = [why](EvalContext& c) -> Result<std::vector<Literal>> {
        return c.error("op-unsupported", c.op->name() + " is not supported: " + std::string(why));
      },
      .emit = [why](EmitContext& c) -> Status {
        return Error{"op-unsupported",
                     c.op->name() + " is not supported: " + std::string(why),
                     c.op->loc,
                     {}};
      },
      .constraints = {"unsupported"},
  };
}

inline constexpr std::string_view kNoTokens =
    "Tenfold has no tokens yet; remove side effects from the exported function";
inline constexpr std::string_view kNoQuantizedTypes =
    "Tenfold has no quantized types yet; export the model with explicit integer arithmetic";

}  // namespace tenfold
