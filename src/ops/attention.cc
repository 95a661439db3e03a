// tenfold.attention: softmax(scale q k^T) v in one pass over the keys. The scores of a block of
// keys are all that exists of the queries x keys matrix; a running maximum and sum rescale what was
// added before (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et
// al., "FlashAttention", 2022).
#include <algorithm>
#include <cmath>

#include "ops/_check.h"

namespace tenfold {
namespace {

using loop::Buffer;
using loop::Expr;
using loop::LoopKind;
using Index = std::vector<Expr>;

constexpr int kBias = 3;  // first operand after q, k, v
// Queries run along vector lanes, so that maxima and sums of rows are vertical; keys and values are
// broadcast. Blocks of accumulators that stay in registers; keys of one block.
constexpr int64_t kLanes = 16, kRegisters = 8, kKeys = 32;

// The operand added to the scores, the one that says which keys are seen; -1: none.
int bias_of(const Op& op) {
  return op.num_operands() > kBias && ops::type(op, kBias).dtype != DType::Bool ? kBias : -1;
}
int mask_of(const Op& op) {
  const int last = op.num_operands() - 1;
  return last >= kBias && ops::type(op, last).dtype == DType::Bool ? last : -1;
}

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &q = ops::type(op, 0), &k = ops::type(op, 1), &v = ops::type(op, 2);
  ops::check_type(op, 0, ops::kFloat, diag);
  ops::check_dtypes(diag, "types", "queries and keys", q.dtype, k.dtype);
  ops::check_dtypes(diag, "types", "queries and values", q.dtype, v.dtype);
  const int r = q.rank();
  if (r < 2 || k.rank() != r || v.rank() != r) {
    diag.fail("rank", fmt::format("ranks {}, {} and {}, wanted one rank of 2 or more", r, k.rank(),
                                  v.rank()));
    return {q};
  }
  Shape keys = k.shape, values = v.shape, out = q.shape, scores = q.shape;
  keys[r - 2] = q.shape[r - 2];
  values[r - 2] = k.shape[r - 2];
  values[r - 1] = k.shape[r - 1];
  ops::check_shapes(diag, "shapes", "queries and keys", q.shape, keys);
  ops::check_shapes(diag, "shapes", "keys and values", k.shape, values);
  out[r - 1] = v.shape[r - 1];
  scores[r - 1] = k.shape[r - 2];
  const int extra = (bias_of(op) >= 0) + (mask_of(op) >= 0);
  if (op.num_operands() != kBias + extra) {
    diag.fail("operands", "wanted at most a bias and then a mask after q, k and v");
  }
  for (int i = kBias; i < op.num_operands(); ++i)
    ops::check_shapes(diag, "shapes", "the scores and what goes with them", scores,
                      ops::type(op, i).shape);
  if (const int b = bias_of(op); b >= 0)
    ops::check_dtypes(diag, "types", "queries and bias", q.dtype, ops::type(op, b).dtype);
  return {{q.dtype, out}};
}

Result<std::vector<Literal>> eval(EvalContext& ctx) {
  const Literal &q = ctx.args[0], &k = ctx.args[1], &v = ctx.args[2];
  const int bias = bias_of(*ctx.op), mask = mask_of(*ctx.op);
  const double scale = ctx.op->f64("scale"), masked = ctx.op->f64("masked");
  const size_t r = q.dims().size();
  const int64_t rows = q.dims()[r - 2], depth = q.dims()[r - 1], keys = k.dims()[r - 2],
                width = v.dims()[r - 1];
  std::vector<int64_t> dims = q.dims();
  dims[r - 1] = width;
  Literal out(q.dtype(), dims);
  int64_t batch = 1;
  for (size_t i = 0; i + 2 < r; ++i) batch *= dims[i];
  std::vector<double> p(static_cast<size_t>(keys));
  for (int64_t i = 0; i < batch * rows; ++i) {
    const int64_t b = i / rows;
    double most = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (int64_t d = 0; d < depth; ++d)
        s += q.as_f64(i * depth + d) * k.as_f64((b * keys + j) * depth + d);
      s *= scale;
      if (bias >= 0) s += ctx.args[bias].as_f64(i * keys + j);
      if (mask >= 0 && ctx.args[mask].as_i64(i * keys + j) == 0) s = masked;
      p[j] = s;
      most = std::isnan(s) || s > most ? s : most;
    }
    for (double& x : p) x = std::exp(x - most), sum += x;
    for (int64_t e = 0; e < width; ++e) {
      double y = 0;
      for (int64_t j = 0; j < keys; ++j) y += p[j] * v.as_f64((b * keys + j) * width + e);
      out.set_f64(i * width + e, keys == 0 ? 0 : y / sum);
    }
  }
  return ops::one(std::move(out));
}

