// stablehlo.replica_id: which replica this is; there is one.
#include "graph/op_def.h"

namespace tenfold {

extern const OpDef op_replica_id;
const OpDef op_replica_id = {
    .name = "stablehlo.replica_id",
    .summary = "The number of this replica",
    .doc = "An ui32 scalar; 0, as programs run on one device.",
    .kind = OpKind::Constant,
    .min_operands = 0,
    .max_operands = 0,
    .infer = [](const Op&, Diag&) { return std::vector<TensorType>{{DType::U32, {}}}; },
    .eval = [](EvalContext&) -> Result<std::vector<Literal>> {
      return std::vector<Literal>{Literal(DType::U32, {})};
    },
    .element = [](ElementContext&,
                  const std::vector<loop::Expr>&) { return loop::int_const(0, DType::U32); },
};

}  // namespace tenfold
