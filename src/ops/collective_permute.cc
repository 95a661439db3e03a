// stablehlo.collective_permute: sends values from device to device.
#include "ops/collective_util.h"

namespace tenfold {

namespace {

// Where device 0 gets its value from; -1: from nowhere, which gives zeros.
int64_t source_of_device_0(const Op& op) {
  const Literal& pairs = op.lit("source_target_pairs");
  for (int64_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs.as_i64(i + 1) == 0) return pairs.as_i64(i);
  return -1;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> out;
  for (const Value* v : op.operands()) out.push_back(v->type);
  const Literal& pairs = op.lit("source_target_pairs");
  if (pairs.size() > 0 &&
      (pairs.rank() != 2 || pairs.dims()[1] != 2 || !is_integer(pairs.dtype()))) {
    diag.fail("C1", "source_target_pairs is " + pairs.type().str() + ", wanted pairs of integers");
    return out;
  }
  std::vector<int64_t> sources, targets;
  for (int64_t i = 0; i + 1 < pairs.size(); i += 2) {
    sources.push_back(pairs.as_i64(i));
    targets.push_back(pairs.as_i64(i + 1));
  }
  if (!is_unique(sources)) diag.fail("C2", "a device sends twice");
  if (!is_unique(targets)) diag.fail("C3", "a device receives twice");
  return out;
}

Status check(const Op& op) {
  if (source_of_device_0(op) <= 0) return ok_status();
  return Error{"collective-devices",
               "stablehlo.collective_permute receives from device " +
                   std::to_string(source_of_device_0(op)) +
                   "; programs run on one device, so export the model for one",
               op.loc,
               {}};
}

}  // namespace

extern const OpDef op_collective_permute;
const OpDef op_collective_permute = {
    .name = "stablehlo.collective_permute",
    .summary = "Sends values from device to device",
    .doc = "On one device: the operands where the device sends to itself, else zeros.",
    .kind = OpKind::Collective,
    .min_operands = 1,
    .max_operands = -1,
    .num_results = -1,
    .attrs = {{"source_target_pairs", AttrKind::Lit, true, "[pairs, 2] of device ids"},
              {"channel_handle", AttrKind::Dict, false, "handle and type; kept"}},
    .infer = infer,
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> {
      TF_TRY(check(*c.op));
      if (source_of_device_0(*c.op) == 0) return c.args;
      std::vector<Literal> out;
      for (const Literal& a : c.args) out.emplace_back(a.dtype(), a.dims());
      return out;
    },
    .emit = [](EmitContext& c) -> Status {
      TF_TRY(check(*c.op));
      return source_of_device_0(*c.op) == 0 ? emit_identity(c) : emit_zeros(c);
    },
    .constraints = {"C1", "C2", "C3"},
};

}  // namespace tenfold
