// stablehlo.while: repeats its second region while its first gives true.
#include "graph/check.h"
#include "graph/op_def.h"

namespace tenfold {
namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  std::vector<TensorType> types;
  for (Value* v : op.operands()) types.push_back(v->type);
  // With bound_symbols, dimensions may change from round to round: the regions' arguments have
  // symbols for them, and the results' types name what they end as.
  const bool binds = op.attr("bound_symbols") != nullptr;
  auto check = [&](const std::vector<TensorType>& have, const char* label, const char* what) {
    bool same = have.size() == types.size();
    for (size_t i = 0; same && i < types.size(); ++i) {
      same = binds ? have[i].dtype == types[i].dtype && have[i].rank() == types[i].rank()
                   : surely_same(have[i], types[i]);
    }
    if (!same) {
      diag.fail(label, std::string(what) + " " + type_list(have) + ", the loop carries " +
                           type_list(types));
    }
  };
  auto arg_types = [&](int r) {
    std::vector<TensorType> ts;
    for (auto& a : op.region(r)->args) ts.push_back(a->type);
    return ts;
  };
  const auto cond = region_result_types(*op.region(0));
  check(arg_types(0), "C1", "the condition takes");
  if (cond.size() != 1 || cond[0].dtype != DType::Bool || cond[0].rank() != 0) {
    diag.fail("C1", "the condition must give one tensor<i1>, gives " + type_list(cond));
  }
  check(arg_types(1), "C2", "the body takes");
  check(region_result_types(*op.region(1)), "C2", "the body gives");
  if (binds) {
    const Block& body = *op.region(1);
    for (size_t i = 0; i < types.size() && i < body.args.size(); ++i) {
      const Shape& inside = body.args[i]->type.shape;
      for (size_t k = 0; k < types[i].shape.size() && k < inside.size(); ++k) {
        if (!(inside[k] == types[i].shape[k])) types[i].shape[k] = Dim::symbol("any", 0);
      }
    }
  }
  return types;
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  std::vector<Literal> state = c.args;
  for (int64_t n = 0;; ++n) {
    TF_ASSIGN(auto go_on, c.run_region(*c.op->region(0), state));
    if (!go_on[0].as_i64(0)) return state;
    if (n >= c.max_while_iterations()) {
      return c.error("eval-iterations", "gave up after " + std::to_string(n) + " iterations");
    }
    TF_ASSIGN(state, c.run_region(*c.op->region(1), std::move(state)));
  }
}

}  // namespace

extern const OpDef op_while;
const OpDef op_while = {
    .name = "stablehlo.while",
    .summary = "Repeats the body while the condition holds.",
    .doc =
        "Region 0 is the condition, region 1 the body. Both take the loop's values; the body "
        "gives the next ones, of the same types.",
    .kind = OpKind::Region,
    .num_results = -1,
    .num_regions = 2,
    .attrs = {{"bound_symbols", AttrKind::Strs, false,
               "symbols that stand in the result types for sizes known after the last round"}},
    .infer = infer,
    .eval = eval,
    .constraints = {"C1", "C2"},
};

}  // namespace tenfold
