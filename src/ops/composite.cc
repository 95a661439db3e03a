// stablehlo.composite: a named operation together with its meaning, a function of plain ops.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const std::string& name = op.str("name");
  if (name.find('.') == std::string::npos) {
    diag.fail("C1", "its name \"" + name + "\" must be of the form namespace.name");
  }
  const Function* in = function_of(op);
  const Function* f = in && in->module ? in->module->find(op.str("decomposition")) : nullptr;
  if (!f) {
    diag.fail("C2", "no function is called @" + op.str("decomposition"));
    return {};
  }
  return call_result_types(*f, op.operands(), diag);
}

}  // namespace

extern const OpDef op_composite;
const OpDef op_composite = {
    .name = "stablehlo.composite",
    .summary = "A named operation whose meaning is the function it names.",
    .kind = OpKind::Region,
    .num_results = -1,
    .attrs = {{"name", AttrKind::Str, true, "namespace.name"},
              {"composite_attributes", AttrKind::Dict, false, "what the name's own rules read"},
              {"decomposition", AttrKind::Func, true, "the function that is its meaning"},
              {"version", AttrKind::I64, false, "version of the name's rules, 0 when absent"}},
    .infer = infer,
    .eval = [](EvalContext& c) { return c.run_function(c.op->str("decomposition"), c.args); },
    .constraints = {"C1", "C2", "callee"},
};

}  // namespace tenfold
