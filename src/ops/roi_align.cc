// tenfold.roi_align: pooling of regions with bilinear sampling, as ONNX RoiAlign defines it.
#include <cmath>

#include "ops/attr_util.h"
#include "ops/row_util.h"

namespace tenfold {

namespace {

std::vector<TensorType> infer(const Op& op, Diag& diag) {
  const TensorType &x = op.operand(0)->type, &rois = op.operand(1)->type,
                   &batch = op.operand(2)->type;
  if (x.rank() != 4 || !is_float(x.dtype))
    diag.fail("C1", "wanted a float tensor [batch, channels, height, width], found " + x.str());
  if (rois.rank() != 2 || !diag.equal(rois.shape[1], 4) || rois.dtype != x.dtype)
    diag.fail("C2", "regions are " + rois.str() + ", wanted [regions, 4] of the input's type");
  if (batch.rank() != 1 || !is_integer(batch.dtype) ||
      (rois.rank() == 2 && !diag.equal(batch.shape[0], rois.shape[0])))
    diag.fail("C3", "batch indices are " + batch.str() + ", wanted one integer for each region");
  const std::string mode = str_or(op, "mode", "avg");
  if (mode != "avg" && mode != "max") diag.fail("C4", "mode is " + mode + ", wanted avg or max");
  const std::string coordinates = str_or(op, "coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    diag.fail("C4", "coordinate_transformation_mode is " + coordinates +
                        ", wanted half_pixel or output_half_pixel");
  const int64_t h = i64_or(op, "output_height", 1), w = i64_or(op, "output_width", 1);
  if (h < 1 || w < 1 || i64_or(op, "sampling_ratio", 0) < 0)
    diag.fail("C5", "output sizes must be positive and sampling_ratio not negative");
  if (!diag.ok()) return {x};
  return {{x.dtype, {rois.shape[0], x.shape[1], h, w}}};
}

struct Grid {
  int64_t height, width, ratio;
  double scale, offset;
  bool max;
};
Grid read(const Op& op) {
  const bool half = str_or(op, "coordinate_transformation_mode", "half_pixel") == "half_pixel";
  return {i64_or(op, "output_height", 1),
          i64_or(op, "output_width", 1),
          i64_or(op, "sampling_ratio", 0),
          f64_or(op, "spatial_scale", 1),
          half ? 0.5 : 0,
          str_or(op, "mode", "avg") == "max"};
}

// One sample coordinate on an axis of length n: two neighbours and their weights.
struct Sample {
  bool outside;
  int64_t low, high;
  double low_weight, high_weight;
};
Sample sample(double v, int64_t n) {
  if (v < -1 || v > static_cast<double>(n)) return {true, 0, 0, 0, 0};
  v = std::max(v, 0.0);
  const auto low = static_cast<int64_t>(v);
  if (low >= n - 1) return {false, n - 1, n - 1, 1, 0};
  const double f = v - static_cast<double>(low);
  return {false, low, low + 1, 1 - f, f};
}

Result<std::vector<Literal>> eval(EvalContext& c) {
  const Literal& x = c.args[0];
  const Grid g = read(*c.op);
  Literal out(x.dtype(), c.shape(c.op->result()->type));
  const int64_t batches = x.dims()[0], channels = x.dims()[1], height = x.dims()[2],
                width = x.dims()[3];
  for (int64_t r = 0; r < out.dims()[0]; ++r) {
    const int64_t batch = c.args[2].as_i64(r);
    if (batch < 0 || batch >= batches)
      return c.error("roi-align-batch", "region " + std::to_string(r) + " is of batch element " +
                                            std::to_string(batch) + " of " +
                                            std::to_string(batches));
    double start[2], bin[2];
    int64_t samples[2];
    for (int axis = 0; axis < 2; ++axis) {  // 0: vertical
      const int64_t cells = axis == 0 ? g.height : g.width;
      start[axis] = c.args[1].as_f64(4 * r + 1 - axis) * g.scale - g.offset;
      double size = c.args[1].as_f64(4 * r + 3 - axis) * g.scale - g.offset - start[axis];
      if (g.offset == 0) size = std::max(size, 1.0);
      bin[axis] = size / static_cast<double>(cells);
      samples[axis] = g.ratio > 0 ? g.ratio : static_cast<int64_t>(std::ceil(bin[axis]));
      samples[axis] = std::max<int64_t>(samples[axis], 0);
    }
    const double count = static_cast<double>(std::max<int64_t>(samples[0] * samples[1], 1));
    const auto position = [&](int axis, int64_t cell, int64_t i) {
      return start[axis] + static_cast<double>(cell) * bin[axis] +
             (static_cast<double>(i) + 0.5) * bin[axis] / static_cast<double>(samples[axis]);
    };
    for (int64_t ch = 0; ch < channels; ++ch) {
      const auto pixel = [&](int64_t i, int64_t j) {
        return x.as_f64(((batch * channels + ch) * height + i) * width + j);
      };
      for (int64_t ph = 0; ph < g.height; ++ph)
        for (int64_t pw = 0; pw < g.width; ++pw) {
          double value = 0;
          bool first = true;
          for (int64_t iy = 0; iy < samples[0]; ++iy)
            for (int64_t ix = 0; ix < samples[1]; ++ix) {
              Sample v = sample(position(0, ph, iy), height),
                     h = sample(position(1, pw, ix), width);
              if (v.outside || h.outside) v = h = {true, 0, 0, 0, 0};
              const double terms[] = {v.low_weight * h.low_weight * pixel(v.low, h.low),
                                      v.low_weight * h.high_weight * pixel(v.low, h.high),
                                      v.high_weight * h.low_weight * pixel(v.high, h.low),
                                      v.high_weight * h.high_weight * pixel(v.high, h.high)};
              if (g.max) {
                const double m = *std::max_element(terms, terms + 4);
                value = first ? m : std::max(value, m);
                first = false;
              } else {
                value += terms[0] + terms[1] + terms[2] + terms[3];
              }
            }
          out.set_f64(((r * channels + ch) * g.height + ph) * g.width + pw,
                      g.max ? value : value / count);
        }
    }
  }
  return std::vector<Literal>{out};
}

// Regions and cells in parallel; the channels of a cell share its sample points.
Status emit(EmitContext& c) {
  using namespace loop;
  Builder& b = *c.b;
  const Grid g = read(*c.op);
  const Shape& in = c.op->operand(0)->type.shape;
  const DType t = c.op->result()->type.dtype;
  const DType real = t == DType::F64 ? DType::F64 : DType::F32;
  const auto num = [&](double v) { return float_const(v, real); };
  const auto wide = [&](const Expr& e) { return cast(e, real); };
  const auto call = [](Prim p, const Expr& x, const Expr& y) { return loop::op(p, {x, y}); };
  const auto add = [&](const Expr& x, const Expr& y) { return call(Prim::Add, x, y); };
  const auto sub = [&](const Expr& x, const Expr& y) { return call(Prim::Sub, x, y); };
  const auto mul = [&](const Expr& x, const Expr& y) { return call(Prim::Mul, x, y); };
  const auto div = [&](const Expr& x, const Expr& y) { return call(Prim::Div, x, y); };
  const Shape& out = c.op->result()->type.shape;
  for_rows(b, {c.dim(out[0]), c.dim(out[2]), c.dim(out[3])}, [&](const std::vector<Expr>& row) {
    const Expr& r = row[0];
    const Expr batch = b.let(
        "batch", imax(int_const(0), imin(c.dim(in[0] - 1), cast(c.operand(2, {r}), DType::I64))));
    Expr start[2], bin[2], samples[2];
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t cells = axis == 0 ? g.height : g.width;
      const auto corner = [&](int k) {
        const Expr v = wide(c.operand(1, {r, int_const(k - axis)}));
        return sub(mul(v, num(g.scale)), num(g.offset));
      };
      start[axis] = b.let("start", corner(1));
      Expr size = sub(corner(3), start[axis]);
      if (g.offset == 0) size = call(Prim::Max, size, num(1));
      bin[axis] = b.let("bin", div(size, num(static_cast<double>(cells))));
      samples[axis] =
          g.ratio > 0 ? int_const(g.ratio)
                      : b.let("samples", imax(int_const(0),
                                              cast(loop::op(Prim::Ceil, {bin[axis]}), DType::I64)));
    }
    struct Points {
      Expr outside, low, high, low_weight, high_weight;
    };
    const auto points = [&](int axis, const Expr& i) -> Points {
      const Expr n = c.dim(in[2 + axis]);
      const Expr cell = add(start[axis], mul(wide(row[1 + axis]), bin[axis]));
      const Expr step = div(mul(add(wide(i), num(0.5)), bin[axis]), wide(samples[axis]));
      const Expr at = b.let("at", add(cell, step));
      const Expr v = b.let("v", call(Prim::Max, at, num(0)));
      const Expr whole = b.let("whole", cast(v, DType::I64));
      const Expr last = b.let("last", ge(whole, n - 1));
      Points p;
      p.outside =
          b.let("outside", logical_or(call(Prim::Lt, at, num(-1)), call(Prim::Gt, at, wide(n))));
      p.low = b.let("low", imin(whole, n - 1));
      p.high = b.let("high", imin(whole + 1, n - 1));
      p.high_weight = b.let("wh", select(last, num(0), sub(v, wide(whole))));
      p.low_weight = b.let("wl", sub(num(1), p.high_weight));
      return p;
    };
    b.for_("c", c.dim(in[1]), [&](Expr ch) {
      const Buffer value = b.cell("value", num(0));
      const Buffer first = b.cell("first", bool_const(true));
      b.for_("iy", samples[0], [&](Expr iy) {
        const Points v = points(0, iy);
        b.for_("ix", samples[1], [&](Expr ix) {
          const Points h = points(1, ix);
          const Expr outside = logical_or(v.outside, h.outside);
          const auto term = [&](const Expr& i, const Expr& wi, const Expr& j, const Expr& wj) {
            const Expr x = wide(c.operand(0, {batch, ch, i, j}));
            return b.let("term", guard(outside, num(0), mul(mul(wi, wj), x)));
          };
          const Expr a = term(v.low, v.low_weight, h.low, h.low_weight);
          const Expr d = term(v.low, v.low_weight, h.high, h.high_weight);
          const Expr e = term(v.high, v.high_weight, h.low, h.low_weight);
          const Expr f = term(v.high, v.high_weight, h.high, h.high_weight);
          if (g.max) {
            const Expr m =
                b.let("m", call(Prim::Max, call(Prim::Max, a, d), call(Prim::Max, e, f)));
            b.set(value, select(b.get(first), m, call(Prim::Max, b.get(value), m)));
            b.set(first, bool_const(false));
          } else {
            b.set(value, add(b.get(value), add(add(add(a, d), e), f)));
          }
        });
      });
      Expr result = b.get(value);
      if (!g.max) {
        const Expr count = imax(int_const(1), samples[0] * samples[1]);
        result = div(result, wide(count));
      }
      c.store(0, {r, ch, row[1], row[2]}, cast(result, t));
    });
  });
  return ok_status();
}

}  // namespace

extern const OpDef op_roi_align;
const OpDef op_roi_align = {
    .name = "tenfold.roi_align",
    .summary = "Pools regions of images with bilinear sampling",
    .doc =
        "Operands: images [batch, channels, height, width], regions [regions, 4] as x1, y1, x2, "
        "y2, "
        "and the batch element of each region. As ONNX RoiAlign; sampling_ratio 0 takes as many "
        "samples as pixels in a cell.",
    .kind = OpKind::Opaque,
    .min_operands = 3,
    .max_operands = 3,
    .attrs = {{"mode", AttrKind::Enum, false, "avg (default) or max"},
              {"coordinate_transformation_mode", AttrKind::Enum, false,
               "half_pixel (default) or output_half_pixel"},
              {"output_height", AttrKind::I64, false, "default 1"},
              {"output_width", AttrKind::I64, false, "default 1"},
              {"sampling_ratio", AttrKind::I64, false, "default 0"},
              {"spatial_scale", AttrKind::F64, false, "default 1"}},
    .infer = infer,
    .eval = eval,
    .emit = emit,
    .needs_buffer = 1,
    .constraints = {"C1", "C2", "C3", "C4", "C5"},
};

}  // namespace tenfold
