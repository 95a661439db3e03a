// stablehlo.dynamic_broadcast_in_dim
#include "ops/_broadcast.h"
#include "ops/_dynamic.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  auto types = ops::shaped_result(op, 1, diag, "C7");
  ops::check_dtypes(diag, "C1", "operand and result", ops::type(op, 0).dtype, types[0].dtype);
  ops::check_broadcast(op, diag, types[0].shape);
  std::vector<int64_t> known;
  const auto take = [&](std::string_view attr, std::string_view label) {
    if (!op.attr(attr)) return;
    ops::check_range(diag, label, attr, op.i64s(attr), ops::type(op, 0).rank());
    known.insert(known.end(), op.i64s(attr).begin(), op.i64s(attr).end());
  };
  take("known_expanding_dimensions", "C9");
  take("known_nonexpanding_dimensions", "C10");
  ops::check_unique(diag, "C8", "known_expanding_dimensions + known_nonexpanding_dimensions",
                    known);
  return types;
}

}  // namespace

extern const OpDef op_dynamic_broadcast_in_dim;
const OpDef op_dynamic_broadcast_in_dim = {
    .name = "stablehlo.dynamic_broadcast_in_dim",
    .summary = "broadcast_in_dim to a shape given by an operand.",
    .kind = OpKind::View,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"broadcast_dimensions", AttrKind::I64s},
              {"known_expanding_dimensions", AttrKind::I64s, false},
              {"known_nonexpanding_dimensions", AttrKind::I64s, false}},
    .infer = infer,
    .explicit_results = true,
    .eval = [](EvalContext& ctx) -> Result<std::vector<Literal>> {
      TF_ASSIGN(auto dims, ops::shaped_result(ctx, 1));
      return ops::eval_broadcast(ctx, std::move(dims));
    },
    .element = ops::element_broadcast,
    .constraints = {"C1", "C2", "C3", "C4", "C5", "C7", "C8", "C9", "C10", "dynamic"},
};

}  // namespace tenfold
