// See reduce_util.h.
#include "ops/reduce_util.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ops/_elementwise.h"
#include "ops/_view.h"

namespace tenfold {

std::optional<Prim> reducer_prim(const Block& region) {
  if (region.args.size() != 2 || region.ops.size() != 2) return std::nullopt;
  const Op& op = *region.ops.front();
  if (!op.def->prim || op.num_operands() != 2) return std::nullopt;
  const std::vector<Value*>& out = region.results();
  if (out.size() != 1 || out[0] != op.result()) return std::nullopt;
  const Value *a = region.args[0].get(), *b = region.args[1].get();
  const bool both =
      (op.operand(0) == a && op.operand(1) == b) || (op.operand(0) == b && op.operand(1) == a);
  if (!both) return std::nullopt;
  switch (*op.def->prim) {
    case Prim::Add:
    case Prim::Mul:
    case Prim::Max:
    case Prim::Min:
    case Prim::And:
    case Prim::Or:
    case Prim::Xor:
      return op.def->prim;
    default:
      return std::nullopt;
  }
}

Literal identity(Prim p, DType t) {
  switch (p) {
    case Prim::Mul:
      return Literal::scalar(t, 1);
    case Prim::And:
      return Literal::scalar_i(t, t == DType::Bool ? 1 : -1);
    case Prim::Max:
    case Prim::Min: {
      const bool least = p == Prim::Max;
      if (t == DType::Bool) return Literal::scalar_i(t, least ? 0 : 1);
      if (is_integer(t)) {
        const int bits = bit_width(t);
        if (is_signed(t)) {
          const int64_t low = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
          return Literal::scalar_i(t, least ? low : ~low);
        }
        return Literal::scalar_i(t, least ? 0 : -1);
      }
      if (t == DType::F8E8M0FNU) return Literal::scalar(t, least ? 0x1p-127 : 0x1p127);
      Literal inf = Literal::scalar(t, least ? -HUGE_VAL : HUGE_VAL);
      if (std::isinf(inf.as_f64(0))) return inf;
      const FloatFormat f = format_of(t);
      const double top = decode_small_float(t, static_cast<uint16_t>(f.max_code()));
      return Literal::scalar(t, least ? -top : top);
    }
    default:
      return Literal::scalar_i(t, 0);
  }
}

DType reduce_accumulator(Prim p, DType t) {
  const bool sums = p == Prim::Add || p == Prim::Mul;
  return sums && is_float(t) && t != DType::F64 ? DType::F32 : t;
}

namespace {

bool is_identity_on_scalars(const Op& op) {
  return op.def->kind == OpKind::View && op.num_operands() == 1 && op.num_results() == 1 &&
         op.operand()->type.rank() == 0 && op.operand()->type == op.result()->type;
}

// The parent's context with another op and other arguments.
class OpContext final : public EvalContext {
 public:
  OpContext(EvalContext& parent, const Op* o, std::vector<Literal> a) : parent_(parent) {
    op = o;
    args = std::move(a);
  }
  int64_t dim(const Dim& d) const override { return parent_.dim(d); }
  Result<std::vector<Literal>> run_region(const Block& b, std::vector<Literal> a) override {
    return parent_.run_region(b, std::move(a));
  }
  Result<std::vector<Literal>> run_function(std::string_view f, std::vector<Literal> a) override {
    return parent_.run_function(f, std::move(a));
  }
  void bind_symbol(const Symbol& s, int64_t v) override { parent_.bind_symbol(s, v); }

