// stablehlo.if: runs one of two regions.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& p = op.operand()->type;
  if (p.dtype != DType::Bool || p.rank() != 0) {
    diag.fail("predicate", "the predicate must be tensor<i1>, is " + p.str());
  }
  for (int i = 0; i < 2; ++i) {
    if (!op.region(i)->args.empty()) diag.fail("C1", "its regions take no arguments");
  }
  const auto then_types = region_result_types(*op.region(0));
  const auto else_types = region_result_types(*op.region(1));
  bool same = then_types.size() == else_types.size();
  for (size_t i = 0; same && i < then_types.size(); ++i) {
    same = surely_same(then_types[i], else_types[i]);
  }
  if (!same) {
    diag.fail("C2", "its branches give " + type_list(then_types) + " and " + type_list(else_types));
  }
  return then_types;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  return c.run_region(*c.op->region(c.args[0].as_i64(0) ? 0 : 1), {});
}

}  // namespace

extern const OpDef op_if;
const OpDef op_if = {
    .name = "stablehlo.if",
    .summary = "Runs the first region when the predicate holds, else the second.",
    .kind = OpKind::Region,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = -1,
    .num_regions = 2,
    .infer = infer,
    .eval = eval,
    .constraints = {"C1", "C2", "predicate"},
};

}  // namespace tenfold
