// tenfold.grid_sample: samples an image at given coordinates, as ONNX GridSample defines it.
#include <cmath>

#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

constexpr double kCubic = -0.75;

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &x = op.operand(0)->type, &grid = op.operand(1)->type;
  const int spatial = x.rank() - 2;
  if (spatial < 1) diag.fail("C1", "wanted [batch, channels, sizes...], found " + x.str());
  if (grid.rank() != x.rank() || !is_float(grid.dtype) || grid.rank() == 0 ||
      !diag.equal(grid.shape[0], x.shape[0]) || !diag.equal(grid.shape.back(), spatial)) {
    diag.fail("C2", "the grid is " + grid.str() + ", wanted floats [batch, sizes..., " +
                        std::to_string(spatial) + "] of rank " + std::to_string(x.rank()));
  }
  const std::string mode = str_or(op, "mode", "linear");
  const std::string padding = str_or(op, "padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    diag.fail("C3", "mode is " + mode + ", wanted linear, nearest or cubic");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    diag.fail("C4", "padding_mode is " + padding + ", wanted zeros, border or reflection");
  if (mode != "nearest" && !is_float(x.dtype))
    diag.fail("C5", "only floats can be interpolated, found " + x.str());
  if (!diag.ok()) return {x};
  TensorType out = x;
  for (int d = 0; d < spatial; ++d) out.shape[2 + d] = grid.shape[1 + d];
  return {out};
}

// --- evaluator -----------------------------------------------------------------------------------

