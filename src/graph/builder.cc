// Building ops: the general form and the plain shorthands. Composed ones (broadcasting, matmul,
// control flow, composites) are in builder_composed.cc.
#include "graph/builder.h"

#include <unordered_map>

#include "graph/check.h"

namespace tenfold {

void GraphBuilder::fail(std::string id, std::string message) {
  Error e{std::move(id), std::move(message), loc, {}};
  for (auto& o : origins) e.notes.push_back("from node " + o);
  errors.push_back(std::move(e));
}

Op* GraphBuilder::open(std::string_view name, std::vector<Value*> operands, AttrDict attrs) {
  auto op = std::make_unique<Op>();
  op->def = find_op(name);
  op->loc = loc;
  op->origins = origins;
  if (!op->def) {
    fail("graph-unknown-op", "no op is called " + std::string(name));
    op->def = &kUnknownOp;
  }
  for (Value* v : operands) TF_CHECK(v, std::string(name) + " got a null operand");
  op->set_operands(std::move(operands));
  for (auto& [key, value] : attrs) {
    for (const AttrSpec& spec : op->def->attrs) {
      if (spec.name != key || spec.kind != AttrKind::Dims) continue;
      if (auto* ints = std::get_if<std::vector<int64_t>>(&value.v)) {
        value = Attr{std::vector<Dim>(ints->begin(), ints->end())};
      }
    }
    if (value.present()) op->set_attr(key, std::move(value));
  }
  return block_->insert_before(before_, std::move(op));
}

Op* GraphBuilder::create_open(std::string_view name, std::vector<Value*> operands, AttrDict attrs) {
  return open(name, std::move(operands), std::move(attrs));
}

Op* GraphBuilder::create(std::string_view name, std::vector<Value*> operands, AttrDict attrs,
                         std::vector<TensorType> results) {
  return finish(open(name, std::move(operands), std::move(attrs)), std::move(results));
}

Op* GraphBuilder::finish(Op* op, std::vector<TensorType> results) {
  const OpDef& def = *op->def;
  Diag diag(*op);
  check_structure(*op, diag);
  const bool sound = diag.ok();
  std::vector<TensorType> inferred;
  if (def.explicit_results) {
    for (auto& t : results) op->add_result(t);
    if (sound && def.infer) def.infer(*op, diag);
    if (def.num_results >= 0 && static_cast<int>(results.size()) != def.num_results) {
      diag.fail("results", "needs the types of its " + std::to_string(def.num_results) +
                               " results, given " + std::to_string(results.size()));
    }
  } else {
    if (sound && def.infer) inferred = def.infer(*op, diag);
    if (sound && diag.ok() && def.num_results >= 0 &&
        static_cast<int>(inferred.size()) != def.num_results) {
      diag.fail("results", "infers " + std::to_string(inferred.size()) + " results");
    }
    if (!results.empty() && sound && diag.ok()) {
      bool fits = results.size() == inferred.size();
      for (size_t i = 0; fits && i < results.size(); ++i) {
        fits = may_be_same(results[i], inferred[i]);
      }
      if (!fits) {
        diag.fail("results", "gives " + type_list(inferred) + ", wanted " + type_list(results));
      }
    }
    for (auto& t : results.empty() ? inferred : results) op->add_result(t);
  }
  // A best guess, so that building goes on and finds what else is wrong.
  while (op->num_results() < def.num_results) {
    const int i = op->num_results();
    op->add_result(i < op->num_operands() ? op->operand(i)->type
                   : op->num_operands()   ? op->operand(0)->type
                                          : TensorType{});
  }
  if (op->num_results() == 0 && &def == &kUnknownOp) {
    op->add_result(op->num_operands() ? op->operand(0)->type : TensorType{});
  }
  for (auto& e : diag.take()) errors.push_back(std::move(e));
  return op;
}

// --- constants and sizes -------------------------------------------------------------------------

Value* GraphBuilder::constant(Literal l) {
  const TensorType t = l.type();
  return create("stablehlo.constant", {}, {{"value", Attr{std::move(l)}}}, {t})->result();
}

Value* GraphBuilder::constant(DType t, double v) { return constant(Literal::scalar(t, v)); }
Value* GraphBuilder::constant_i(DType t, int64_t v) { return constant(Literal::scalar_i(t, v)); }

Value* GraphBuilder::splat(const TensorType& t, double v) {
  return full(constant(t.dtype, v), t.shape);
}

Value* GraphBuilder::full(Value* scalar, const Shape& shape) {
  return broadcast_in_dim(scalar, shape, {});
}

Value* GraphBuilder::dims_value(const std::vector<Dim>& dims, DType t) {
  bool fixed = true;
  for (const Dim& d : dims) fixed &= d.is_const();
  if (fixed) {
    Literal l(t, {static_cast<int64_t>(dims.size())});
    for (size_t i = 0; i < dims.size(); ++i) l.set_i64(static_cast<int64_t>(i), dims[i].value());
    return constant(std::move(l));
  }
  const TensorType type = type_of(t, {Dim(static_cast<int64_t>(dims.size()))});
  return create("tenfold.dims", {}, {{"dims", Attr{dims}}}, {type})->result();
}

Value* GraphBuilder::dim_scalar(const Dim& d, DType t) {
  if (d.is_const()) return constant_i(t, d.value());
  return reshape(dims_value({d}, t), {});
}

Dim GraphBuilder::bind_symbol(Value* scalar, std::string_view stem, int64_t min, int64_t max) {
  const std::string name = module_->unique_symbol_name(stem);
  create("tenfold.bind_symbol", {scalar},
         {{"symbol", Attr{name}}, {"min", Attr{min}}, {"max", Attr{max}}});
  return Dim::symbol(name, min, max);
}

void GraphBuilder::require(const SizeRule& rule, std::string_view what) {
  Op* op = create("tenfold.require", {},
                  {{"sizes", Attr{std::vector<Dim>{rule.a, rule.b}}},
                   {"relation", Attr{std::string(name(rule.relation))}},
                   {"what", Attr{std::string(what)}}});
  Diag diag(*op);
  if (!diag.need(rule)) fail(rule.id(), std::string(what) + ": " + rule.str());
  if (diag.rules().empty()) block_->erase(op);
}

// --- elementwise ---------------------------------------------------------------------------------

namespace {
const OpDef* op_of_prim(Prim p) {
  static const std::unordered_map<int, const OpDef*> table = [] {
    std::unordered_map<int, const OpDef*> t;
    for (const OpDef* d : all_ops()) {
      if (!d->prim) continue;
      // StableHLO's own spelling before ours, should both exist.
      auto [it, fresh] = t.try_emplace(static_cast<int>(*d->prim), d);
      if (!fresh && d->name.starts_with("stablehlo.")) it->second = d;
    }
    return t;
  }();
  auto it = table.find(static_cast<int>(p));
  return it == table.end() ? nullptr : it->second;
}

const char* direction_of(Prim p) {
  switch (p) {
    case Prim::Eq:
      return "EQ";
    case Prim::Ne:
      return "NE";
    case Prim::Lt:
      return "LT";
    case Prim::Le:
      return "LE";
    case Prim::Gt:
      return "GT";
    case Prim::Ge:
      return "GE";
    default:
      return nullptr;
  }
}
}  // namespace

Value* GraphBuilder::unary(Prim p, Value* x) {
  const OpDef* def = op_of_prim(p);
  if (!def) {
    fail("graph-no-op-for-primitive", "no op computes " + std::string(name(p)));
    return x;
  }
  return create(def->name, {x})->result();
}

Value* GraphBuilder::binary(Prim p, Value* a, Value* b) {
  if (const char* direction = direction_of(p)) return compare(direction, a, b);
  const OpDef* def = op_of_prim(p);
  if (!def) {
    fail("graph-no-op-for-primitive", "no op computes " + std::string(name(p)));
    return a;
  }
  return create(def->name, {a, b})->result();
}

Value* GraphBuilder::compare(std::string_view direction, Value* a, Value* b) {
  const DType t = a->type.dtype;
  const char* type = is_float(t) || is_complex(t) ? "FLOAT" : is_signed(t) ? "SIGNED" : "UNSIGNED";
  return create("stablehlo.compare", {a, b},
                {{"comparison_direction", Attr{std::string(direction)}},
                 {"compare_type", Attr{std::string(type)}}},
                {{DType::Bool, a->type.shape}})
      ->result();
}

Value* GraphBuilder::select(Value* pred, Value* on_true, Value* on_false) {
  return create("stablehlo.select", {pred, on_true, on_false})->result();
}

Value* GraphBuilder::convert(Value* x, DType t) {
  if (x->type.dtype == t) return x;
  return create("stablehlo.convert", {x}, {}, {{t, x->type.shape}})->result();
}

// --- views ---------------------------------------------------------------------------------------

Value* GraphBuilder::reshape(Value* x, const Shape& shape) {
  if (x->type.shape == shape) return x;
  return create("stablehlo.reshape", {x}, {}, {{x->type.dtype, shape}})->result();
}

Value* GraphBuilder::transpose(Value* x, const std::vector<int64_t>& perm) {
  bool identity = true;
  for (size_t i = 0; i < perm.size(); ++i) identity &= perm[i] == static_cast<int64_t>(i);
  if (identity && static_cast<int>(perm.size()) == x->type.rank()) return x;
  return create("stablehlo.transpose", {x}, {{"permutation", Attr{perm}}})->result();
}

Value* GraphBuilder::broadcast_in_dim(Value* x, const Shape& shape,
                                      const std::vector<int64_t>& dims) {
  if (x->type.shape == shape) {
    bool identity = dims.size() == shape.size();
    for (size_t i = 0; i < dims.size(); ++i) identity &= dims[i] == static_cast<int64_t>(i);
    if (identity) return x;
  }
  return create("stablehlo.broadcast_in_dim", {x}, {{"broadcast_dimensions", Attr{dims}}},
                {{x->type.dtype, shape}})
      ->result();
}

Value* GraphBuilder::slice(Value* x, const std::vector<Dim>& start, const std::vector<Dim>& limit,
                           const std::vector<int64_t>& stride) {
  if (start.size() == x->type.shape.size() && limit == x->type.shape) {
    bool whole = stride.size() == start.size();
    for (size_t i = 0; whole && i < start.size(); ++i) {
      whole = start[i] == Dim(0) && stride[i] == 1;
    }
    if (whole) return x;
  }
  return create("stablehlo.slice", {x},
                {{"start_indices", Attr{start}},
                 {"limit_indices", Attr{limit}},
                 {"strides", Attr{stride}}})
      ->result();
}

Value* GraphBuilder::pad(Value* x, Value* scalar, const std::vector<Dim>& low,
                         const std::vector<Dim>& high, const std::vector<int64_t>& interior) {
  return create("stablehlo.pad", {x, scalar},
                {{"edge_padding_low", Attr{low}},
                 {"edge_padding_high", Attr{high}},
                 {"interior_padding", Attr{interior}}})
      ->result();
}

Value* GraphBuilder::concatenate(const std::vector<Value*>& xs, int64_t dim) {
  if (xs.size() == 1) return xs[0];
  return create("stablehlo.concatenate", xs, {{"dimension", Attr{dim}}})->result();
}

Value* GraphBuilder::iota(const TensorType& t, int64_t dim) {
  return create("stablehlo.iota", {}, {{"iota_dimension", Attr{dim}}}, {t})->result();
}

void GraphBuilder::return_(const std::vector<Value*>& values) {
  create(block_->parent_function() ? "func.return" : "stablehlo.return", values);
}

}  // namespace tenfold
