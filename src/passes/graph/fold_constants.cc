// Evaluates ops whose operands are all constants, while the result stays within a budget and is not
// much larger than what it replaces. The evaluator gives the same bits as running the op would, for
// integers and elementwise chains; contractions stay within the rules for numbers.
#include "graph/evaluator.h"
#include "passes/rewrite.h"

namespace tenfold {
namespace {

// What only spreads its operand is cheaper left as an op, unless the result is this small, or one
// value throughout and of a size that costs nothing.
constexpr size_t kAlwaysFoldBytes = 256;
constexpr size_t kFoldSplatBytes = size_t{64} << 10;

bool foldable(const Op& op) {
  if (op.num_results() == 0 || has_side_effect(op) || op.is("stablehlo.constant")) return false;
  if (op.def->kind == OpKind::Collective || op.is("stablehlo.rng")) return false;
  if (op.def->kind == OpKind::Region && !op.is("stablehlo.optimization_barrier")) return false;
  if (op.is("stablehlo.optimization_barrier") || op.is("stablehlo.custom_call")) return false;
  if (!op.def->eval) return false;
  for (int i = 0; i < op.num_results(); ++i)
    if (!op.result(i)->type.is_static()) return false;
  for (int i = 0; i < op.num_operands(); ++i)
    if (!constant_of(op.operand(i))) return false;
  for (int r = 0; r < op.num_regions(); ++r) {
    bool captures = false;
    walk(*op.region(r), [&](const Op* o) {
      for (const Value* v : o->operands())
        captures |= v->def() ? v->def()->parent() == op.parent() : v->block() == op.parent();
    });
    if (captures) return false;
  }
  return true;
}

// The op alone in a function of its own.
Result<std::vector<Literal>> evaluate_alone(const Module& m, const Op& op) {
  Module alone;
  alone.source = m.source;
  Function* f = alone.add_function("main", true);
  std::unordered_map<const Value*, Value*> map;
  std::vector<Literal> args;
  for (const Value* v : op.operands())
    if (!map.count(v)) {
      map[v] = f->body.add_arg(v->type);
      args.push_back(*constant_of(v));
    }
  Op* copy = f->body.append(clone_op(op, map));
  GraphBuilder b(&alone, &f->body);
  std::vector<Value*> results;
  for (int i = 0; i < copy->num_results(); ++i) results.push_back(copy->result(i));
  b.return_(results);
  return evaluate(alone, *f, args);
}

Result<bool> run(Module& m, PassContext& context) {
  bool changed = false;
  int64_t budget = context.folding_budget_bytes;
  for_each_op(m, [&](Op* op) {
    if (op->parent()->parent_op() && op->parent()->parent_op()->def->kind != OpKind::Region) return;
    if (!foldable(*op)) return;
    size_t in = 0, out = 0;
    for (const Value* v : op->operands()) in += constant_of(v)->byte_count();
    for (int i = 0; i < op->num_results(); ++i) {
      const TensorType& t = op->result(i)->type;
      Dim n = t.num_elements();
      out += static_cast<size_t>(n.value()) * static_cast<size_t>(byte_size(t.dtype));
    }
    bool splat = op->num_operands() > 0 && constant_of(op->operand())->size() > 0 &&
                 constant_of(op->operand())->is_splat();
    if (out > (splat ? kFoldSplatBytes : kAlwaysFoldBytes) && out > 2 * in) return;
    if (static_cast<int64_t>(out) > budget) {
      context.remarks.push_back(op->loc.text + ": not folded, " + std::to_string(out) +
                                " bytes exceed what is left of the folding budget");
      return;
    }
    auto values = evaluate_alone(m, *op);
    if (!values.ok()) return;  // the run-time op will report it
    budget -= static_cast<int64_t>(out);
    GraphBuilder b = builder_at(m, op);
    std::vector<Value*> constants;
    for (auto& l : *values) constants.push_back(b.constant(std::move(l)));
    replace_op(op, constants);
    changed = true;
  });
  return changed;
}

}  // namespace

extern const GraphPass pass_fold_constants;
const GraphPass pass_fold_constants = {
    .name = "fold_constants",
    .summary = "Ops on constants become constants, under a budget.",
    .run = run,
};

}  // namespace tenfold
