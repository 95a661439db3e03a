// tenfold.require: a relation of sizes that a model needs and that only the run can show.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  if (op.dims("sizes").size() != 2) diag.fail("C1", "relates two sizes");
  if (!relation(op.str("relation"))) {
    diag.fail("C2", "relation is " + op.str("relation") + ", wanted EQ, LE or EQ_OR_ONE");
  }
  return {};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const SizeRule rule = rule_of(*c.op);
  const int64_t a = c.dim(rule.a), b = c.dim(rule.b);
  if (rule.holds(a, b)) return std::vector<Literal>{};
  Error e{rule.id(), c.op->str("what") + ": " + rule.broken(a, b), c.op->loc, {}};
  for (auto& o : c.op->origins) e.notes.push_back("from node " + o);
  return e;
}

}  // namespace

extern const OpDef op_require;
const OpDef op_require = {
    .name = "tenfold.require",
    .summary = "Two sizes must be in a relation, or the run ends with an error.",
    .doc =
        "EQ: equal; LE: the first at most the second; EQ_OR_ONE: equal, or the first is 1. The "
        "compiler makes one for each demand that an op has on its operands' shapes and that their "
        "types do not prove; `what` names the op in the message.",
    .kind = OpKind::Region,
    .max_operands = 0,
    .num_results = 0,
    .attrs = {{"sizes", AttrKind::Dims, true, "the two sizes"},
              {"relation", AttrKind::Enum, true, "EQ, LE or EQ_OR_ONE"},
              {"what", AttrKind::Str, true, "who needs it"}},
    .infer = infer,
    .eval = eval,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
