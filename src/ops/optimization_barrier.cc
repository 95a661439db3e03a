// stablehlo.optimization_barrier: its operands, unchanged.
#include "graph/op_def.h"

namespace tenfold {

extern const OpDef op_optimization_barrier;
const OpDef op_optimization_barrier = {
    .name = "stablehlo.optimization_barrier",
    .summary = "Its operands, unchanged; nothing is moved across it.",
    .kind = OpKind::Region,
    .num_results = -1,
    .infer =
        [](const Op& op, Diag&) {
          std::vector<TensorType> types;
          for (Value* v : op.operands()) types.push_back(v->type);
          return types;
        },
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> { return c.args; },
};

}  // namespace tenfold
