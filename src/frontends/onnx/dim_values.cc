// See dim_values.h.
#include "frontends/onnx/dim_values.h"

#include <algorithm>

#include "graph/evaluator.h"
#include "graph/op_def.h"

namespace tenfold::onnx {

namespace {

constexpr int64_t kMaxElements = 4096;  // a list of sizes is short
constexpr int kMaxDepth = 2000;

std::optional<int64_t> static_count(const TensorType& t) {
  int64_t n = 1;
  for (const Dim& d : t.shape) {
    const auto c = d.constant();
    if (!c || *c < 0) return {};
    if (*c > 0 && n > (int64_t{1} << 50) / *c) return {};
    n *= *c;
  }
  return n;
}

std::optional<std::vector<int64_t>> numbers(const std::vector<Dim>& dims) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) {
    const auto c = d.constant();
    if (!c) return {};
    out.push_back(*c);
  }
  return out;
}

Dim truth(Truth t) { return Dim(t == Truth::Yes ? 1 : 0); }

std::optional<Dim> from_truth(Truth t, bool negate = false) {
  if (t == Truth::Unknown) return {};
  return truth(negate ? (t == Truth::Yes ? Truth::No : Truth::Yes) : t);
}

std::optional<Dim> compare_dims(const std::string& direction, const Dim& a, const Dim& b) {
  if (direction == "EQ") return from_truth(equal(a, b));
  if (direction == "NE") return from_truth(equal(a, b), true);
  if (direction == "LT") return from_truth(less(a, b));
  if (direction == "LE") return from_truth(less_equal(a, b));
  if (direction == "GT") return from_truth(less(b, a));
  if (direction == "GE") return from_truth(less_equal(b, a));
  return {};
}

// Overflow of numbers makes the value unknown rather than wrong.
bool small(const Dim& d) {
  const auto c = d.constant();
  return !c || (*c < (int64_t{1} << 31) && *c > -(int64_t{1} << 31));
}

std::optional<Dim> arithmetic(Prim p, const Dim& a, const Dim& b, bool is_bool) {
  const auto ca = a.constant(), cb = b.constant();
  switch (p) {
    case Prim::Add:
      if (is_bool || !small(a) || !small(b)) return {};
      return a + b;
    case Prim::Sub:
      if (is_bool || !small(a) || !small(b)) return {};
      return a - b;
    case Prim::Mul:
      if (is_bool || !small(a) || !small(b)) return {};
      return a * b;
    case Prim::Div:
      if (ca && cb) {
        if (*cb == 0 || *cb == -1)
          return *cb == -1 && *ca != INT64_MIN ? std::optional(Dim(-*ca)) : std::nullopt;
        return Dim(*ca / *cb);
      }
      if (a.min() >= 0 && b.min() > 0) return floordiv(a, b);
      return {};
    case Prim::FloorDiv:
      if (cb && *cb == 0) return {};
      if (b.min() > 0) return floordiv(a, b);
      return {};
    case Prim::Rem:
      if (ca && cb) return *cb == 0 || *cb == -1 ? std::nullopt : std::optional(Dim(*ca % *cb));
      if (a.min() >= 0 && b.min() > 0) return mod(a, b);
      return {};
    case Prim::FloorMod:
      if (b.min() > 0) return mod(a, b);
      return {};
    case Prim::Max:
      return max(a, b);
    case Prim::Min:
      return min(a, b);
    case Prim::And:
      if (is_bool) {
        if ((ca && *ca == 0) || (cb && *cb == 0)) return Dim(0);
        if (ca && cb) return Dim(1);
      }
      return {};
    case Prim::Or:
      if (is_bool) {
        if ((ca && *ca != 0) || (cb && *cb != 0)) return Dim(1);
        if (ca && cb) return Dim(0);
      }
      return {};
    case Prim::Xor:
      if (is_bool && ca && cb) return Dim((*ca != 0) != (*cb != 0));
      return {};
    default:
      return {};
  }
}

