// See match.h.
#include "backends/tpu/matrix/match.h"

#include <algorithm>
#include <cmath>

#include "ops/attr_util.h"

namespace tenfold::tpu::matrix {

namespace {

// An evaluator's context without regions, functions and symbols.
class PlainContext final : public EvalContext {
 public:
  int64_t dim(const Dim& d) const override { return d.is_const() ? d.value() : 0; }
  Result<std::vector<Literal>> run_region(const Block&, std::vector<Literal>) override {
    return error("op-unsupported", "a region");
  }
  Result<std::vector<Literal>> run_function(std::string_view, std::vector<Literal>) override {
    return error("op-unsupported", "a call");
  }
  void bind_symbol(const Symbol&, int64_t) override {}
};

bool small(const Value* v, int64_t max_elements) {
  return v->type.is_static() && v->type.num_elements().value() <= max_elements;
}

}  // namespace

bool is_int8(DType t) { return t == DType::I8 || t == DType::U8; }

std::vector<int64_t> numbers_or(const Op& op, std::string_view name, size_t n, int64_t fallback) {
  std::vector<int64_t> r;
  for (const Dim& d : dims_or(op, name, n, fallback)) r.push_back(d.value());
  return r;
}

std::optional<Literal> evaluate_op(const Op& op, std::vector<Literal> args) {
  if (!op.def->eval || op.num_regions() > 0 || op.num_results() != 1) return std::nullopt;
  PlainContext context;
  context.op = &op;
  context.args = std::move(args);
  auto r = op.def->eval(context);
  if (!r.ok() || r->size() != 1) return std::nullopt;
  return std::move((*r)[0]);
}

bool Constants::is_constant(const Value* v) {
  if (auto it = constant_.find(v); it != constant_.end()) return it->second;
  const Op* op = v->def();
  bool yes = op && op->num_regions() == 0 && op->num_results() == 1 && v->type.is_static() &&
             op->def->kind != OpKind::Region && op->def->kind != OpKind::Opaque &&
             op->def->kind != OpKind::Collective;
  for (int i = 0; yes && i < op->num_operands(); ++i) yes = is_constant(op->operand(i));
  return constant_[v] = yes;
}

std::optional<Literal> Constants::get(const Value* v, int64_t max_elements) {
  if (auto it = values_.find(v); it != values_.end()) return it->second;
  if (!is_constant(v) || !small(v, max_elements)) return std::nullopt;
  const Op& op = *v->def();
  if (op.is("stablehlo.constant")) return op.lit("value");
  std::vector<Literal> args;
  for (const Value* o : op.operands()) {
    auto a = get(o, max_elements);
    if (!a) return std::nullopt;
    args.push_back(std::move(*a));
  }
  auto r = evaluate_op(op, std::move(args));
  if (r && r->size() <= 4096) values_[v] = *r;
  return r;
}

std::optional<double> Constants::splat(const Value* v) {
  while (v->def() &&
         (v->def()->is("stablehlo.broadcast_in_dim") || v->def()->is("stablehlo.reshape"))) {
    v = v->def()->operand();
  }
  if (!is_constant(v)) return std::nullopt;
  if (v->def()->is("stablehlo.constant")) {
    const Literal& l = v->def()->lit("value");
    if (l.size() == 0 || !l.is_splat() || is_complex(l.dtype())) return std::nullopt;
    return l.as_f64(0);
  }
  // Elementwise on splats is the splat of one element.
  const Op& op = *v->def();
  if (op.def->kind == OpKind::Elementwise) {
    std::vector<Literal> args;
    for (const Value* o : op.operands()) {
      const auto s = splat(o);
      if (!s) return std::nullopt;
      args.push_back(Literal::scalar(o->type.dtype, *s));
    }
    const auto r = evaluate_op(op, std::move(args));
    if (!r) return std::nullopt;
    return r->as_f64(0);
  }
  const auto l = get(v, 1 << 16);
  if (!l || l->size() == 0 || !l->is_splat() || is_complex(l->dtype())) return std::nullopt;
  return l->as_f64(0);
}

std::optional<std::vector<double>> Constants::along(const Value* v, int64_t axis) {
  if (const auto s = splat(v)) return std::vector<double>{*s};
  if (!is_constant(v)) return std::nullopt;
  const Op& op = *v->def();
  if (op.is("stablehlo.broadcast_in_dim")) {
    const auto& dims = op.i64s("broadcast_dimensions");
    const Value* x = op.operand();
    int64_t at = -1;
    for (size_t i = 0; i < dims.size(); ++i) {
      const bool one = x->type.shape[i] == Dim(1);
      if (dims[i] == axis && !one) at = static_cast<int64_t>(i);
      if (dims[i] != axis && !one) return std::nullopt;
    }
    return at < 0 ? std::nullopt : along(x, at);
  }
  if (op.def->kind == OpKind::Elementwise) {
    // Numbers along the axis, operand by operand.
    std::vector<Literal> args;
    int64_t n = 1;
    std::vector<std::vector<double>> lists;
    for (const Value* o : op.operands()) {
      auto l = along(o, axis);
      if (!l) return std::nullopt;
      n = std::max(n, static_cast<int64_t>(l->size()));
      lists.push_back(std::move(*l));
    }
    for (size_t i = 0; i < lists.size(); ++i) {
      Literal l(op.operand(static_cast<int>(i))->type.dtype, {n});
      for (int64_t k = 0; k < n; ++k) {
        l.set_f64(k, lists[i][lists[i].size() == 1 ? 0 : static_cast<size_t>(k)]);
      }
      args.push_back(std::move(l));
    }
    const auto r = evaluate_op(op, std::move(args));
    if (!r) return std::nullopt;
    std::vector<double> out;
    for (int64_t k = 0; k < n; ++k) out.push_back(r->as_f64(k));
    return out;
  }
  const auto l = get(v);
  if (!l || is_complex(l->dtype())) return std::nullopt;
  for (int64_t d = 0; d < l->rank(); ++d) {
    if (d != axis && l->dims()[static_cast<size_t>(d)] != 1) return std::nullopt;
  }
  std::vector<double> out;
  for (int64_t k = 0; k < l->size(); ++k) out.push_back(l->as_f64(k));
  return out;
}

const Value* other_operand(const Op& op, Constants& c, const Value*& constant) {
  if (op.num_operands() != 2) return nullptr;
  for (int i = 0; i < 2; ++i) {
    if (c.is_constant(op.operand(i)) && !c.is_constant(op.operand(1 - i))) {
      constant = op.operand(i);
      return op.operand(1 - i);
    }
  }
  return nullptr;
}

const Value* peel_bounds(const Value* v, Constants& c, double& low, double& high) {
  while (const Op* op = v->def()) {
    const Value* constant = nullptr;
    if (op->is("stablehlo.clamp")) {
      const auto a = c.splat(op->operand(0)), b = c.splat(op->operand(2));
      if (!a || !b) return v;
      low = std::max(low, *a);
      high = std::min(high, *b);
      v = op->operand(1);
    } else if (op->def->prim == Prim::Max || op->def->prim == Prim::Min) {
      const Value* x = other_operand(*op, c, constant);
      const auto bound = x ? c.splat(constant) : std::nullopt;
      if (!bound) return v;
      (op->def->prim == Prim::Max ? low : high) =
          op->def->prim == Prim::Max ? std::max(low, *bound) : std::min(high, *bound);
      v = x;
    } else {
      return v;
    }
  }
  return v;
}

std::optional<Centred> match_centred(const Value* v, Constants& c) {
  Centred r;
  const Op* op = v->def();
  if (!op) return std::nullopt;
  if (op->def->prim == Prim::Mul) {
    // The scale is the constant operand, or, where both are, the one that is no conversion.
    const Value* constant = nullptr;
    const Value* x = other_operand(*op, c, constant);
    if (!x && c.is_constant(v)) {
      x = op->operand(0);
      constant = op->operand(1);
    }
    if (!x || v->type.dtype != DType::F32) return std::nullopt;
    r.scale = constant;
    v = x;
    op = v->def();
    if (!op) return std::nullopt;
  }
  if (op->is("stablehlo.convert") && v->type.dtype == DType::F32 &&
      op->operand()->type.dtype == DType::I32 && op->operand()->def()) {
    v = op->operand();  // convert f32 of an i32 difference
    op = v->def();
  }
  if (op->def->prim == Prim::Sub) {
    const auto zero = c.splat(op->operand(1));
    if (!zero) return std::nullopt;
    r.zero = *zero;
    v = op->operand(0);
    op = v->def();
    if (!op) return std::nullopt;
  }
  if (op->is("stablehlo.convert")) {
    v = op->operand();
  } else if (!(v->type.dtype == DType::I32 && c.is_constant(v))) {
    return std::nullopt;
  }
  if (!is_int8(v->type.dtype) && v->type.dtype != DType::I32) return std::nullopt;
  r.q = v;
  return r;
}

std::optional<Quantized> match_quantized(const Value* v, Constants& c) {
  const Op* op = v->def();
  if (!op || !op->is("stablehlo.convert") || !is_int8(v->type.dtype) ||
      op->operand()->type.dtype != DType::F32) {
    return std::nullopt;
  }
  const bool is_signed = v->type.dtype == DType::I8;
  Quantized q;
  q.low = is_signed ? -128 : 0;
  q.high = is_signed ? 127 : 255;
  const Value* x = peel_bounds(op->operand(), c, q.low, q.high);
  op = x->def();
  if (!op) return std::nullopt;
  if (op->def->prim == Prim::Add) {
    const Value* constant = nullptr;
    x = other_operand(*op, c, constant);
    const auto zero = x ? c.splat(constant) : std::nullopt;
    if (!zero) return std::nullopt;
    q.zero = *zero;
    op = x->def();
    if (!op) return std::nullopt;
  }
  if (op->def->prim != Prim::RoundEven) return std::nullopt;
  q.y = op->operand();
  return q;
}

}  // namespace tenfold::tpu::matrix
