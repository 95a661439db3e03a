// stablehlo.custom_call: a computation known by name only.
#include <algorithm>
#include <array>

#include "graph/op_def.h"

namespace tenfold {
namespace {

// Annotations: on one device, and for values alone, they are their operands.
constexpr std::array kIdentities = {
    std::string_view("Sharding"), std::string_view("LayoutConstraint"),
    std::string_view("SPMDFullToShardShape"), std::string_view("SPMDShardToFullShape"),
    std::string_view("annotate_device_placement")};

bool is_identity(const Op& op) {
  const std::string& target = op.str("call_target_name");
  return std::find(kIdentities.begin(), kIdentities.end(), target) != kIdentities.end();
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> types;
  for (int i = 0; i < op.num_results(); ++i) types.push_back(op.result(i)->type);
  if (is_identity(op)) {
    bool same = op.num_operands() == op.num_results();
    for (int i = 0; same && i < op.num_results(); ++i) same = op.operand(i)->type == types[i];
    if (!same) {
      diag.fail("identity", "@" + op.str("call_target_name") +
                                " must give its operands' types; several devices are not taken");
    }
  }
  return types;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  if (is_identity(*c.op)) return c.args;
  return c.error("unknown-custom-call",
                 "no implementation of @" + c.op->str("call_target_name") + " is known");
}

}  // namespace

extern const OpDef op_custom_call;
const OpDef op_custom_call = {
    .name = "stablehlo.custom_call",
    .summary = "A computation known by name only.",
    .doc =
        "Annotations such as @Sharding are their operands; any other target is refused when it "
        "is evaluated or compiled.",
    .kind = OpKind::Region,
    .num_results = -1,
    .attrs = {{"call_target_name", AttrKind::Str, true, "the computation's name"},
              {"has_side_effect", AttrKind::Bool, false},
              {"backend_config", AttrKind::Str, false, "opaque text for the target"},
              {"backend_config_dict", AttrKind::Dict, false, "the same as a dictionary"},
              {"api_version", AttrKind::I64, false},
              {"called_computations", AttrKind::Strs, false, "functions the target may call"},
              {"operand_layouts", AttrKind::Str, false, "MLIR text, kept as it is"},
              {"result_layouts", AttrKind::Str, false, "MLIR text, kept as it is"},
              {"error_message", AttrKind::Str, false, "of @shape_assertion"},
              {"output_operand_aliases", AttrKind::Str, false, "MLIR text, kept as it is"}},
    .infer = infer,
    .explicit_results = true,
    .eval = eval,
    .constraints = {"identity"},
};

}  // namespace tenfold
