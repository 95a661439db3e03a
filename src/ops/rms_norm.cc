// tenfold.rms_norm
#include "ops/_row.h"

namespace tenfold {

extern const OpDef op_rms_norm;
const OpDef op_rms_norm = {
    .name = "tenfold.rms_norm",
    .summary = "x / sqrt(mean(x^2) + epsilon) * scale over trailing dimensions.",
    .doc =
        "Operands x and scale; axis is the first normalized dimension. Computed in f32 (f64 "
        "for f64).",
    .kind = OpKind::Opaque,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"axis", AttrKind::I64}, {"epsilon", AttrKind::F64}},
    .infer = ops::infer_norm,
    .eval = [](EvalContext& ctx) { return ops::eval_norm(ctx, false); },
    .emit = [](EmitContext& ctx) { return ops::emit_norm(ctx, false); },
    .constraints = {"I1", "axis", "types", "shapes"},
};

}  // namespace tenfold
