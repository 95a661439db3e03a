// See loop_util.h.
#include "frontends/onnx/ops/loop_util.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace tenfold::onnx {

std::vector<std::string> symbols_bound_in(const Block& block) {
  std::set<std::string> names;
  const auto add_args = [&](const Block& b) {
    for (const auto& a : b.args) {
      for (const Dim& d : a->type.shape) {
        if (SymbolRef s = d.as_symbol()) names.insert(s->name);
      }
    }
  };
  add_args(block);
  walk(block, [&](const Op* op) {
    if (op->is("tenfold.bind_symbol")) names.insert(op->str("symbol"));
    if (const Attr* a = op->attr("bound_symbols")) {
      for (const auto& s : a->as<std::vector<std::string>>()) names.insert(s);
    }
    for (int i = 0; i < op->num_regions(); ++i) add_args(*op->region(i));
  });
  return {names.begin(), names.end()};
}

bool mentions(const Dim& d, const std::vector<std::string>& symbols) {
  if (d.is_const() || symbols.empty()) return false;
  std::vector<SymbolRef> used;
  d.collect_symbols(used);
  return std::any_of(used.begin(), used.end(), [&](const SymbolRef& s) {
    return std::find(symbols.begin(), symbols.end(), s->name) != symbols.end();
  });
}

Value* element_at(GraphBuilder& b, Value* x, Value* at, int64_t axis) {
  std::vector<Value*> operands = {x};
  Shape sizes = x->type.shape, out;
  Value* zero = b.constant_i(DType::I64, 0);
  for (int64_t i = 0; i < x->type.rank(); ++i) {
    operands.push_back(i == axis ? at : zero);
    if (i != axis) out.push_back(sizes[static_cast<size_t>(i)]);
  }
  sizes[static_cast<size_t>(axis)] = Dim(1);
  Value* v =
      b.create("stablehlo.dynamic_slice", operands, {{"slice_sizes", Attr{sizes}}})->result();
  return b.reshape(v, out);
}

Value* put_row(GraphBuilder& b, Value* buffer, Value* item, Value* at) {
  Shape row = item->type.shape;
  row.insert(row.begin(), Dim(1));
  std::vector<Value*> operands = {buffer, b.reshape(item, row), at};
  Value* zero = b.constant_i(DType::I64, 0);
  for (int i = 1; i < buffer->type.rank(); ++i) operands.push_back(zero);
  return b.create("stablehlo.dynamic_update_slice", operands)->result();
}

namespace {

// One attempt at the loop with given types of the carried values inside.
struct Attempt {
  Op* op = nullptr;
  Block* body = nullptr;
  Value* round = nullptr;
  Value* condition = nullptr;
  std::vector<Value*> args;
  LoopSpec::Step step;
};

// A dimension of the body's argument that the body does not keep.
bool widen(NodeContext& n, const Attempt& a, std::vector<TensorType>& types,
           std::vector<std::vector<bool>>& varies) {
  const auto inner = symbols_bound_in(*a.body);
  bool changed = false;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType& t = a.step.carried[i]->type;
    if (t.dtype != types[i].dtype) {
      n.invalid(fmt::format("carried value {} begins as {} and goes on as {}", i, types[i].str(),
                            t.str()));
    }
    if (t.rank() != types[i].rank()) {
      n.fail(fmt::format("carried value {} changes its rank: {}, then {}", i, types[i].str(),
                         t.str()));
    }
    for (size_t k = 0; k < t.shape.size(); ++k) {
      if (varies[i][k]) continue;
      if (equal(t.shape[k], types[i].shape[k]) == Truth::Yes) continue;
      varies[i][k] = true;
      changed = true;
    }
  }
  return changed;
}

}  // namespace

