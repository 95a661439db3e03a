// stablehlo.dot_general
#include "ops/_dot.h"

namespace tenfold {
namespace {

ops::DotDims dims(const Op& op) {
  return {op.i64s("lhs_batching_dimensions"), op.i64s("rhs_batching_dimensions"),
          op.i64s("lhs_contracting_dimensions"), op.i64s("rhs_contracting_dimensions")};
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  if (const Attr* p = op.attr("precision_config")) {
    const auto& config = p->as<std::vector<std::string>>();
    if (!config.empty()) {
      ops::check_size(diag, "C11", "precision_config", static_cast<int64_t>(config.size()), 2);
    }
    for (const std::string& c : config) {
      if (c != "DEFAULT" && c != "HIGH" && c != "HIGHEST") {
        diag.fail("I7", "precision_config holds " + c + ", wanted DEFAULT, HIGH or HIGHEST");
      }
    }
  }
  return ops::infer_dot(op, diag, dims(op));
}

}  // namespace

extern const OpDef op_dot_general;
const OpDef op_dot_general = {
    .name = "stablehlo.dot_general",
    .summary = "Sums of products over contracting dimensions, for each index of batching ones.",
    .doc =
        "The result's dimensions are the batching ones, those left of lhs, those left of rhs. "
        "Floats narrower than f32 are summed in f32 and rounded once; integers wrap in the "
        "result's type. precision_config is checked and has no effect: products are exact to "
        "f32 in any case.",
    .kind = OpKind::Contraction,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"lhs_batching_dimensions", AttrKind::I64s},
              {"rhs_batching_dimensions", AttrKind::I64s},
              {"lhs_contracting_dimensions", AttrKind::I64s},
              {"rhs_contracting_dimensions", AttrKind::I64s},
              {"precision_config", AttrKind::Strs, false}},
    .infer = infer,
    .explicit_results = true,
    .eval = [](EvalContext& ctx) { return ops::eval_dot(ctx, dims(*ctx.op)); },
    .emit = [](EmitContext& ctx) { return ops::emit_dot(ctx, dims(*ctx.op)); },
    .constraints = {"C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9", "C10", "C11", "C12",
                    "C13", "I7", "O1"},
};

}  // namespace tenfold
