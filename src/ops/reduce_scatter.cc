// stablehlo.reduce_scatter: reduction over devices, each keeping its part.
#include "ops/collective_util.h"
#include "ops/region_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  TensorType t = op.operand()->type;
  check_groups(op, diag);
  const int64_t d = op.i64("scatter_dimension");
  if (d < 0 || d >= t.rank()) {
    diag.fail("C2", "scatter_dimension is " + std::to_string(d) + " for " + t.str());
  } else {
    const int64_t n = group_size(op);
    if (!diag.equal(mod(t.shape[d], n), 0))
      diag.fail("C1", "dimension " + std::to_string(d) + " of " + t.str() +
                          " does not divide into " + std::to_string(n) + " parts");
    t.shape[d] = floordiv(t.shape[d], n);
  }
  if (op.num_regions() != 1) {
    diag.fail("C7", "wanted one computation");
    return {t};
  }
  check_scalar_region(*op.region(), {std::nullopt, std::nullopt}, {std::nullopt}, "C7",
                      "computation", diag);
  if (diag.ok()) t.dtype = op.region()->results()[0]->type.dtype;
  return {t};
}

}  // namespace

extern const OpDef op_reduce_scatter;
const OpDef op_reduce_scatter = {
    .name = "stablehlo.reduce_scatter",
    .summary = "Reduces over the devices of a group, each keeping its part",
    .doc = "On one device: the operand, converted to the computation's type.",
    .kind = OpKind::Collective,
    .min_operands = 1,
    .max_operands = 1,
    .num_regions = 1,
    .attrs = collective_attrs({{"scatter_dimension", AttrKind::I64}}),
    .infer = infer,
    .eval = eval_identity,
    .emit = emit_identity,
    .constraints = {"C1", "C2", "C7"},
};

}  // namespace tenfold