 private:
  EvalContext& parent_;
};

Literal element_of(const Literal& x, int64_t i) {
  if (x.rank() == 0) return x;
  return ops::gather_strided(x, {}, i, {});
}

Result<std::vector<Literal>> run_each(EvalContext& ctx, const Block& region,
                                      const std::vector<Literal>& args, int64_t length) {
  std::vector<Literal> out;
  for (const Value* v : region.results()) out.emplace_back(v->type.dtype, std::vector{length});
  for (int64_t i = 0; i < length; ++i) {
    std::vector<Literal> scalars;
    for (const Literal& a : args) scalars.push_back(element_of(a, i));
    TF_ASSIGN(auto r, ctx.run_region(region, std::move(scalars)));
    for (size_t k = 0; k < r.size(); ++k) {
      const int size = byte_size(r[k].dtype());
      std::memcpy(out[k].mutable_bytes() + i * size, r[k].bytes(), size);
    }
  }
  return out;
}

}  // namespace

bool is_scalar_region(const Block& region) {
  for (auto& op : region.ops) {
    for (const Value* v : op->operands()) {
      const Block* home = v->def() ? v->def()->parent() : v->block();
      if (home != &region) return false;
    }
    if (op->def->kind == OpKind::Terminator) continue;
    if (op->num_regions() || op->num_results() != 1 || op->result()->type.rank() != 0) return false;
    const bool constant = op->def->kind == OpKind::Constant && op->num_operands() == 0;
    if (op->def->kind != OpKind::Elementwise && !constant && !is_identity_on_scalars(*op)) {
      return false;
    }
  }
  return true;
}

Result<std::vector<Literal>> run_region_on_arrays(EvalContext& ctx, const Block& region,
                                                  std::vector<Literal> args, int64_t length) {
  if (!is_scalar_region(region)) return run_each(ctx, region, args, length);
  std::unordered_map<const Value*, Literal> values;
  for (size_t i = 0; i < args.size(); ++i) values[region.args[i].get()] = std::move(args[i]);
  for (auto& op : region.ops) {
    if (op->def->kind == OpKind::Terminator) break;
    std::vector<Literal> in;
    for (const Value* v : op->operands()) in.push_back(values.at(v));
    if (is_identity_on_scalars(*op)) {
      values[op->result()] = in[0];
      continue;
    }
    OpContext sub(ctx, op.get(), std::move(in));
    TF_ASSIGN(auto r, op->def->eval(sub));
    values[op->result()] = std::move(r[0]);
  }
  std::vector<Literal> out;
  for (const Value* v : region.results()) {
    const Literal& l = values.at(v);
    out.push_back(l.rank() == 0 ? ops::filled(l, {length}) : l);
  }
  return out;
}

namespace {

// Rows first, first + step, ... (count of them) of [rows, n], as one flat array.
Literal rows_of(const Literal& x, int64_t n, int64_t first, int64_t step, int64_t count) {
  Literal out = ops::gather_strided(x, {count, n}, first * n, {step * n, 1});
  return out.reshaped({count * n});
}

// Sums and products of floats: one f64 accumulator an element, in row order.
Literal sum_rows(Prim p, const Literal& x, const Literal& init, int64_t rows, int64_t n) {
  const bool add = p == Prim::Add;
  std::vector<double> acc(n, init.as_f64(0));
  const auto take = [&](const auto* in) {
    for (int64_t r = 0; r < rows; ++r, in += n) {
      for (int64_t i = 0; i < n; ++i) acc[i] = add ? acc[i] + in[i] : acc[i] * in[i];
    }
  };
  if (x.dtype() == DType::F64) {
    take(x.data<double>().data());
  } else {
    const Literal wide = x.dtype() == DType::F32 ? x : convert(x, DType::F32);
    take(wide.data<float>().data());
  }
  Literal out(x.dtype(), {n});
  for (int64_t i = 0; i < n; ++i) out.set_f64(i, acc[i]);
  return out;
}

// Anything exactly associative and commutative: halves against each other.
Literal halve_rows(Prim p, Literal x, const Literal& init, int64_t rows, int64_t n) {
  while (rows > 1) {
    const int64_t half = rows / 2, keep = rows - half;
    Literal front = rows_of(x, n, 0, 1, keep), back = rows_of(x, n, keep, 1, half);
    const Literal mine = rows_of(front, n, 0, 1, half);
    const Literal both = ops::LiteralAlgebra::op(p, {mine, back});
    if (half > 0) std::memcpy(front.mutable_bytes(), both.bytes(), both.byte_count());
    x = std::move(front);
    rows = keep;
  }
  const Literal row = rows == 1 ? x.reshaped({n}) : ops::filled(init, {n});
  return rows == 1 ? ops::LiteralAlgebra::op(p, {init, row}) : row;
}

}  // namespace

Result<std::vector<Literal>> reduce_rows(EvalContext& ctx, const Block& reducer,
                                         std::vector<Literal> arrays,
                                         const std::vector<Literal>& init, int64_t rows,
                                         int64_t n) {
  const size_t k = arrays.size();
  std::vector<Literal> out;
  if (rows == 0 || n == 0) {
    for (const Literal& v : init) out.push_back(ops::filled(v, {n}));
    return out;
  }
  if (const auto p = reducer_prim(reducer)) {
    const DType t = arrays[0].dtype();
    const bool sums = is_float(t) && (*p == Prim::Add || *p == Prim::Mul);
    return ops::one(sums ? sum_rows(*p, arrays[0], init[0], rows, n)
                         : halve_rows(*p, std::move(arrays[0]), init[0], rows, n));
  }
  // A tree over neighbours, so that the elements stay in order.
  while (rows > 1) {
    const int64_t half = rows / 2;
    std::vector<Literal> args, last;
    for (int64_t side = 0; side < 2; ++side) {
      for (const Literal& a : arrays) args.push_back(rows_of(a, n, side, 2, half));
    }
    for (const Literal& a : arrays) last.push_back(rows_of(a, n, rows - 1, 1, 1));
    TF_ASSIGN(auto next, run_region_on_arrays(ctx, reducer, std::move(args), half * n));
    if (rows % 2) {
      for (size_t i = 0; i < k; ++i) {
        Literal joined(next[i].dtype(), {(half + 1) * n});
        std::memcpy(joined.mutable_bytes(), next[i].bytes(), next[i].byte_count());
        std::memcpy(joined.mutable_bytes() + next[i].byte_count(), last[i].bytes(),
                    last[i].byte_count());
        next[i] = std::move(joined);
      }
    }
    arrays = std::move(next);
    rows = half + rows % 2;
  }
  std::vector<Literal> args = init;
  for (Literal& a : arrays) args.push_back(a.reshaped({n}));
  return run_region_on_arrays(ctx, reducer, std::move(args), n);
}

}  // namespace tenfold
