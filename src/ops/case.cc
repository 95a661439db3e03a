// stablehlo.case: runs one of several regions, chosen by an index.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& t = op.operand()->type;
  if (t.dtype != DType::I32 || t.rank() != 0) {
    diag.fail("index", "the index must be tensor<i32>, is " + t.str());
  }
  if (op.num_regions() == 0) {
    diag.fail("C1", "needs at least one branch");
    return {};
  }
  const auto types = region_result_types(*op.region(0));
  for (int r = 0; r < op.num_regions(); ++r) {
    if (!op.region(r)->args.empty()) diag.fail("C2", "its regions take no arguments");
    const auto other = region_result_types(*op.region(r));
    bool same = types.size() == other.size();
    for (size_t i = 0; same && i < types.size(); ++i) same = surely_same(types[i], other[i]);
    if (!same) {
      diag.fail("C3", "branch 0 gives " + type_list(types) + ", branch " + std::to_string(r) + " " +
                          type_list(other));
    }
  }
  return types;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  int64_t i = c.args[0].as_i64(0);
  const int64_t n = c.op->num_regions();
  if (i < 0 || i >= n) i = n - 1;
  return c.run_region(*c.op->region(static_cast<int>(i)), {});
}

}  // namespace

extern const OpDef op_case;
const OpDef op_case = {
    .name = "stablehlo.case",
    .summary = "Runs the region with the given index; the last one when the index is out of range.",
    .kind = OpKind::Region,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = -1,
    .num_regions = -1,
    .infer = infer,
    .eval = eval,
    .constraints = {"C1", "C2", "C3", "index"},
};

}  // namespace tenfold
