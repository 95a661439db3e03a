// tenfold.layer_norm
#include "ops/_row.h"

namespace tenfold {

extern const OpDef op_layer_norm;
const OpDef op_layer_norm = {
    .name = "tenfold.layer_norm",
    .summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias over trailing dimensions.",
    .doc =
        "Operands x, scale and optionally bias; axis is the first normalized dimension. "
        "Computed in f32 (f64 for f64) in two passes, so that a large mean does no harm.",
    .kind = OpKind::Opaque,
    .min_operands = 2,
    .max_operands = 3,
    .attrs = {{"axis", AttrKind::I64}, {"epsilon", AttrKind::F64}},
    .infer = ops::infer_norm,
    .eval = [](EvalContext& ctx) { return ops::eval_norm(ctx, true); },
    .emit = [](EmitContext& ctx) { return ops::emit_norm(ctx, true); },
    .constraints = {"I1", "axis", "types", "shapes"},
};

}  // namespace tenfold
