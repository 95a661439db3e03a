// Builder shorthands that make several ops: broadcasting, reductions, products of matrices, control
// flow, composites.
#include <algorithm>
#include <limits>

#include "graph/builder.h"
#include "graph/check.h"

namespace tenfold {

// --- broadcasting --------------------------------------------------------------------------------

Shape GraphBuilder::broadcast_shapes(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {  // i counts from the right
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    Dim& to = out[rank - 1 - i];
    if (x == y || equal(x, y) == Truth::Yes) {
      to = x.is_const() ? x : y.is_const() ? y : x;
    } else if (equal(x, Dim(1)) == Truth::Yes) {
      to = y;
    } else if (equal(y, Dim(1)) == Truth::Yes) {
      to = x;
    } else {
      to = x.is_const() ? x : y;
      const bool never = equal(x, y) == Truth::No && equal(x, Dim(1)) == Truth::No &&
                         equal(y, Dim(1)) == Truth::No;
      fail("shape-broadcast",
           "cannot broadcast dimension " + x.str() + " with " + y.str() +
               (never ? ": they differ and neither is 1"
                      : ": not known to be equal, nor either of them to be 1; give the dimensions "
                        "the same name, a number, or bounds that decide it"));
    }
  }
  return out;
}

Value* GraphBuilder::broadcast_to(Value* x, const Shape& shape) {
  if (x->type.shape == shape) return x;
  const int lead = static_cast<int>(shape.size()) - x->type.rank();
  if (lead < 0) {
    fail("shape-broadcast", "cannot broadcast " + x->type.str() + " to the smaller rank " +
                                std::to_string(shape.size()));
    return x;
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < x->type.rank(); ++i) dims.push_back(lead + i);
  return broadcast_in_dim(x, shape, dims);
}

std::pair<Value*, Value*> GraphBuilder::broadcast_pair(Value* a, Value* b) {
  const Shape shape = broadcast_shapes(a->type.shape, b->type.shape);
  Value* x = broadcast_to(a, shape);
  return {x, broadcast_to(b, shape)};
}

// --- reductions and contractions -----------------------------------------------------------------

namespace {
// Lowest or highest value of a type as a scalar: infinities where the format has them.
Literal extreme(DType t, bool highest) {
  if (t == DType::Bool) return Literal::scalar_i(t, highest ? 1 : 0);
  if (t == DType::F8E8M0FNU) {
    Literal l(t, {});
    *l.mutable_bytes() = std::byte{static_cast<uint8_t>(highest ? 254 : 0)};
    return l;
  }
  if (is_integer(t)) {
    const int bits = bit_width(t);
    if (is_unsigned(t)) {
      return Literal::scalar_i(t, !highest ? 0 : bits == 64 ? -1 : (int64_t{1} << bits) - 1);
    }
    const int64_t high = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
    return Literal::scalar_i(t, highest ? high : -high - 1);
  }
  const double inf = std::numeric_limits<double>::infinity();
  if (t == DType::F32 || t == DType::F64 || is_complex(t) ||
      format_of(t).nan == FloatFormat::Nan::Ieee) {
    return Literal::scalar(t, highest ? inf : -inf);
  }
  const FloatFormat f = format_of(t);
  Literal l(t, {});
  const uint32_t code = f.max_code() | (highest ? 0u : 1u << f.sign_shift());
  *l.mutable_bytes() = std::byte{static_cast<uint8_t>(code)};
  return l;
}
}  // namespace

Value* GraphBuilder::reduce(Prim p, Value* x, const std::vector<int64_t>& dims, bool keep_dims) {
  const DType t = x->type.dtype;
  Literal identity;
  switch (p) {
    case Prim::Add:
      identity = Literal::scalar(t, 0);
      break;
    case Prim::Mul:
      identity = Literal::scalar(t, 1);
      break;
    case Prim::Max:
      identity = extreme(t, false);
      break;
    case Prim::Min:
      identity = extreme(t, true);
      break;
    case Prim::And:
      identity = Literal::scalar_i(t, t == DType::Bool ? 1 : -1);
      break;
    case Prim::Or:
      identity = Literal::scalar_i(t, 0);
      break;
    case Prim::Xor:
      identity = Literal::scalar_i(t, 0);
      break;
    default:
      fail("graph-reduce", std::string(name(p)) + " has no identity to reduce with");
      identity = Literal::scalar(t, 0);
  }
  Value* init = constant(std::move(identity));
  Op* op = create_open("stablehlo.reduce", {x, init}, {{"dimensions", Attr{dims}}});
  const TensorType scalar{t, {}};
  Block* body = op->add_region();
  Value* a = body->add_arg(scalar);
  Value* b = body->add_arg(scalar);
  GraphBuilder inner(module_, body);
  inner.loc = loc;
  inner.origins = origins;
  inner.return_({inner.binary(p, a, b)});
  errors.insert(errors.end(), inner.errors.begin(), inner.errors.end());
  Value* r = finish(op)->result();
  if (!keep_dims) return r;
  Shape kept = x->type.shape;
  for (int64_t d : dims) {
    if (d >= 0 && d < x->type.rank()) kept[d] = Dim(1);
  }
  return reshape(r, kept);
}

Value* GraphBuilder::dot_general(Value* lhs, Value* rhs, const std::vector<int64_t>& lhs_batch,
                                 const std::vector<int64_t>& rhs_batch,
                                 const std::vector<int64_t>& lhs_contract,
                                 const std::vector<int64_t>& rhs_contract,
                                 std::optional<DType> result) {
  auto in_range = [&](const Value* v, int64_t d) { return d >= 0 && d < v->type.rank(); };
  auto has = [](const std::vector<int64_t>& v, int64_t d) {
    return std::find(v.begin(), v.end(), d) != v.end();
  };
  TensorType t{result.value_or(lhs->type.dtype), {}};
  for (int64_t d : lhs_batch) {
    if (in_range(lhs, d)) t.shape.push_back(lhs->type.shape[d]);
  }
  for (int d = 0; d < lhs->type.rank(); ++d) {
    if (!has(lhs_batch, d) && !has(lhs_contract, d)) t.shape.push_back(lhs->type.shape[d]);
  }
  for (int d = 0; d < rhs->type.rank(); ++d) {
    if (!has(rhs_batch, d) && !has(rhs_contract, d)) t.shape.push_back(rhs->type.shape[d]);
  }
  return create("stablehlo.dot_general", {lhs, rhs},
                {{"lhs_batching_dimensions", Attr{lhs_batch}},
                 {"rhs_batching_dimensions", Attr{rhs_batch}},
                 {"lhs_contracting_dimensions", Attr{lhs_contract}},
                 {"rhs_contracting_dimensions", Attr{rhs_contract}}},
                {t})
      ->result();
}

Value* GraphBuilder::matmul(Value* a, Value* b) {
  const int ra = a->type.rank();
  const int rb = b->type.rank();
  if (ra == 0 || rb == 0) {
    fail("shape-matmul",
         "matmul takes no scalars, given " + a->type.str() + " and " + b->type.str());
    return a;
  }
  if (rb == 1) return dot_general(a, b, {}, {}, {ra - 1}, {0});
  if (rb == 2) return dot_general(a, b, {}, {}, {ra - 1}, {0});
  if (ra == 1) {
    // [k] x [..., k, n] -> [..., n]
    return dot_general(b, a, {}, {}, {rb - 2}, {0});
  }
  const Shape batch_a(a->type.shape.begin(), a->type.shape.end() - 2);
  const Shape batch_b(b->type.shape.begin(), b->type.shape.end() - 2);
  const Shape batch = broadcast_shapes(batch_a, batch_b);
  auto spread = [&](Value* v) {
    Shape s = batch;
    s.insert(s.end(), v->type.shape.end() - 2, v->type.shape.end());
    return broadcast_to(v, s);
  };
  a = spread(a);
  b = spread(b);
  const int64_t nb = static_cast<int64_t>(batch.size());
  std::vector<int64_t> batch_dims;
  for (int64_t i = 0; i < nb; ++i) batch_dims.push_back(i);
  return dot_general(a, b, batch_dims, batch_dims, {nb + 1}, {nb});
}

// --- control flow --------------------------------------------------------------------------------

std::vector<Value*> GraphBuilder::fill_region(Block* region, const std::vector<Value*>& like,
                                              const RegionBody& body) {
  std::vector<Value*> args;
  for (Value* v : like) args.push_back(region->add_arg(v->type, v->name));
  GraphBuilder inner(module_, region);
  inner.loc = loc;
  inner.origins = origins;
  std::vector<Value*> results = body(inner, args);
  inner.return_(results);
  errors.insert(errors.end(), inner.errors.begin(), inner.errors.end());
  return results;
}

namespace {
std::vector<Value*> results_of(Op* op) {
  std::vector<Value*> r;
  for (int i = 0; i < op->num_results(); ++i) r.push_back(op->result(i));
  return r;
}
}  // namespace

std::vector<Value*> GraphBuilder::if_(Value* pred, const RegionBody& then_body,
                                      const RegionBody& else_body) {
  Op* op = create_open("stablehlo.if", {pred});
  fill_region(op->add_region(), {}, then_body);
  fill_region(op->add_region(), {}, else_body);
  return results_of(finish(op));
}

std::vector<Value*> GraphBuilder::while_(const std::vector<Value*>& init, const RegionBody& cond,
                                         const RegionBody& body) {
  Op* op = create_open("stablehlo.while", init);
  fill_region(op->add_region(), init, cond);
  fill_region(op->add_region(), init, body);
  return results_of(finish(op));
}

std::vector<Value*> GraphBuilder::composite(std::string_view name, const std::vector<Value*>& args,
                                            AttrDict attributes, const RegionBody& decompose) {
  std::string stem(name);
  std::replace(stem.begin(), stem.end(), '.', '_');
  Function* f = module_->add_function(module_->unique_function_name(stem), false);
  // Inside, a symbol must be an argument's bare dimension. Sizes that are not get one of their own.
  std::vector<std::string> bare;
  for (Value* v : args) {
    for (const Dim& d : v->type.shape) {
      if (SymbolRef s = d.as_symbol()) bare.push_back(s->name);
    }
  }
  std::vector<std::pair<Dim, Dim>> renamed;
  std::vector<Value*> inner_args;
  for (Value* v : args) {
    TensorType t = v->type;
    for (Dim& d : t.shape) {
      std::vector<SymbolRef> symbols;
      d.collect_symbols(symbols);
      const bool known = std::all_of(symbols.begin(), symbols.end(), [&](const SymbolRef& s) {
        return std::find(bare.begin(), bare.end(), s->name) != bare.end();
      });
      if (known) continue;
      auto it =
          std::find_if(renamed.begin(), renamed.end(), [&](const auto& r) { return r.first == d; });
      if (it == renamed.end()) {
        const std::string s =
            module_->unique_symbol_name(stem + "_d" + std::to_string(renamed.size()));
        renamed.emplace_back(d, Dim::symbol(s, d.min(), d.max()));
        it = renamed.end() - 1;
      }
      d = it->second;
    }
    inner_args.push_back(f->body.add_arg(std::move(t), v->name));
  }
  GraphBuilder inner(module_, &f->body);
  inner.loc = loc;
  inner.origins = origins;
  inner.return_(decompose(inner, inner_args));
  errors.insert(errors.end(), inner.errors.begin(), inner.errors.end());
  AttrDict attrs = {{"name", Attr{std::string(name)}}};
  if (!attributes.empty()) {
    attrs.emplace_back("composite_attributes",
                       Attr{std::make_shared<AttrDict>(std::move(attributes))});
  }
  attrs.emplace_back("decomposition", Attr{f->name});
  return results_of(create("stablehlo.composite", args, std::move(attrs)));
}

}  // namespace tenfold