Expr o(Prim p, std::vector<Expr> args) { return loop::op(p, std::move(args)); }
Expr n_blocks(const Expr& n, int64_t size) {
  return loop::idiv(n + (size - 1), loop::int_const(size));
}

Status emit(EmitContext& ctx) {
  loop::Builder& b = *ctx.b;
  const Op& op = *ctx.op;
  const TensorType& q = ops::type(op, 0);
  const size_t r = static_cast<size_t>(q.rank());
  const DType t = q.dtype == DType::F64 ? DType::F64 : DType::F32;
  const Expr rows = ctx.dim(q.shape[r - 2]), depth = ctx.dim(q.shape[r - 1]);
  const Expr keys = ctx.dim(ops::type(op, 1).shape[r - 2]);
  const Expr width = ctx.dim(ops::type(op, 2).shape[r - 1]);
  const int bias = bias_of(op), mask = mask_of(op);
  const Expr lowest = loop::float_const(-HUGE_VAL, t), nothing = loop::zero(t);
  const auto lanes = [&](const std::function<void(Expr)>& f) {
    b.for_("r", loop::int_const(kLanes), f, LoopKind::Vectorized);
  };
  // A block of accumulators: `n` rows of lanes.
  const auto block = [&](const char* name, int64_t n, const std::function<void(Expr, Expr)>& f) {
    b.for_(
        name, loop::int_const(n), [&](Expr x) { lanes([&](Expr lane) { f(x, lane); }); },
        LoopKind::Unrolled);
  };
  std::vector<Expr> outer = ops::dims_of(ctx, Shape(q.shape.begin(), q.shape.end() - 2));
  outer.push_back(n_blocks(rows, kLanes));
  b.nest("i", outer, [&](const Index& i) {
    const auto at = [&](const Expr& row, const Expr& column) {
      Index x(i.begin(), i.end() - 1);
      x.push_back(row);
      x.push_back(column);
      return x;
    };
    const Expr first = i.back() * kLanes;
    const auto row_of = [&](const Expr& lane) { return loop::imin(first + lane, rows - 1); };
    const auto array = [&](const char* name, std::vector<Expr> shape, loop::Scope scope) {
      shape.push_back(loop::int_const(kLanes));
      return b.alloc(name, t, std::move(shape), scope);
    };
    const Expr wide = n_blocks(width, kRegisters) * kRegisters;
    const Buffer query = array("query", {depth}, loop::Scope::Workspace);
    const Buffer sum_of_values = array("values", {wide}, loop::Scope::Workspace);
    const Buffer scores = array("scores", {loop::int_const(kKeys)}, loop::Scope::Workspace);
    const Buffer most = array("most", {}, loop::Scope::Stack);
    const Buffer total = array("total", {}, loop::Scope::Stack);
    const Buffer before = array("before", {}, loop::Scope::Stack);  // rescales what was summed
    const Buffer top = array("top", {}, loop::Scope::Stack);
    b.for_("d", depth, [&](const Expr& d) {
      lanes([&](const Expr& lane) {
        b.store(query, {d, lane}, loop::cast(ctx.operand(0, at(row_of(lane), d)), t));
      });
    });
    b.for_("e", wide, [&](const Expr& e) {
      lanes([&](const Expr& lane) { b.store(sum_of_values, {e, lane}, nothing); });
    });
    lanes([&](const Expr& lane) {
      b.store(most, {lane}, lowest);
      b.store(total, {lane}, nothing);
    });
    b.for_("j", n_blocks(keys, kKeys), [&](const Expr& j) {
      const Expr from = j * kKeys;
      b.for_("c", loop::int_const(kKeys / kRegisters), [&](const Expr& c) {
        const Buffer acc =
            b.alloc("acc", t, {loop::int_const(kRegisters), loop::int_const(kLanes)});
        const auto key = [&](const Expr& x) { return from + c * kRegisters + x; };
        block("x", kRegisters, [&](Expr x, Expr lane) { b.store(acc, {x, lane}, nothing); });
        b.for_("d", depth, [&](const Expr& d) {
          block("x", kRegisters, [&](Expr x, Expr lane) {
            const Expr k = loop::cast(ctx.operand(1, at(loop::imin(key(x), keys - 1), d)), t);
            b.store(acc, {x, lane},
                    o(Prim::Add, {loop::load(acc, {x, lane}),
                                  o(Prim::Mul, {k, loop::load(query, {d, lane})})}));
          });
        });
        block("x", kRegisters, [&](Expr x, Expr lane) {
          Expr s = loop::load(acc, {x, lane});
          if (op.f64("scale") != 1) s = o(Prim::Mul, {s, loop::float_const(op.f64("scale"), t)});
          const Index there = at(row_of(lane), loop::imin(key(x), keys - 1));
          if (bias >= 0) s = o(Prim::Add, {s, loop::cast(ctx.operand(bias, there), t)});
          if (mask >= 0)
            s = loop::select(ctx.operand(mask, there), s, loop::float_const(op.f64("masked"), t));
          s = loop::select(loop::lt(key(x), keys), s, lowest);
          b.store(scores, {c * kRegisters + x, lane}, s);
        });
      });
      lanes([&](const Expr& lane) { b.store(top, {lane}, loop::load(most, {lane})); });
      b.for_("c", loop::int_const(kKeys), [&](const Expr& c) {
        lanes([&](const Expr& lane) {
          b.store(top, {lane},
                  o(Prim::Max, {loop::load(top, {lane}), loop::load(scores, {c, lane})}));
        });
      });
      // Where no key was seen yet the maximum is -inf; 0 in its place leaves exp(-inf) = 0.
      const auto shift = [&](const Expr& lane) {
        const Expr m = loop::load(top, {lane});
        return loop::select(o(Prim::Eq, {m, lowest}), nothing, m);
      };
      lanes([&](const Expr& lane) {
        const Expr s = b.let("shift", shift(lane));
        const Expr f = b.let("f", o(Prim::Exp, {o(Prim::Sub, {loop::load(most, {lane}), s})}));
        b.store(before, {lane}, f);
        b.store(total, {lane}, o(Prim::Mul, {loop::load(total, {lane}), f}));
        b.store(most, {lane}, loop::load(top, {lane}));
        b.store(top, {lane}, s);
      });
      b.for_("c", loop::int_const(kKeys), [&](const Expr& c) {
        lanes([&](const Expr& lane) {
          const Expr d = o(Prim::Sub, {loop::load(scores, {c, lane}), loop::load(top, {lane})});
          const Expr p = b.let("p", o(Prim::Exp, {d}));
          b.store(scores, {c, lane}, p);
          b.store(total, {lane}, o(Prim::Add, {loop::load(total, {lane}), p}));
        });
      });
      b.for_("e", n_blocks(width, kRegisters), [&](const Expr& e) {
        const Buffer acc =
            b.alloc("acc", t, {loop::int_const(kRegisters), loop::int_const(kLanes)});
        const auto column = [&](const Expr& x) { return e * kRegisters + x; };
        block("x", kRegisters, [&](Expr x, Expr lane) {
          b.store(acc, {x, lane},
                  o(Prim::Mul,
                    {loop::load(sum_of_values, {column(x), lane}), loop::load(before, {lane})}));
        });
        b.for_("c", loop::imin(loop::int_const(kKeys), keys - from), [&](const Expr& c) {
          block("x", kRegisters, [&](Expr x, Expr lane) {
            const Expr v =
                loop::cast(ctx.operand(2, at(from + c, loop::imin(column(x), width - 1))), t);
            b.store(acc, {x, lane},
                    o(Prim::Add, {loop::load(acc, {x, lane}),
                                  o(Prim::Mul, {v, loop::load(scores, {c, lane})})}));
          });
        });
        block("x", kRegisters, [&](Expr x, Expr lane) {
          b.store(sum_of_values, {column(x), lane}, loop::load(acc, {x, lane}));
        });
      });
    });
    b.for_("e", width, [&](const Expr& e) {
      lanes([&](const Expr& lane) {
        b.if_(loop::lt(first + lane, rows), [&] {
          Expr y = o(Prim::Div, {loop::load(sum_of_values, {e, lane}), loop::load(total, {lane})});
          y = loop::select(loop::eq(keys, loop::int_const(0)), nothing, y);  // an empty sum
          ctx.store(0, at(first + lane, e), loop::cast(y, q.dtype));
        });
      });
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_attention;
const OpDef op_attention = {
    .name = "tenfold.attention",
    .summary = "softmax(scale q k^T + bias) v, without the matrix of scores in memory.",
    .doc =
        "Operands: q [batch..., queries, depth], k [batch..., keys, depth], v [batch..., keys, "
        "width]; then optionally a bias and a mask (boolean), both [batch..., queries, keys]. "
        "Where "
        "the mask is false the score is `masked`. Computed in f32 (f64 for f64).",
    .kind = OpKind::Opaque,
    .min_operands = 3,
    .max_operands = 5,
    .attrs = {{"scale", AttrKind::F64},
              {"masked", AttrKind::F64, true, "the score of unseen keys"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .constraints = {"I1", "types", "rank", "shapes", "operands"},
};

}  // namespace tenfold
