// tenfold.resize: ONNX Resize in all its modes.
#include "ops/resize_util.h"

namespace tenfold {

namespace {

using namespace loop;

// Weight of a tap at distance `t` (already squeezed for antialias).
Expr tap_weight(const Resize& r, const Expr& distance) {
  const auto f = [](double v) { return float_const(v, DType::F64); };
  const auto add = [](const Expr& a, const Expr& b) { return loop::op(Prim::Add, {a, b}); };
  const auto mul = [](const Expr& a, const Expr& b) { return loop::op(Prim::Mul, {a, b}); };
  const Expr t = loop::op(Prim::Abs, {distance});
  if (r.mode == ResizeMode::Linear)
    return loop::op(Prim::Max, {f(0), loop::op(Prim::Sub, {f(1), t})});
  const double a = r.cubic_a;
  const Expr near = add(mul(mul(add(mul(f(a + 2), t), f(-(a + 3))), t), t), f(1));
  const Expr far = add(mul(add(mul(add(mul(f(a), t), f(-5 * a)), t), f(8 * a)), t), f(-4 * a));
  return select(loop::op(Prim::Le, {t, f(1)}), near,
                select(loop::op(Prim::Lt, {t, f(2)}), far, f(0)));
}

// Loops over the result; each resized dimension prepares its taps' weights right inside its loop.
Status emit(EmitContext& c) {
  Builder& b = *c.b;
  const Resize r = read_resize(*c.op, std::nullopt);
  const DType t = c.op->result()->type.dtype;
  const DType compute = resize_compute_type(t);
  const DimExpr dim = [&](const Dim& d) { return c.dim(d); };
  const size_t rank = r.axes.size();
  const bool nearest = r.mode == ResizeMode::Nearest;
  struct Taps {
    size_t axis;
    Expr first, count;
    std::function<Expr(Expr)> weight;
  };
  std::vector<Taps> taps;
  std::vector<Expr> index(rank), from(rank);
  Expr outside;

  const auto element = [&] {
    Expr v;
    if (taps.empty()) {
      v = c.operand(0, from);
    } else {
      const Buffer sum = b.cell("sum", zero(compute));
      const std::function<void(size_t, Expr)> accumulate = [&](size_t k, Expr weight) {
        if (k == taps.size()) {
          const Expr x = cast(c.operand(0, from), compute);
          b.set(sum, loop::op(Prim::Add, {b.get(sum), loop::op(Prim::Mul, {x, weight})}));
          return;
        }
        const Taps& s = taps[k];
        b.for_("k", s.count, [&](Expr i) {
          from[s.axis] = resize_clamp(r.axes[s.axis], s.first + i, dim);
          const Expr w = s.weight(i);
          accumulate(k + 1, weight ? loop::op(Prim::Mul, {weight, w}) : w);
        });
      };
      accumulate(0, nullptr);
      v = resize_result(b.get(sum), t);
    }
    if (outside) v = select(outside, cast(float_const(r.extrapolation, DType::F64), t), v);
    c.store(0, index, v);
  };

  const std::function<void(size_t)> loops = [&](size_t d) {
    if (d == rank) return element();
    const LoopKind kind = d == 0 && b.at_top() ? LoopKind::Parallel : LoopKind::Serial;
    b.for_(
        "o", c.dim(r.axes[d].out),
        [&](Expr o) {
          const ResizeAxis& a = r.axes[d];
          index[d] = from[d] = o;
          if (a.identity) return loops(d + 1);
          const Expr was_outside = outside;
          const Expr x = b.let("x", resize_coordinate(r, a, o, dim));
          if (const Expr out = resize_outside(r, a, x, dim))
            outside = outside ? logical_or(outside, out) : out;
          if (nearest) {
            const Expr half = float_const(0.5, DType::F64);
            Expr i;
            switch (r.nearest) {
              case ResizeNearest::RoundPreferFloor:
                i = loop::op(Prim::Ceil, {loop::op(Prim::Sub, {x, half})});
                break;
              case ResizeNearest::RoundPreferCeil:
                i = loop::op(Prim::Floor, {loop::op(Prim::Add, {x, half})});
                break;
              case ResizeNearest::Floor:
                i = loop::op(Prim::Floor, {x});
                break;
              case ResizeNearest::Ceil:
                i = loop::op(Prim::Ceil, {x});
                break;
            }
            from[d] = b.let("i", resize_clamp(a, cast(i, DType::I64), dim));
            loops(d + 1);
            outside = was_outside;
            return;
          }
          // Taps floor(x) - n/2 + 1 ... floor(x) + n/2.
          const double radius = r.mode == ResizeMode::Linear ? 1 : 2;
          Expr half_count = int_const(static_cast<int64_t>(radius));
          Expr squeeze = float_const(1, DType::F64);
          if (r.antialias) {
            squeeze = loop::op(Prim::Min, {resize_scale(a, dim), float_const(1, DType::F64)});
            half_count =
                cast(loop::op(Prim::Ceil,
                              {loop::op(Prim::Div, {float_const(radius, DType::F64), squeeze})}),
                     DType::I64);
          }
          int64_t known = 0;
          if (a.scale || (a.in.is_const() && a.out.is_const()) || !r.antialias) {
            const double s = a.scale       ? *a.scale
                             : r.antialias ? static_cast<double>(a.out.value()) /
                                                 static_cast<double>(a.in.value())
                                           : 1;
            known =
                static_cast<int64_t>(std::ceil(radius / (r.antialias ? std::min(s, 1.0) : 1.0)));
            half_count = int_const(known);
          }
          Taps s;
          s.axis = d;
          s.count = half_count * 2;
          s.first = b.let("first", cast(loop::op(Prim::Floor, {x}), DType::I64) - half_count + 1);
          const bool normalise = r.antialias || r.exclude_outside;
          Buffer total;
          if (normalise) total = b.cell("total", float_const(0, DType::F64));
          const auto weight = [&](const Expr& k) {
            const Expr i = s.first + k;
            const Expr distance =
                loop::op(Prim::Mul, {loop::op(Prim::Sub, {cast(i, DType::F64), x}), squeeze});
            Expr w = tap_weight(r, distance);
            if (r.exclude_outside)
              w = select(logical_and(ge(i, int_const(0)), lt(i, c.dim(a.in))), w,
                         float_const(0, DType::F64));
            return w;
          };
          if (normalise) {
            b.for_("k", s.count,
                   [&](Expr k) { b.set(total, loop::op(Prim::Add, {b.get(total), weight(k)})); });
          }
          const auto share = [&](const Expr& k) {
            const Expr w = weight(k);
            if (!normalise) return cast(w, compute);
            const Expr sum = b.get(total);
            const Expr nothing = loop::op(Prim::Eq, {sum, float_const(0, DType::F64)});
            return cast(loop::op(Prim::Div, {w, select(nothing, float_const(1, DType::F64), sum)}),
                        compute);
          };
          if (known) {
            // Prepared once for all that lies further in.
            const Buffer weights = b.alloc("weights", compute, {s.count},
                                           known <= 256 ? Scope::Stack : Scope::Workspace);
            b.for_("k", s.count, [&](Expr k) { b.store(weights, {k}, share(k)); });
            s.weight = [weights](const Expr& k) { return load(weights, {k}); };
          } else {
            s.weight = share;  // no room of a size known when the kernel starts
          }
          taps.push_back(s);
          loops(d + 1);
          taps.pop_back();
          outside = was_outside;
        },
        kind);
  };
  loops(0);
  return ok_status();
}

}  // namespace

extern const OpDef op_resize;
const OpDef op_resize = {
    .name = "tenfold.resize",
    .summary = "Resize by nearest, linear or cubic interpolation",
    .doc =
        "ONNX Resize with its policies resolved: `sizes` is the result's shape and `scales` the "
        "factors coordinates are computed with (sizes over input sizes where absent). Coordinates "
        "are f64. Where it applies, tenfold.resize_nearest or tenfold.resize_linear is the better "
        "choice, because they fuse into their users.",
    .kind = OpKind::Opaque,
    .min_operands = 1,
    .max_operands = 1,
    .attrs = resize_attrs(true),
    .infer = [](const Op& op, Diag& d) { return infer_resize(op, std::nullopt, d); },
    .eval = [](EvalContext& c) -> Result<std::vector<Literal>> {
      return std::vector<Literal>{eval_resize(read_resize(*c.op, std::nullopt), c)};
    },
    .emit = emit,
    .constraints = resize_constraints(),
};

}  // namespace tenfold
