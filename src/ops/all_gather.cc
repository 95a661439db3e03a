// stablehlo.all_gather: concatenation over devices.
#include "ops/collective_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> out;
  check_groups(op, diag);
  const int64_t d = op.i64("all_gather_dim");
  for (const Value* v : op.operands()) {
    TensorType t = v->type;
    if (d < 0 || d >= t.rank())
      diag.fail("C1", "all_gather_dim is " + std::to_string(d) + " for " + t.str());
    else
      t.shape[d] = t.shape[d] * group_size(op);
    out.push_back(t);
  }
  return out;
}

}  // namespace

extern const OpDef op_all_gather;
const OpDef op_all_gather = {
    .name = "stablehlo.all_gather",
    .summary = "Concatenates over the devices of a group",
    .doc = "On one device: the operands.",
    .kind = OpKind::Collective,
    .min_operands = 1,
    .max_operands = -1,
    .num_results = -1,
    .attrs = collective_attrs({{"all_gather_dim", AttrKind::I64}}),
    .infer = infer,
    .eval = eval_identity,
    .emit = emit_identity,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
