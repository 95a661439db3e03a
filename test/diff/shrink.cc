// Graphs made from graphs: arguments as constants, and smaller ones that still fail.
#include <chrono>

#include "graph/builder.h"
#include "graph/evaluator.h"
#include "graph/text.h"
#include "random_graph.h"

namespace tenfold::testing {
namespace {

RandomGraph copy(const RandomGraph& g) { return {g.module->clone(), g.args, g.symbolic}; }

// Without ops and arguments that nothing reads.
void prune(RandomGraph& g) {
  Block& body = g.module->main()->body;
  bool again = true;
  while (again) {
    again = false;
    for (auto it = body.ops.end(); it != body.ops.begin();) {
      Op* op = (--it)->get();
      bool used = op == body.terminator();
      for (int i = 0; i < op->num_results(); ++i) used |= op->result(i)->has_users();
      if (used) continue;
      ++it;
      body.erase(op);
      again = true;
    }
  }
  for (size_t i = body.args.size(); i-- > 0;) {
    // An argument may bind a symbol; those stay.
    if (body.args[i]->has_users() || !body.args[i]->type.is_static()) continue;
    // Indices are fixed, so only trailing arguments can go.
    if (i + 1 != body.args.size()) continue;
    body.args.pop_back();
    g.args.pop_back();
  }
}

Op* nth(Module& m, size_t i) {
  for (auto& op : m.main()->body.ops) {
    if (i-- == 0) return op.get();
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Module> fold_arguments(const Module& m, const std::vector<Literal>& args,
                                       uint64_t which) {
  std::unique_ptr<Module> r = m.clone();
  Block& body = r->main()->body;
  GraphBuilder b(r.get(), &body);
  b.set_insertion(&body, body.ops.front().get());
  for (size_t i = 0; i < args.size(); ++i) {
    if (!(which >> (i % 64) & 1) || !body.args[i]->type.is_static()) continue;
    body.args[i]->replace_all_uses_with(b.constant(args[i]));
  }
  return r;
}

RandomGraph shrink(const RandomGraph& g, const std::function<bool(const RandomGraph&)>& fails,
                   double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  RandomGraph best = copy(g);
  const auto attempt = [&](RandomGraph candidate) {
    prune(candidate);
    if (!verify(*candidate.module).ok() || !fails(candidate)) return false;
    best = std::move(candidate);
    return true;
  };
  const auto in_time = [&] { return Clock::now() < end; };
  // One result.
  const size_t results = best.module->main()->body.results().size();
  for (size_t i = 0; i < results && results > 1 && in_time(); ++i) {
    RandomGraph c = copy(best);
    Function* f = c.module->main();
    f->body.terminator()->set_operands({f->body.results()[i]});
    f->result_names.assign(1, "r");
    if (attempt(std::move(c))) break;
  }
  // Values as arguments, the last ones first: what computes them falls away.
  bool progress = true;
  while (progress && in_time()) {
    progress = false;
    for (size_t i = best.module->main()->body.ops.size(); i-- > 0 && in_time();) {
      RandomGraph c = copy(best);
      Block& body = c.module->main()->body;
      Op* op = nth(*c.module, i);
      if (!op || op == body.terminator() || op->is("stablehlo.constant")) continue;
      std::unordered_map<const Value*, Literal> values;
      EvalOptions options;
      options.observe = [&](const Value& v, const Literal& l) { values[&v] = l; };
      if (!evaluate(*c.module, *c.module->main(), c.args, options).ok()) return best;
      bool cut = false, open = false;
      for (int r = 0; r < op->num_results(); ++r) {
        Value* v = op->result(r);
        if (!v->has_users()) continue;
        for (const Dim& d : v->type.shape) open |= !d.is_const() && !d.as_symbol();
        Value* a = body.add_arg(v->type, "c" + std::to_string(c.args.size()));
        c.args.push_back(values.at(v));
        v->replace_all_uses_with(a);
        cut = true;
      }
      if (cut && !open && attempt(std::move(c))) progress = true;
    }
  }
  return best;
}

}  // namespace tenfold::testing