double reflect(double x, double low, double high) {
  if (x >= low && x <= high) return x;
  const double range = high - low;
  if (!(range > 0)) return low;
  const double d = x < low ? low - x : x - high;
  const double turns = std::floor(d / range), rest = d - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

struct Tap {
  int64_t index;  // -1: a zero
  double weight;
};

std::vector<Tap> taps_of(double n, int64_t size, const std::string& mode,
                         const std::string& padding, bool align, bool single) {
  const double length = static_cast<double>(size);
  const double low = align ? 0 : -0.5, high = align ? length - 1 : length - 0.5;
  double x;
  if (single) {  // coordinates have the grid's precision
    const float f = static_cast<float>(n), l = static_cast<float>(length);
    x = align ? (f + 1) / 2.0f * (l - 1) : ((f + 1) * l - 1) / 2.0f;
  } else {
    x = align ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
  }
  if (mode == "nearest") x = std::nearbyint(x);
  if (x < low || x > high) {
    if (padding == "border")
      x = std::clamp(x, 0.0, length - 1);
    else if (padding == "reflection")
      x = reflect(x, low, high);
  }
  const auto place = [&](double i) -> int64_t {
    if (padding == "zeros") return i >= 0 && i < length ? static_cast<int64_t>(i) : -1;
    if (padding == "reflection") i = std::trunc(reflect(i, low, high));
    return static_cast<int64_t>(std::clamp(std::isnan(i) ? 0 : i, 0.0, length - 1));
  };
  if (mode == "nearest") return {{place(std::trunc(x)), 1}};
  const double base = std::floor(x), f = x - base;
  if (mode == "linear") return {{place(base), 1 - f}, {place(base + 1), f}};
  const auto near = [](double t) { return ((kCubic + 2) * t - (kCubic + 3)) * t * t + 1; };
  const auto far = [](double t) {
    return ((kCubic * t - 5 * kCubic) * t + 8 * kCubic) * t - 4 * kCubic;
  };
  return {{place(base - 1), far(f + 1)},
          {place(base), near(f)},
          {place(base + 1), near(1 - f)},
          {place(base + 2), far(2 - f)}};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal &x = c.args[0], &grid = c.args[1];
  const std::string mode = str_or(*c.op, "mode", "linear");
  const std::string padding = str_or(*c.op, "padding_mode", "zeros");
  Literal out(x.dtype(), c.shape(c.op->result()->type));
  if (out.size() == 0) return std::vector<Literal>{out};
  const size_t spatial = x.dims().size() - 2;
  const int64_t channels = x.dims()[1];
  const auto strides = row_major_strides(x.dims());
  int64_t points = 1;
  for (size_t d = 0; d < spatial; ++d) points *= out.dims()[2 + d];
  const bool real = is_float(x.dtype());
  for (int64_t n = 0; n < x.dims()[0]; ++n) {
    for (int64_t p = 0; p < points; ++p) {
      // All taps of the point as offset and weight; -1: a zero.
      std::vector<Tap> all{{0, 1}};
      for (size_t d = 0; d < spatial; ++d) {
        const int64_t at = (n * points + p) * static_cast<int64_t>(spatial) +
                           static_cast<int64_t>(spatial - 1 - d);
        std::vector<Tap> next;
        const auto own = taps_of(grid.as_f64(at), x.dims()[2 + d], mode, padding,
                                 c.op->flag("align_corners"), grid.dtype() != DType::F64);
        for (const Tap& a : all)
          for (const Tap& b : own)
            next.push_back({a.index < 0 || b.index < 0 ? -1 : a.index + b.index * strides[2 + d],
                            a.weight * b.weight});
        all = std::move(next);
      }
      for (int64_t ch = 0; ch < channels; ++ch) {
        const int64_t base = n * strides[0] + ch * strides[1];
        const int64_t to = (n * channels + ch) * points + p;
        if (!real) {
          out.set_i64(to, all[0].index < 0 ? 0 : x.as_i64(base + all[0].index));
          continue;
        }
        double v = 0;
        for (const Tap& t : all)
          if (t.index >= 0) v += t.weight * x.as_f64(base + t.index);
        out.set_f64(to, v);
      }
    }
  }
  return std::vector<Literal>{out};
}

// --- lowering ------------------------------------------------------------------------------------

using namespace loop;

struct TapExpr {
  Expr index, inside, weight;  // inside null: always
};

Status emit(EmitContext& c) {
  Builder& b = *c.b;
  const Op& op = *c.op;
  const std::string mode = str_or(op, "mode", "linear");
  const std::string padding = str_or(op, "padding_mode", "zeros");
  const bool align = op.flag("align_corners");
  const Shape& in = op.operand(0)->type.shape;
  const Shape& out = op.result()->type.shape;
  const DType t = op.result()->type.dtype;
  const DType compute = t == DType::F64 ? DType::F64 : DType::F32;
  const DType real = op.operand(1)->type.dtype == DType::F64 ? DType::F64 : DType::F32;
  const size_t spatial = in.size() - 2;
  const auto num = [&](double v) { return float_const(v, real); };
  const auto wide = [&](const Expr& e) { return cast(e, real); };
  const auto call = [](Prim p, const Expr& x, const Expr& y) { return loop::op(p, {x, y}); };
  const auto add = [&](const Expr& x, const Expr& y) { return call(Prim::Add, x, y); };
  const auto sub = [&](const Expr& x, const Expr& y) { return call(Prim::Sub, x, y); };
  const auto mul = [&](const Expr& x, const Expr& y) { return call(Prim::Mul, x, y); };
  const auto div = [&](const Expr& x, const Expr& y) { return call(Prim::Div, x, y); };
  const auto lower = [&](const Expr& x, const Expr& y) { return call(Prim::Lt, x, y); };

  const auto reflected = [&](const Expr& x, const Expr& low, const Expr& high) -> Expr {
    const Expr range = b.let("range", sub(high, low));
    const Expr below = b.let("below", lower(x, low));
    const Expr d = b.let("d", select(below, sub(low, x), sub(x, high)));
    const Expr turns = b.let("turns", loop::op(Prim::Floor, {div(d, range)}));
    const Expr rest = b.let("rest", sub(d, mul(turns, range)));
    const Expr half = loop::op(Prim::Floor, {mul(turns, num(0.5))});
    const Expr even = call(Prim::Eq, turns, mul(half, num(2)));
    const Expr from_low = call(Prim::Eq, below, even);
    const Expr turned = select(from_low, add(low, rest), sub(high, rest));
    const Expr outside = logical_or(below, lower(high, x));
    const Expr inner = select(lower(num(0), range), turned, low);
    return b.let("reflected", select(outside, inner, x));
  };
  // The taps of one dimension at grid value g.
  const auto taps_of = [&](const Expr& g, const Dim& size) -> std::vector<TapExpr> {
    const Expr n = c.dim(size);
    const Expr length = wide(n);
    const Expr low = num(align ? 0 : -0.5);
    const Expr high = sub(length, num(align ? 1 : 0.5));
    const Expr one = add(g, num(1));
    Expr x = b.let("x", align ? mul(div(one, num(2)), sub(length, num(1)))
                              : div(sub(mul(one, length), num(1)), num(2)));
    if (mode == "nearest") x = b.let("x", loop::op(Prim::RoundEven, {x}));
    if (padding == "border") {
      const Expr clamped = call(Prim::Max, num(0), call(Prim::Min, x, sub(length, num(1))));
      const Expr outside = logical_or(lower(x, low), lower(high, x));
      x = b.let("x", select(outside, clamped, x));
    } else if (padding == "reflection") {
      x = reflected(x, low, high);
    }
    const auto tap = [&](const Expr& i, const Expr& weight) -> TapExpr {
      TapExpr r;
      r.weight = weight ? b.let("weight", cast(weight, compute)) : nullptr;
      const Expr at = padding == "reflection" ? reflected(i, low, high) : i;
      const Expr place = b.let("place", cast(at, DType::I64));
      if (padding == "zeros") {
        r.inside = b.let("inside", logical_and(ge(place, int_const(0)), lt(place, n)));
        r.index = place;
      } else {
        r.index = b.let("index", imax(int_const(0), imin(place, n - 1)));
      }
      return r;
    };
    if (mode == "nearest") return {tap(x, nullptr)};
    const Expr base = b.let("base", loop::op(Prim::Floor, {x}));
    const Expr f = b.let("f", sub(x, base));
    if (mode == "linear") return {tap(base, sub(num(1), f)), tap(add(base, num(1)), f)};
    const auto near = [&](const Expr& s) {
      const Expr inner = sub(mul(num(kCubic + 2), s), num(kCubic + 3));
      return add(mul(mul(inner, s), s), num(1));
    };
    const auto far = [&](const Expr& s) {
      const Expr inner = add(mul(sub(mul(num(kCubic), s), num(5 * kCubic)), s), num(8 * kCubic));
      return sub(mul(inner, s), num(4 * kCubic));
    };
    const Expr rest = b.let("g", sub(num(1), f));
    return {tap(sub(base, num(1)), far(add(f, num(1)))), tap(base, near(f)),
            tap(add(base, num(1)), near(rest)), tap(add(base, num(2)), far(sub(num(2), f)))};
  };

  std::vector<Expr> rows{c.dim(out[0])};
  for (size_t d = 0; d < spatial; ++d) rows.push_back(c.dim(out[2 + d]));
  for_rows(b, rows, [&](const std::vector<Expr>& row) {
    std::vector<std::vector<TapExpr>> taps;
    for (size_t d = 0; d < spatial; ++d) {
      std::vector<Expr> at = row;
      at.push_back(int_const(static_cast<int64_t>(spatial - 1 - d)));
      taps.push_back(taps_of(b.let("g", wide(c.operand(1, at))), in[2 + d]));
    }
    b.for_("c", c.dim(out[1]), [&](Expr ch) {
      std::vector<Expr> from{row[0], ch};
      from.resize(2 + spatial);
      const std::function<Expr(size_t, Expr)> sum = [&](size_t d, Expr inside) -> Expr {
        if (d == spatial) {
          const Expr v = c.operand(0, from);
          const Expr kept = inside ? guard(inside, v, zero(t)) : v;
          return mode == "nearest" ? kept : cast(kept, compute);
        }
        Expr total;
        for (const TapExpr& p : taps[d]) {
          from[2 + d] = p.index;
          const Expr in_here = !p.inside ? inside
                               : inside  ? logical_and(inside, p.inside)
                                         : p.inside;
          Expr v = sum(d + 1, in_here);
          if (p.weight) v = mul(p.weight, v);
          total = total ? add(total, v) : v;
        }
        return total;
      };
      std::vector<Expr> to{row[0], ch};
      to.insert(to.end(), row.begin() + 1, row.end());
      c.store(0, to, cast(sum(0, nullptr), t));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_grid_sample;
const OpDef op_grid_sample = {
    .name = "tenfold.grid_sample",
    .summary = "Samples an image at given coordinates",
    .doc =
        "Operands: images [batch, channels, sizes...] and a grid [batch, sizes..., dims] of "
        "coordinates in [-1, 1], last dimension first. As ONNX GridSample, for any number of "
        "dimensions.",
    .kind = OpKind::Opaque,
    .min_operands = 2,
    .max_operands = 2,
    .attrs = {{"mode", AttrKind::Enum, false, "linear (default), nearest or cubic"},
              {"padding_mode", AttrKind::Enum, false, "zeros (default), border or reflection"},
              {"align_corners", AttrKind::Bool, false, "default false"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .needs_buffer = 1,
    .constraints = {"C1", "C2", "C3", "C4", "C5"},
};

}  // namespace tenfold