LoopResult build_loop(NodeContext& n, const LoopSpec& spec) {
  GraphBuilder& b = n.b;
  const Location loc = b.loc;
  const auto origins = b.origins;
  const size_t count = spec.carried.size();
  std::vector<TensorType> initial;
  std::vector<std::vector<bool>> varies;
  for (Value* v : spec.carried) {
    initial.push_back(v->type);
    varies.emplace_back(v->type.shape.size(), false);
  }
  const auto stamp = [&](GraphBuilder& g) {
    g.loc = loc;
    g.origins = origins;
  };
  const TensorType i64{DType::I64, {}}, i1{DType::Bool, {}};
  // Types inside: what varies gets a symbol of its own each time.
  const auto inside_types = [&] {
    std::vector<TensorType> types = initial;
    for (size_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < types[i].shape.size(); ++k) {
        if (varies[i][k]) types[i].shape[k] = Dim::symbol(n.fresh_symbol("carried"));
      }
    }
    return types;
  };

  Attempt a;
  for (;;) {
    std::vector<TensorType> types = inside_types();
    a = {};
    a.op = b.create_open("stablehlo.while", {});
    Block* condition = a.op->add_region();
    (void)condition;
    a.body = a.op->add_region();
    GraphBuilder body(b.module(), a.body);
    stamp(body);
    a.round = a.body->add_arg(i64, "round");
    a.condition = a.body->add_arg(i1, "condition");
    for (size_t i = 0; i < count; ++i) {
      a.args.push_back(a.body->add_arg(types[i], spec.carried[i]->name));
    }
    a.step = spec.body(body, a.round, a.condition, a.args);
    b.errors.insert(b.errors.end(), body.errors.begin(), body.errors.end());
    if (!widen(n, a, types, varies)) break;
    b.block()->erase(a.op);
    n.forget_values();
  }
  GraphBuilder body(b.module(), a.body);
  stamp(body);

  // Whether the condition can ever end the loop.
  const auto surely_true = [&](Value* v) {
    if (!v || v == a.condition) return true;
    const auto c = n.constant(v);
    return c && c->size() == 1 && c->as_i64(0) != 0;
  };
  const bool counted =
      spec.max_rounds && spec.trip && surely_true(spec.condition) && surely_true(a.step.condition);
  if (!spec.trip && surely_true(spec.condition) && surely_true(a.step.condition)) {
    n.invalid("the loop has neither a trip count nor a condition that ends it");
  }

  // Stacked results: a buffer for the largest number of rounds, or, where that or the size of a
  // row is not known before, one that grows.
  const auto inner = symbols_bound_in(*a.body);
  // (No round writes into a buffer without rows, but the text of one would not hold.)
  const bool bounded = spec.max_rounds && equal(*spec.max_rounds, Dim(0)) != Truth::Yes;
  struct Stack {
    bool grows = false;
    TensorType outside, inside;
    std::vector<bool> varies;
  };
  std::vector<Stack> stacks;
  for (Value* v : a.step.stacked) {
    Stack k;
    k.grows = !bounded;
    k.varies.push_back(true);
    for (const Dim& d : v->type.shape) {
      k.varies.push_back(mentions(d, inner));
      k.grows |= k.varies.back();
    }
    Shape s = v->type.shape;
    s.insert(s.begin(), k.grows ? Dim(0) : *spec.max_rounds);
    k.outside = k.inside = {v->type.dtype, s};
    for (size_t i = 0; k.grows && i < s.size(); ++i) {
      if (!k.varies[i]) continue;
      k.outside.shape[i] = Dim(0);
      k.inside.shape[i] = Dim::symbol(n.fresh_symbol("rows"));
    }
    stacks.push_back(k);
  }
  std::vector<Value*> next = {add(body, a.round, 1)};
  Value* go_on =
      a.step.condition ? body.reshape(a.step.condition, {}) : body.constant_i(DType::Bool, 1);
  next.push_back(go_on);
  next.insert(next.end(), a.step.carried.begin(), a.step.carried.end());
  for (size_t i = 0; i < stacks.size(); ++i) {
    const Stack& k = stacks[i];
    Value* buffer = a.body->add_arg(k.inside);
    Value* item = a.step.stacked[i];
    const bool reversed = i < spec.reversed.size() && spec.reversed[i];
    if (!k.grows) {
      Value* at = a.round;
      if (reversed) {
        at = sub(body, body.dim_scalar(*spec.max_rounds - Dim(1)), a.round);
      }
      next.push_back(put_row(body, buffer, item, at));
      continue;
    }
    // Before the first round the buffer has no rows, and its rows no size yet.
    Shape row = item->type.shape;
    row.insert(row.begin(), Dim(1));
    Shape none(row.size(), Dim(0)), missing = none;
    bool pads = false;
    for (size_t d = 1; d < row.size(); ++d) {
      if (!k.varies[d]) continue;
      missing[d] = row[d] - k.inside.shape[d];
      pads = true;
    }
    if (pads) {
      buffer = body.pad(buffer, body.constant(item->type.dtype, 0), none, missing,
                        std::vector<int64_t>(row.size(), 0));
    }
    std::vector<Value*> parts = {buffer, body.reshape(item, row)};
    if (reversed) std::swap(parts[0], parts[1]);
    next.push_back(body.concatenate(parts, 0));
  }
  body.return_(next);

  // What goes in stands before the loop.
  b.set_insertion(b.block(), a.op);
  std::vector<Value*> init = {b.constant_i(DType::I64, 0), spec.condition
                                                               ? b.reshape(spec.condition, {})
                                                               : b.constant_i(DType::Bool, 1)};
  init.insert(init.end(), spec.carried.begin(), spec.carried.end());
  for (const Stack& k : stacks) init.push_back(b.splat(k.outside, 0));
  b.set_insertion(b.block());
  a.op->set_operands(init);

  // The condition: round < trip and the body's word. Its arguments have symbols of their own.
  GraphBuilder cond(b.module(), a.op->region(0));
  stamp(cond);
  Value* round = a.op->region(0)->add_arg(i64);
  Value* said = a.op->region(0)->add_arg(i1);
  for (const TensorType& t : inside_types()) a.op->region(0)->add_arg(t);
  const auto fresh_rows = [&](const Stack& k, std::vector<std::string>* names) {
    TensorType t = k.outside;
    for (size_t i = 0; k.grows && i < t.shape.size(); ++i) {
      if (!k.varies[i]) continue;
      const std::string name = n.fresh_symbol("rows");
      if (names) names->push_back(name);
      t.shape[i] = Dim::symbol(name);
    }
    return t;
  };
  for (const Stack& k : stacks) a.op->region(0)->add_arg(fresh_rows(k, nullptr));
  Value* more = said;
  if (spec.trip) {
    more = cond.compare("LT", round, spec.trip);
    if (!counted) more = cond.binary(Prim::And, said, more);
  }
  cond.return_({more});

  // Results: what varies is bound by the loop itself.
  std::vector<std::string> bound;
  std::vector<TensorType> results = {i64, i1};
  for (size_t i = 0; i < count; ++i) {
    TensorType t = initial[i];
    for (size_t k = 0; k < t.shape.size(); ++k) {
      if (!varies[i][k]) continue;
      bound.push_back(n.fresh_symbol("after"));
      t.shape[k] = Dim::symbol(bound.back());
    }
    results.push_back(t);
  }
  for (const Stack& k : stacks) results.push_back(fresh_rows(k, &bound));
  if (!bound.empty()) a.op->set_attr("bound_symbols", Attr{bound});
  for (const GraphBuilder* g : {&body, &cond}) {
    b.errors.insert(b.errors.end(), g->errors.begin(), g->errors.end());
  }
  b.finish(a.op, results);

  LoopResult out;
  for (size_t i = 0; i < count; ++i) out.carried.push_back(a.op->result(static_cast<int>(i + 2)));
  std::optional<Dim> rounds;
  for (size_t i = 0; i < stacks.size(); ++i) {
    Value* v = a.op->result(static_cast<int>(i + 2 + count));
    if (!stacks[i].grows && spec.cut && !counted) {
      if (!rounds) {
        rounds = n.runtime_dim(a.op->result(0), "rounds", 0, spec.max_rounds->max());
      }
      Shape limit = v->type.shape;
      limit[0] = *rounds;
      v = b.slice(v, Shape(limit.size(), Dim(0)), limit, std::vector<int64_t>(limit.size(), 1));
    }
    out.stacked.push_back(v);
  }
  return out;
}

}  // namespace tenfold::onnx