// Steps a row-major index; false after the last.
bool step(std::vector<int64_t>& index, const std::vector<int64_t>& dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++index[i] < dims[i]) return true;
    index[i] = 0;
  }
  return false;
}

int64_t flat(const std::vector<int64_t>& index, const std::vector<int64_t>& dims) {
  int64_t at = 0;
  for (size_t i = 0; i < dims.size(); ++i) at = at * dims[i] + index[i];
  return at;
}

}  // namespace

void DimValues::clear() {
  elements_.clear();
  constants_.clear();
}

void DimValues::note_bound(const Value* v, const Dim& d, const Block* block) {
  const Block* home = v->def() ? v->def()->parent() : v->block();
  if (home == block) elements_[v] = Elements{d};
}

const DimValues::Elements* DimValues::elements(const Value* v) {
  auto it = elements_.find(v);
  if (it != elements_.end()) return it->second ? &*it->second : nullptr;
  const DType t = v->type.dtype;
  const auto count = static_count(v->type);
  std::optional<Elements> out;
  if ((is_integer(t) || t == DType::Bool) && count && *count <= kMaxElements &&
      depth_ < kMaxDepth) {
    ++depth_;
    out = compute(v);
    --depth_;
    out->resize(static_cast<size_t>(*count));
  }
  auto& slot = elements_[v] = std::move(out);
  return slot ? &*slot : nullptr;
}

