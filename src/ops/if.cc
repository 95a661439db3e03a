// stablehlo.if: runs one of two regions.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType& p = op.operand()->type;
  if (p.dtype != DType::Bool || p.rank() != 0) {
    diag.fail("predicate", "the predicate must be tensor<i1>, is " + p.str());
  }
  for (int i = 0; i < 2; ++i) {
    if (!op.region(i)->args.empty()) diag.fail("C1", "its regions take no arguments");
  }
  const auto then_types = region_result_types(*op.region(0));
  const auto else_types = region_result_types(*op.region(1));
  bool same = then_types.size() == else_types.size();
  // With bound_symbols, dimensions may differ: the results' types name them anew.
  const bool binds = op.attr("bound_symbols") != nullptr;
  for (size_t i = 0; same && i < then_types.size(); ++i) {
    same = binds ? then_types[i].dtype == else_types[i].dtype &&
                       then_types[i].rank() == else_types[i].rank()
                 : surely_same(then_types[i], else_types[i]);
  }
  if (!same) {
    diag.fail("C2", "its branches give " + type_list(then_types) + " and " + type_list(else_types));
  }
  // Sizes that only one branch knows say nothing about the results.
  std::vector<TensorType> types = then_types;
  if (binds) {
    for (TensorType& t : types) {
      for (Dim& d : t.shape) {
        if (!d.is_const()) d = Dim::symbol("any", 0);
      }
    }
    for (size_t i = 0; same && i < types.size(); ++i) {
      for (size_t k = 0; k < types[i].shape.size(); ++k) {
        if (!(types[i].shape[k] == else_types[i].shape[k]))
          types[i].shape[k] = Dim::symbol("any", 0);
      }
    }
  }
  return types;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  return c.run_region(*c.op->region(c.args[0].as_i64(0) ? 0 : 1), {});
}

}  // namespace

extern const OpDef op_if;
const OpDef op_if = {
    .name = "stablehlo.if",
    .summary = "Runs the first region when the predicate holds, else the second.",
    .kind = OpKind::Region,
    .min_operands = 1,
    .max_operands = 1,
    .num_results = -1,
    .num_regions = 2,
    .attrs = {{"bound_symbols", AttrKind::Strs, false,
               "symbols that stand in the result types for sizes known after a branch has run"}},
    .infer = infer,
    .eval = eval,
    .constraints = {"C1", "C2", "predicate"},
};

}  // namespace tenfold
