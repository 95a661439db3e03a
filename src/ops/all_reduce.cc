// stablehlo.all_reduce: reduction over devices.
#include "ops/collective_util.h"
#include "ops/region_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> out;
  for (const Value* v : op.operands()) out.push_back(v->type);
  check_groups(op, diag);
  if (op.num_regions() != 1 || out.empty()) {
    diag.fail("C5", "wanted operands and one computation");
    return out;
  }
  check_scalar_region(*op.region(), {std::nullopt, std::nullopt}, {std::nullopt}, "C5",
                      "computation", diag);
  if (!diag.ok()) return out;
  const DType t = op.region()->results()[0]->type.dtype;
  for (const auto& a : op.region()->args)
    if (a->type.dtype != t) diag.fail("C5", "computation must have one type throughout");
  for (TensorType& x : out) x.dtype = t;
  return out;
}

}  // namespace

extern const OpDef op_all_reduce;
const OpDef op_all_reduce = {
    .name = "stablehlo.all_reduce",
    .summary = "Reduces over the devices of a group",
    .doc = "On one device: the operands, converted to the computation's type.",
    .kind = OpKind::Collective,
    .min_operands = 1,
    .max_operands = -1,
    .num_results = -1,
    .num_regions = 1,
    .attrs = collective_attrs({}),
    .infer = infer,
    .eval = eval_identity,
    .emit = emit_identity,
    .constraints = {"C2", "C5"},
};

}  // namespace tenfold