DimValues::Elements DimValues::compute(const Value* v) {
  const Op* op = v->def();
  const auto n = static_cast<size_t>(*static_count(v->type));
  Elements out(n);
  if (!op) return out;
  const auto dims = numbers(v->type.shape);
  const bool is_bool = v->type.dtype == DType::Bool;
  const auto operand = [&](int i) { return elements(op->operand(i)); };

  if (op->is("stablehlo.constant")) {
    const Literal& l = op->lit("value");
    if (l.dtype() == DType::U64) return out;
    for (size_t i = 0; i < n; ++i) out[i] = Dim(l.as_i64(static_cast<int64_t>(i)));
  } else if (op->is("tenfold.dims")) {
    const auto& d = op->dims("dims");
    for (size_t i = 0; i < n && i < d.size(); ++i) out[i] = d[i];
  } else if (op->is("stablehlo.convert")) {
    if (is_float(op->operand()->type.dtype)) {
      if (auto l = constant(op->operand())) {
        const Literal c = convert(*l, v->type.dtype);
        for (size_t i = 0; i < n; ++i) out[i] = Dim(c.as_i64(static_cast<int64_t>(i)));
      }
      return out;
    }
    const Elements* in = operand(0);
    if (!in) return out;
    for (size_t i = 0; i < n; ++i) {
      const auto& e = (*in)[i];
      if (!e) continue;
      if (is_bool) {
        out[i] = from_truth(equal(*e, Dim(0)), true);
      } else if (v->type.dtype == DType::I64) {
        out[i] = e;
      } else if (e->constant()) {
        Literal l = Literal::scalar_i(DType::I64, e->value());
        out[i] = Dim(convert(l, v->type.dtype).as_i64(0));
      } else if (v->type.dtype == DType::I32) {
        out[i] = e;  // a size; those beyond 2^31 would not fit in memory
      }
    }
  } else if (op->is("stablehlo.reshape")) {
    if (const Elements* in = operand(0)) out = *in;
  } else if (op->is("stablehlo.broadcast_in_dim")) {
    const Elements* in = operand(0);
    const auto from = numbers(op->operand()->type.shape);
    if (!in || !from || n == 0) return out;
    const auto& map = op->i64s("broadcast_dimensions");
    std::vector<int64_t> index(dims->size()), source(from->size());
    size_t i = 0;
    do {
      for (size_t k = 0; k < source.size(); ++k) {
        source[k] = (*from)[k] == 1 ? 0 : index[static_cast<size_t>(map[k])];
      }
      out[i++] = (*in)[static_cast<size_t>(flat(source, *from))];
    } while (step(index, *dims));
  } else if (op->is("stablehlo.transpose")) {
    const Elements* in = operand(0);
    const auto from = numbers(op->operand()->type.shape);
    if (!in || !from || n == 0) return out;
    const auto& perm = op->i64s("permutation");
    std::vector<int64_t> index(dims->size()), source(from->size());
    size_t i = 0;
    do {
      for (size_t k = 0; k < perm.size(); ++k) source[static_cast<size_t>(perm[k])] = index[k];
      out[i++] = (*in)[static_cast<size_t>(flat(source, *from))];
    } while (step(index, *dims));
  } else if (op->is("stablehlo.slice")) {
    const Elements* in = operand(0);
    const auto from = numbers(op->operand()->type.shape);
    const auto start = numbers(op->dims("start_indices"));
    if (!in || !from || !start || n == 0) return out;
    const auto& stride = op->i64s("strides");
    std::vector<int64_t> index(dims->size()), source(from->size());
    size_t i = 0;
    do {
      for (size_t k = 0; k < index.size(); ++k) source[k] = (*start)[k] + index[k] * stride[k];
      out[i++] = (*in)[static_cast<size_t>(flat(source, *from))];
    } while (step(index, *dims));
  } else if (op->is("stablehlo.reverse")) {
    const Elements* in = operand(0);
    if (in && dims->size() == 1) out.assign(in->rbegin(), in->rend());
  } else if (op->is("stablehlo.concatenate")) {
    const auto axis = static_cast<size_t>(op->i64("dimension"));
    if (n == 0) return out;
    int64_t offset = 0;
    for (int k = 0; k < op->num_operands(); ++k) {
      const Elements* in = operand(k);
      const auto from = numbers(op->operand(k)->type.shape);
      if (!from) return out;
      if (in && !in->empty()) {
        std::vector<int64_t> source(from->size());
        size_t i = 0;
        do {
          std::vector<int64_t> index = source;
          index[axis] += offset;
          out[static_cast<size_t>(flat(index, *dims))] = (*in)[i++];
        } while (step(source, *from));
      }
      offset += (*from)[axis];
    }
  } else if (op->is("stablehlo.iota")) {
    const auto axis = static_cast<size_t>(op->i64("iota_dimension"));
    if (n == 0) return out;
    std::vector<int64_t> index(dims->size());
    size_t i = 0;
    do {
      out[i++] = Dim(index[axis]);
    } while (step(index, *dims));
  } else if (op->is("stablehlo.compare")) {
    const Elements *a = operand(0), *b = operand(1);
    if (a && b) {
      for (size_t i = 0; i < n; ++i) {
        if ((*a)[i] && (*b)[i]) {
          out[i] = compare_dims(op->str("comparison_direction"), *(*a)[i], *(*b)[i]);
        }
      }
      return out;
    }
    if (auto l = constant(v)) {
      for (size_t i = 0; i < n; ++i) out[i] = Dim(l->as_i64(static_cast<int64_t>(i)));
    }
  } else if (op->is("stablehlo.select")) {
    const Elements *p = operand(0), *a = operand(1), *b = operand(2);
    if (!p || !a || !b) return out;
    for (size_t i = 0; i < n; ++i) {
      const auto& c = (*p)[p->size() == 1 ? 0 : i];
      if (c && c->constant()) {
        out[i] = c->value() ? (*a)[i] : (*b)[i];
      } else if ((*a)[i] && (*b)[i] && *(*a)[i] == *(*b)[i]) {
        out[i] = (*a)[i];
      }
    }
  } else if (op->def->prim && op->num_operands() == 2) {
    const Elements *a = operand(0), *b = operand(1);
    if (!a || !b || !(is_bool || is_integer(op->operand()->type.dtype))) return out;
    for (size_t i = 0; i < n; ++i) {
      const auto& x = (*a)[a->size() == 1 ? 0 : i];
      const auto& y = (*b)[b->size() == 1 ? 0 : i];
      if (x && y) out[i] = arithmetic(*op->def->prim, *x, *y, is_bool);
    }
  } else if (op->def->prim && op->num_operands() == 1) {
    const Elements* a = operand(0);
    if (!a) return out;
    for (size_t i = 0; i < n; ++i) {
      const auto& x = (*a)[i];
      if (!x) continue;
      switch (*op->def->prim) {
        case Prim::Neg:
          if (small(*x)) out[i] = -*x;
          break;
        case Prim::Abs:
          if (x->min() >= 0) out[i] = x;
          break;
        case Prim::Not:
          if (is_bool && x->constant()) out[i] = Dim(x->value() == 0);
          break;
        case Prim::Sign:
          if (x->constant())
            out[i] = Dim((x->value() > 0) - (x->value() < 0));
          else if (x->min() > 0)
            out[i] = Dim(1);
          break;
        default:
          break;
      }
    }
  }
  return out;
}

