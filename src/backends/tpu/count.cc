// See count.h.
#include "backends/tpu/count.h"

#include <functional>
#include <memory>
#include <vector>

#include "graph/evaluator.h"
#include "graph/op_def.h"

namespace tenfold::tpu {

namespace {

using GraphOp = tenfold::Op;
constexpr int64_t kMostRounds = 1 << 20;

// Ops of `block` that `v` needs, in order of need; the block's arguments it needs go to `args`.
// False: it needs something from outside that is no constant, or an op with regions.
bool slice_of(const Value* v, const Block& block, std::unordered_set<const GraphOp*>& ops,
              std::unordered_set<const Value*>& args) {
  const GraphOp* d = v->def();
  if (!d) {
    if (v->block() != &block) return false;
    args.insert(v);
    return true;
  }
  if (d->is("stablehlo.constant")) return true;
  if (d->parent() != &block || d->num_regions()) return false;
  if (!ops.insert(d).second) return true;
  for (const Value* o : d->operands())
    if (!slice_of(o, block, ops, args)) return false;
  return true;
}

// `v` of `block` as a function of one argument.
void build(Function* f, const Block& block, const Value* arg, const Value* v,
           const std::unordered_set<const GraphOp*>& ops, std::vector<Value*>& results) {
  std::unordered_map<const Value*, Value*> map;
  map[arg] = f->body.args[0].get();
  std::unordered_set<const GraphOp*> constants;
  auto bring = [&](const Value* o) {
    const GraphOp* d = o->def();
    if (d && d->is("stablehlo.constant") && constants.insert(d).second)
      map[o] = f->body.append(clone_op(*d, map))->result();
  };
  for (auto& op : block.ops) {
    if (!ops.count(op.get())) continue;
    for (const Value* o : op->operands()) bring(o);
    GraphOp* c = f->body.append(clone_op(*op, map));
    for (int i = 0; i < op->num_results(); ++i) map[op->result(i)] = c->result(i);
  }
  bring(v);
  results.push_back(map.at(v));
}

const Literal* constant_of(const Value* v) {
  const GraphOp* d = v->def();
  return d && d->is("stablehlo.constant") ? &d->lit("value") : nullptr;
}

}  // namespace

std::optional<CountedLoop> count_rounds(const Module& m, const GraphOp& loop) {
  const Block &cond = *loop.region(0), &body = *loop.region(1);
  std::unordered_set<const GraphOp*> cond_ops, body_ops;
  std::unordered_set<const Value*> cond_args, body_args;
  if (cond.results().size() != 1 || !slice_of(cond.results()[0], cond, cond_ops, cond_args) ||
      cond_args.size() != 1)
    return std::nullopt;
  CountedLoop r;
  r.counter = (*cond_args.begin())->index();
  const Value* arg = body.args[static_cast<size_t>(r.counter)].get();
  const Value* next = body.results()[static_cast<size_t>(r.counter)];
  const Literal* first = constant_of(loop.operand(r.counter));
  if (!first || !slice_of(next, body, body_ops, body_args) || body_args.size() != 1 ||
      *body_args.begin() != arg)
    return std::nullopt;

  auto scratch = std::make_unique<Module>();
  scratch->source = m.source;
  Function* f = scratch->add_function("main", true);
  f->body.add_arg(arg->type, "counter");
  std::vector<Value*> results;
  build(f, cond, cond.args[static_cast<size_t>(r.counter)].get(), cond.results()[0], cond_ops,
        results);
  build(f, body, arg, next, body_ops, results);
  auto ret = std::make_unique<GraphOp>();
  ret->def = find_op("func.return");
  ret->set_operands(results);
  f->body.append(std::move(ret));
  Literal value = *first;
  for (; r.rounds <= kMostRounds; ++r.rounds) {
    auto out = evaluate(*scratch, *f, {value});
    if (!out.ok()) return std::nullopt;
    if (!(*out)[0].as_i64(0)) break;
    const int64_t by = (*out)[1].as_i64(0) - value.as_i64(0);
    if (r.rounds == 0 && is_integer(value.dtype()) && by == static_cast<int32_t>(by))
      r.step = static_cast<int32_t>(by);
    else if (r.step && (by != *r.step || value.as_i64(0) != static_cast<int32_t>(value.as_i64(0))))
      r.step.reset();
    value = (*out)[1];
  }
  if (r.rounds > kMostRounds) return std::nullopt;
  r.last = value;
  // A counter whose next value something else reads is a value like any other.
  const GraphOp* maker = next->def();
  for (const GraphOp* u : next->users())
    if (!maker || u->def->kind != OpKind::Terminator) r.step.reset();
  for (const GraphOp* u : arg->users()) r.counter_used |= !body_ops.count(u);
  for (const GraphOp* op : body_ops) {
    bool only = true;
    for (int i = 0; i < op->num_results(); ++i)
      for (const GraphOp* u : op->result(i)->users())
        only &= body_ops.count(u) || u->def->kind == OpKind::Terminator;
    if (only) r.only_counter.insert(op);
  }
  if (r.counter_used && !r.step) r.only_counter.clear();
  if (r.rounds == 0) return std::nullopt;  // nothing runs: the host passes the values on
  return r;
}

}  // namespace tenfold::tpu
