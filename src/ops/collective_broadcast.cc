// stablehlo.collective_broadcast: one device's value for all devices of its group.
#include "ops/collective_util.h"

namespace tenfold {

extern const OpDef op_collective_broadcast;
const OpDef op_collective_broadcast = {
    .name = "stablehlo.collective_broadcast",
    .summary = "One device's value for all devices of its group",
    .doc = "On one device: the operands.",
    .kind = OpKind::Collective,
    .min_operands = 1,
    .max_operands = -1,
    .num_results = -1,
    .attrs = collective_attrs({}),
    .infer =
        [](const Op& op, Diag& diag) {
          check_groups(op, diag);
          std::vector<TensorType> out;
          for (const Value* v : op.operands()) out.push_back(v->type);
          return out;
        },
    .eval = eval_identity,
    .emit = emit_identity,
    .constraints = {"C2"},
};

}  // namespace tenfold