std::optional<Literal> DimValues::constant(const Value* v) {
  const Op* op = v->def();
  if (!op) {
    // A block argument whose value was bound to a number.
    auto it = elements_.find(v);
    if (it == elements_.end() || !it->second) return {};
  } else if (op->is("stablehlo.constant")) {
    return op->lit("value");
  }
  auto it = constants_.find(v);
  if (it != constants_.end()) return it->second;
  const auto remember = [&](std::optional<Literal> l) {
    constants_[v] = l;
    return l;
  };
  const auto count = static_count(v->type);
  if (!count) return remember({});

  // Sizes that turned out to be numbers.
  if ((is_integer(v->type.dtype) || v->type.dtype == DType::Bool) && *count <= kMaxElements &&
      v->type.dtype != DType::U64) {
    if (const Elements* e = elements(v)) {
      if (std::all_of(e->begin(), e->end(), [](const auto& d) { return d && d->is_const(); })) {
        Literal l(v->type.dtype, v->type.static_shape());
        for (size_t i = 0; i < e->size(); ++i) {
          l.set_i64(static_cast<int64_t>(i), (*e)[i]->value());
        }
        return remember(std::move(l));
      }
    }
  }
  if (!op || op->def->kind == OpKind::Region || op->def->kind == OpKind::Collective ||
      op->name().starts_with("stablehlo.rng") || op->num_results() == 0 || depth_ >= kMaxDepth) {
    return remember({});
  }
  constexpr int64_t kMaxBytes = int64_t{4} << 20;
  int64_t bytes = 0;
  for (int i = 0; i < op->num_results(); ++i) {
    const auto c = static_count(op->result(i)->type);
    if (!c || *c > kMaxBytes / byte_size(op->result(i)->type.dtype)) return remember({});
    bytes += *c * byte_size(op->result(i)->type.dtype);
  }
  for (Value* x : op->operands()) {
    const auto c = static_count(x->type);
    if (!c || *c > kMaxBytes / byte_size(x->type.dtype)) return remember({});
  }
  if (bytes > budget_) return remember({});
  std::vector<Literal> args;
  ++depth_;
  for (Value* x : op->operands()) {
    auto l = constant(x);
    if (!l) break;
    args.push_back(std::move(*l));
  }
  --depth_;
  if (static_cast<int>(args.size()) != op->num_operands()) return remember({});
  budget_ -= bytes;

  Module* module = function_of(*op)->module;
  Function f;
  f.module = module;
  f.name = "constant";
  GraphBuilder b(module, &f.body);
  std::unordered_map<const Value*, Value*> map;
  for (int i = 0; i < op->num_operands(); ++i) {
    if (!map.contains(op->operand(i))) {
      map[op->operand(i)] = b.constant(args[static_cast<size_t>(i)]);
    }
  }
  Op* copy = f.body.append(clone_op(*op, map));
  std::vector<Value*> results;
  for (int i = 0; i < copy->num_results(); ++i) results.push_back(copy->result(i));
  b.return_(results);
  auto values = evaluate(*module, f, {});
  if (!values.ok()) return remember({});
  for (int i = 0; i < op->num_results(); ++i) {
    constants_[op->result(i)] = (*values)[static_cast<size_t>(i)];
  }
  return constants_[v];
}

}  // namespace tenfold::onnx
