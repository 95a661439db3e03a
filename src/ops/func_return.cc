// func.return: ends a function; its operands are the function's results.
#include "graph/op_def.h"

namespace tenfold {

extern const OpDef op_func_return;
const OpDef op_func_return = {
    .name = "func.return",
    .summary = "Ends a function; its operands are the function's results.",
    .kind = OpKind::Terminator,
    .num_results = 0,
    .infer = [](const Op&, Diag&) { return std::vector<TensorType>{}; },
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> { return c.args; },
};

}  // namespace tenfold
