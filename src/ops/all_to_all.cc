// stablehlo.all_to_all: every device sends a part to every device.
#include "ops/collective_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> out;
  check_groups(op, diag);
  const int64_t split = op.i64("split_dimension"), concat = op.i64("concat_dimension");
  const int64_t n = op.i64("split_count");
  if (n < 1) diag.fail("C4", "split_count is " + std::to_string(n) + ", wanted at least 1");
  if (op.attr("replica_groups") && n != group_size(op))
    diag.fail("C8", "split_count is " + std::to_string(n) + ", the groups have " +
                        std::to_string(group_size(op)) + " devices");
  for (const Value* v : op.operands()) {
    TensorType t = v->type;
    if (split < 0 || split >= t.rank())
      diag.fail("C1", "split_dimension is " + std::to_string(split) + " for " + t.str());
    else if (concat < 0 || concat >= t.rank())
      diag.fail("C3", "concat_dimension is " + std::to_string(concat) + " for " + t.str());
    else if (n >= 1 && !diag.equal(mod(t.shape[split], n), 0))
      diag.fail("C2", "dimension " + std::to_string(split) + " of " + t.str() +
                          " does not divide into " + std::to_string(n) + " parts");
    else if (n >= 1 && split != concat) {
      t.shape[split] = floordiv(t.shape[split], n);
      t.shape[concat] = t.shape[concat] * n;
    }
    out.push_back(t);
  }
  return out;
}

}  // namespace

extern const OpDef op_all_to_all;
const OpDef op_all_to_all = {
    .name = "stablehlo.all_to_all",
    .summary = "Every device of a group sends a part to every other",
    .doc = "On one device: the operands.",
    .kind = OpKind::Collective,
    .min_operands = 1,
    .max_operands = -1,
    .num_results = -1,
    .attrs = collective_attrs({{"split_dimension", AttrKind::I64},
                               {"concat_dimension", AttrKind::I64},
                               {"split_count", AttrKind::I64}}),
    .infer = infer,
    .eval = eval_identity,
    .emit = emit_identity,
    .constraints = {"C1", "C2", "C3", "C4", "C8"},
};

}  // namespace tenfold
