// func.call: runs a function of the module.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const Function* in = function_of(op);
  const Function* callee = in && in->module ? in->module->find(op.str("callee")) : nullptr;
  if (!callee) {
    diag.fail("callee", "no function is called @" + op.str("callee"));
    return {};
  }
  return call_result_types(*callee, op.operands(), diag);
}

}  // namespace

extern const OpDef op_call;
const OpDef op_call = {
    .name = "func.call",
    .summary = "Runs a function of the module.",
    .doc = "The function's symbols take the sizes of the arguments.",
    .kind = OpKind::Region,
    .num_results = -1,
    .attrs = {{"callee", AttrKind::Func, true, "the function"}},
    .infer = infer,
    .eval = [](EvalContext& c) { return c.run_function(c.op->str("callee"), c.args); },
    .constraints = {"callee"},
};

}  // namespace tenfold
