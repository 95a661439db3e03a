#include "passes/rewrite.h"

#include <algorithm>

namespace tenfold {

GraphBuilder builder_at(Module& m, Op* op) {
  GraphBuilder b(&m, op->parent());
  b.set_insertion(op->parent(), op);
  b.loc = op->loc;
  b.origins = op->origins;
  return b;
}

void merge_origins(std::vector<std::string>& into, const std::vector<std::string>& from) {
  for (const auto& n : from)
    if (std::find(into.begin(), into.end(), n) == into.end()) into.push_back(n);
}

void replace_op(Op* op, const std::vector<Value*>& values) {
  for (int i = 0; i < op->num_results(); ++i) {
    Value* from = op->result(i);
    Value* to = values[static_cast<size_t>(i)];
    if (from == to) continue;
    if (to->name.empty() && to->def()) to->name = from->name;
    if (to->def() && !to->def()->is("stablehlo.constant"))
      merge_origins(to->def()->origins, op->origins);
    from->replace_all_uses_with(to);
  }
  op->parent()->erase(op);
}

const Literal* constant_of(const Value* v) {
  return v->def() && v->def()->is("stablehlo.constant") ? &v->def()->lit("value") : nullptr;
}

std::optional<double> splat_of(const Value* v) {
  while (v->def() &&
         (v->def()->is("stablehlo.broadcast_in_dim") || v->def()->is("stablehlo.reshape")))
    v = v->def()->operand();
  const Literal* l = constant_of(v);
  if (!l || is_complex(l->dtype()) || l->size() == 0 || !l->is_splat()) return std::nullopt;
  return l->as_f64(0);
}

std::optional<std::vector<double>> per_index(const Value* v, int dim, int64_t n) {
  int at = dim;
  const Literal* l = nullptr;
  while (true) {
    if (auto s = splat_of(v)) return std::vector<double>(static_cast<size_t>(n), *s);
    if ((l = constant_of(v))) break;
    const Op* op = v->def();
    if (!op) return std::nullopt;
    if (op->is("stablehlo.convert")) {
      const DType from = op->operand()->type.dtype;
      if (!is_integer(from) || bit_width(from) > 16) return std::nullopt;  // others may round
    } else if (op->is("stablehlo.broadcast_in_dim")) {
      const auto& dims = op->i64s("broadcast_dimensions");
      int found = -1;
      for (size_t i = 0; i < dims.size(); ++i)
        if (dims[i] == at)
          found = static_cast<int>(i);
        else if (!(op->operand()->type.shape[i] == Dim(1)))
          return std::nullopt;
      if (found < 0) return std::nullopt;
      at = found;
    } else {
      return std::nullopt;
    }
    v = op->operand();
  }
  if (at < 0 || is_complex(l->dtype()) || l->size() != n || l->rank() <= at || l->dims()[at] != n)
    return std::nullopt;
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = l->as_f64(i);
  return out;
}

Value* transpose_early(GraphBuilder& b, Value* v, const std::vector<int64_t>& perm) {
  if (Op* widen = only_def_of(v, "stablehlo.convert");
      widen && bit_width(widen->operand()->type.dtype) < bit_width(v->type.dtype))
    return b.convert(transpose_early(b, widen->operand(), perm), v->type.dtype);
  if (Op* pad = only_def_of(v, "stablehlo.pad")) {
    const auto permuted = [&](const auto& from) {
      auto to = from;
      for (size_t i = 0; i < perm.size(); ++i) to[i] = from[static_cast<size_t>(perm[i])];
      return to;
    };
    return b.pad(transpose_early(b, pad->operand(0), perm), pad->operand(1),
                 permuted(pad->dims("edge_padding_low")), permuted(pad->dims("edge_padding_high")),
                 permuted(pad->i64s("interior_padding")));
  }
  return b.transpose(v, perm);
}

Op* def_of(const Value* v, std::string_view name) {
  return v->def() && v->def()->is(name) ? v->def() : nullptr;
}

Op* only_def_of(const Value* v, std::string_view name) {
  return v->users().size() == 1 ? def_of(v, name) : nullptr;
}

Op* prim_of(const Value* v, Prim p) {
  return v->def() && v->def()->def->prim == p ? v->def() : nullptr;
}

namespace {

// Regions before the op that owns them: the callback may then erase the op, regions and all.
void visit(Block& b, const std::function<void(Op*)>& f) {
  std::vector<Op*> ops;
  for (auto& op : b.ops) ops.push_back(op.get());
  for (Op* op : ops) {
    for (int i = 0; i < op->num_regions(); ++i) visit(*op->region(i), f);
    f(op);
  }
}

}  // namespace

void for_each_op(Module& m, const std::function<void(Op*)>& f) {
  for (auto& fn : m.functions) visit(fn->body, f);
}

bool has_side_effect(const Op& op) {
  if (op.def->kind == OpKind::Terminator) return true;
  const auto itself = [](const Op& o) {
    return o.is("tenfold.bind_symbol") || o.is("tenfold.require") ||
           (o.is("stablehlo.custom_call") && o.flag("has_side_effect"));
  };
  if (itself(op)) return true;
  // A loop's body may bind symbols of its own; they die with it.
  if (op.num_results() > 0) return false;
  bool nested = false;
  for (int i = 0; i < op.num_regions() && !nested; ++i)
    walk(*op.region(i), [&](const Op* o) { nested |= itself(*o); });
  return nested;
}

void erase_dead(Op* op) {
  // Each op stands here once at most: one whose result two of the erased ops read would otherwise
  // be looked at again after it is gone.
  std::vector<Op*> dead = {op};
  while (!dead.empty()) {
    Op* next = dead.back();
    dead.pop_back();
    std::vector<Value*> operands = next->operands();
    next->parent()->erase(next);
    for (Value* v : operands) {
      Op* d = v->def();
      if (!d || has_side_effect(*d) || std::count(dead.begin(), dead.end(), d)) continue;
      bool used = false;
      for (int i = 0; i < d->num_results(); ++i) used |= d->result(i)->has_users();
      if (!used) dead.push_back(d);
    }
  }
}

}  // namespace tenfold
