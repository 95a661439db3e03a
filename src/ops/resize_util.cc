#include "ops/resize_util.h"

#include <cmath>
#include <cstring>

namespace tenfold {

namespace {

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr std::string_view kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",  "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
constexpr std::string_view kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                         "ceil"};

template <size_t N>
int position(const std::string_view (&names)[N], std::string_view s) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == s) return static_cast<int>(i);
  return -1;
}

const Literal* literal_of(const Op& op, std::string_view name) {
  const Attr* a = op.attr(name);
  return a && a->present() ? &a->as<Literal>() : nullptr;
}

}  // namespace

Resize read_resize(const Op& op, std::optional<ResizeMode> fixed_mode) {
  Resize r;
  r.mode = fixed_mode ? *fixed_mode
                      : static_cast<ResizeMode>(std::max(0, position(kModes, op.str("mode"))));
  r.coordinates = static_cast<ResizeCoordinates>(std::max(
      0, position(kCoordinates, str_or(op, "coordinate_transformation_mode", "half_pixel"))));
  r.nearest = static_cast<ResizeNearest>(
      std::max(0, position(kNearest, str_or(op, "nearest_mode", "round_prefer_floor"))));
  r.cubic_a = f64_or(op, "cubic_coeff_a", -0.75);
  r.exclude_outside = op.flag("exclude_outside");
  r.antialias = op.flag("antialias");
  r.extrapolation = f64_or(op, "extrapolation_value", 0);
  const Shape& in = op.operand()->type.shape;
  const size_t rank = in.size();
  const std::vector<Dim> sizes = dims_or(op, "sizes", 0, 0);
  const Literal* scales = literal_of(op, "scales");
  const Literal* roi = literal_of(op, "roi");
  for (size_t d = 0; d < rank; ++d) {
    ResizeAxis a{in[d], sizes[d], false, std::nullopt};
    if (scales) a.scale = scales->as_f64(static_cast<int64_t>(d));
    if (roi && r.coordinates == ResizeCoordinates::TfCropAndResize) {
      a.roi_begin = roi->as_f64(static_cast<int64_t>(d));
      a.roi_end = roi->as_f64(static_cast<int64_t>(rank + d));
    }
    a.identity = equal(a.in, a.out) == Truth::Yes && a.scale.value_or(1) == 1 && a.roi_begin == 0 &&
                 a.roi_end == 1;
    r.axes.push_back(a);
  }
  return r;
}

std::vector<TensorType> infer_resize(const Op& op, std::optional<ResizeMode> fixed_mode,
                                     Diag& diag) {
  const TensorType& x = op.operand()->type;
  const size_t rank = x.shape.size();
  const auto known = [&](const auto& names, std::string_view attr, std::string_view fallback) {
    const std::string s = str_or(op, attr, fallback);
    if (position(names, s) < 0) diag.fail("C1", std::string(attr) + " \"" + s + "\" is not known");
  };
  if (!fixed_mode) known(kModes, "mode", "");
  known(kCoordinates, "coordinate_transformation_mode", "half_pixel");
  known(kNearest, "nearest_mode", "round_prefer_floor");
  const std::vector<Dim> sizes = dims_or(op, "sizes", 0, 0);
  if (sizes.size() != rank)
    diag.fail("C2", "sizes has " + std::to_string(sizes.size()) + " entries, wanted " +
                        std::to_string(rank));
  const auto list = [&](std::string_view attr, size_t want) {
    const Literal* l = literal_of(op, attr);
    if (l && (l->rank() != 1 || l->size() != static_cast<int64_t>(want) || !is_float(l->dtype())))
      diag.fail("C3", std::string(attr) + " is " + l->type().str() + ", wanted " +
                          std::to_string(want) + " floats");
    return l && diag.ok();
  };
  if (list("scales", rank))
    for (int64_t i = 0; i < static_cast<int64_t>(rank); ++i)
      if (!(literal_of(op, "scales")->as_f64(i) > 0))
        diag.fail("C4", "scales must be positive, found " +
                            std::to_string(literal_of(op, "scales")->as_f64(i)));
  list("roi", 2 * rank);
  if (!diag.ok()) return {x};
  const Resize r = read_resize(op, fixed_mode);
  if (r.mode != ResizeMode::Nearest && !is_float(x.dtype) && !is_integer(x.dtype))
    diag.fail("C5", "only integers and floats can be interpolated, found " + x.str());
  if (r.antialias && r.mode == ResizeMode::Nearest)
    diag.fail("C6", "antialias has no meaning for nearest");
  if (fixed_mode && r.mode == ResizeMode::Linear && (r.antialias || r.exclude_outside))
    diag.fail("C6", "antialias and exclude_outside need tenfold.resize");
  for (const ResizeAxis& a : r.axes)
    if (!diag.at_most(min(a.out, 1), a.in))
      diag.fail("C7", "nothing can be resized to " + a.out.str() + " elements");
  return {{x.dtype, sizes}};
}

std::vector<AttrSpec> resize_attrs(bool with_mode) {
  std::vector<AttrSpec> s;
  if (with_mode) s.push_back({"mode", AttrKind::Enum, true, "nearest, linear or cubic"});
  const AttrSpec rest[] = {
      {"sizes", AttrKind::Dims, true, "the result's shape"},
      {"scales", AttrKind::Lit, false, "floats, one a dimension; default sizes / input sizes"},
      {"coordinate_transformation_mode", AttrKind::Enum, false,
       "as in ONNX Resize; default half_pixel"},
      {"nearest_mode", AttrKind::Enum, false,
       "round_prefer_floor (default), round_prefer_ceil, floor or ceil"},
      {"cubic_coeff_a", AttrKind::F64, false, "default -0.75"},
      {"exclude_outside", AttrKind::Bool, false, "renormalise weights inside the input"},
      {"antialias", AttrKind::Bool, false, "widen the filter when shrinking"},
      {"extrapolation_value", AttrKind::F64, false, "outside the input under tf_crop_and_resize"},
      {"roi", AttrKind::Lit, false,
       "starts of all dimensions, then ends; tf_crop_and_resize only"}};
  s.insert(s.end(), std::begin(rest), std::end(rest));
  return s;
}

std::vector<std::string_view> resize_constraints() {
  return {"C1", "C2", "C3", "C4", "C5", "C6", "C7"};
}

// --- evaluator -----------------------------------------------------------------------------------

namespace {

struct Line {  // an axis as numbers
  int64_t in, out;
  double scale, roi_begin, roi_end;
};

double coordinate(ResizeCoordinates mode, const Line& a, double o) {
  const double width = a.scale * static_cast<double>(a.in);
  const double last = static_cast<double>(a.in) - 1;
  switch (mode) {
    case ResizeCoordinates::HalfPixel:
      return (o + 0.5) / a.scale - 0.5;
    case ResizeCoordinates::HalfPixelSymmetric: {
      const double adjustment = static_cast<double>(a.out) / width;
      const double offset = static_cast<double>(a.in) / 2 * (1 - adjustment);
      return offset + (o + 0.5) / a.scale - 0.5;
    }
    case ResizeCoordinates::PytorchHalfPixel:
      return width == 1 ? 0 : (o + 0.5) / a.scale - 0.5;
    case ResizeCoordinates::AlignCorners:
      return width == 1 ? 0 : o * last / (width - 1);
    case ResizeCoordinates::Asymmetric:
      return o / a.scale;
    case ResizeCoordinates::TfHalfPixelForNn:
      return (o + 0.5) / a.scale;
    case ResizeCoordinates::TfCropAndResize: {
      const double span = a.roi_end - a.roi_begin;
      const double inner = width == 1 ? span * last / 2 : o * span * last / (width - 1);
      return inner + a.roi_begin * last;
    }
  }
  return 0;
}

double round_nearest(ResizeNearest mode, double x) {
  switch (mode) {
    case ResizeNearest::RoundPreferFloor:
      return std::ceil(x - 0.5);
    case ResizeNearest::RoundPreferCeil:
      return std::floor(x + 0.5);
    case ResizeNearest::Floor:
      return std::floor(x);
    case ResizeNearest::Ceil:
      return std::ceil(x);
  }
  return 0;
}

double kernel(const Resize& r, double t) {
  t = std::fabs(t);
  if (r.mode == ResizeMode::Linear) return std::max(0.0, 1 - t);
  const double a = r.cubic_a;
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  if (t < 2) return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return 0;
}

// One axis of a [outer, in, inner] array.
std::vector<double> resize_line(const Resize& r, const Line& a, const std::vector<double>& x,
                                int64_t outer, int64_t inner) {
  std::vector<double> y(static_cast<size_t>(outer * a.out * inner), 0.0);
  const double squeeze = r.antialias ? std::min(a.scale, 1.0) : 1.0;
  const double radius = r.mode == ResizeMode::Linear ? 1 : 2;
  for (int64_t o = 0; o < a.out; ++o) {
    const double at = coordinate(r.coordinates, a, static_cast<double>(o));
    const bool outside = r.coordinates == ResizeCoordinates::TfCropAndResize &&
                         (at < 0 || at > static_cast<double>(a.in - 1));
    std::vector<std::pair<int64_t, double>> taps;
    double sum = 0;
    const double reach = radius / squeeze;
    for (double i = std::floor(at - reach); i <= at + reach; i += 1) {
      const bool inside = i >= 0 && i < static_cast<double>(a.in);
      const double w = r.exclude_outside && !inside ? 0 : kernel(r, (i - at) * squeeze);
      if (w == 0) continue;
      sum += w;
      taps.emplace_back(static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(a.in - 1))), w);
    }
    const double norm = (r.antialias || r.exclude_outside) && sum != 0 ? sum : 1;
    for (int64_t u = 0; u < outer; ++u) {
      double* to = y.data() + (u * a.out + o) * inner;
      for (const auto& [i, w] : taps) {
        const double* from = x.data() + (u * a.in + i) * inner;
        for (int64_t k = 0; k < inner; ++k) to[k] += from[k] * (w / norm);
      }
      if (outside) std::fill(to, to + inner, r.extrapolation);
    }
  }
  return y;
}

}  // namespace

Literal eval_resize(const Resize& r, const EvalContext& c) {
  const Literal& x = c.args[0];
  Literal out(x.dtype(), c.shape(c.op->result()->type));
  if (out.size() == 0) return out;
  std::vector<Line> lines;
  for (const ResizeAxis& a : r.axes) {
    Line l{c.dim(a.in), c.dim(a.out), 0, a.roi_begin, a.roi_end};
    l.scale = a.scale.value_or(static_cast<double>(l.out) / static_cast<double>(l.in));
    lines.push_back(l);
  }
  if (r.mode == ResizeMode::Nearest) {
    // Source index of every position of every axis; -1: extrapolated.
    std::vector<std::vector<int64_t>> source;
    for (size_t d = 0; d < lines.size(); ++d) {
      std::vector<int64_t> s;
      for (int64_t o = 0; o < lines[d].out; ++o) {
        const double at = r.axes[d].identity
                              ? static_cast<double>(o)
                              : coordinate(r.coordinates, lines[d], static_cast<double>(o));
        const double last = static_cast<double>(lines[d].in - 1);
        const bool outside =
            r.coordinates == ResizeCoordinates::TfCropAndResize && (at < 0 || at > last);
        s.push_back(
            outside ? -1
                    : static_cast<int64_t>(std::clamp(round_nearest(r.nearest, at), 0.0, last)));
      }
      source.push_back(std::move(s));
    }
    const auto strides = row_major_strides(x.dims());
    const Literal fill = Literal::scalar(x.dtype(), r.extrapolation);
    const size_t size = static_cast<size_t>(byte_size(x.dtype()));
    std::byte* to = out.mutable_bytes();
    std::vector<int64_t> at(lines.size(), 0);
    do {
      int64_t from = 0;
      for (size_t d = 0; d < at.size() && from >= 0; ++d)
        from = source[d][at[d]] < 0 ? -1 : from + source[d][at[d]] * strides[d];
      std::memcpy(to, from < 0 ? fill.bytes() : x.bytes() + from * size, size);
      to += size;
    } while (next_index(at, out.dims()));
    return out;
  }
  std::vector<double> v(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) v[i] = x.as_f64(i);
  int64_t outer = 1, inner = x.size();
  for (size_t d = 0; d < lines.size(); ++d) {
    inner /= lines[d].in;
    if (!r.axes[d].identity) v = resize_line(r, lines[d], v, outer, inner);
    outer *= lines[d].out;
  }
  const bool integer = is_integer(x.dtype());
  for (int64_t i = 0; i < out.size(); ++i) {
    if (integer)
      out.set_i64(i,
                  convert(Literal::scalar(DType::F64, std::nearbyint(v[i])), x.dtype()).as_i64(0));
    else
      out.set_f64(i, v[i]);
  }
  return out;
}

// --- loops ---------------------------------------------------------------------------------------

using namespace loop;

DType resize_compute_type(DType t) {
  return t == DType::F64 || is_integer(t) ? DType::F64 : DType::F32;
}

Expr resize_result(const Expr& v, DType t) {
  return cast(is_integer(t) ? op(Prim::RoundEven, {v}) : v, t);
}

namespace {
Expr f64(double v) { return float_const(v, DType::F64); }
Expr f64(const Expr& e) { return cast(e, DType::F64); }
Expr add(const Expr& a, const Expr& b) { return op(Prim::Add, {a, b}); }
Expr sub(const Expr& a, const Expr& b) { return op(Prim::Sub, {a, b}); }
Expr mul(const Expr& a, const Expr& b) { return op(Prim::Mul, {a, b}); }
Expr div(const Expr& a, const Expr& b) { return op(Prim::Div, {a, b}); }
}  // namespace

Expr resize_scale(const ResizeAxis& a, const DimExpr& dim) {
  if (a.scale) return f64(*a.scale);
  if (a.in.is_const() && a.out.is_const())
    return f64(static_cast<double>(a.out.value()) / static_cast<double>(a.in.value()));
  return div(f64(dim(a.out)), f64(dim(a.in)));
}

Expr resize_coordinate(const Resize& r, const ResizeAxis& a, const Expr& o, const DimExpr& dim) {
  const Expr at = f64(o);
  const Expr scale = resize_scale(a, dim);
  const Expr in = f64(dim(a.in));
  const Expr width = mul(scale, in);
  const Expr last = sub(in, f64(1));
  const auto unless_one = [&](const Expr& value, const Expr& otherwise) {
    return select(op(Prim::Eq, {width, f64(1)}), otherwise, value);
  };
  const Expr half = sub(div(add(at, f64(0.5)), scale), f64(0.5));
  switch (r.coordinates) {
    case ResizeCoordinates::HalfPixel:
      return half;
    case ResizeCoordinates::HalfPixelSymmetric: {
      const Expr offset = mul(div(in, f64(2)), sub(f64(1), div(f64(dim(a.out)), width)));
      return sub(add(offset, div(add(at, f64(0.5)), scale)), f64(0.5));
    }
    case ResizeCoordinates::PytorchHalfPixel:
      return unless_one(half, f64(0));
    case ResizeCoordinates::AlignCorners:
      return unless_one(div(mul(at, last), sub(width, f64(1))), f64(0));
    case ResizeCoordinates::Asymmetric:
      return div(at, scale);
    case ResizeCoordinates::TfHalfPixelForNn:
      return div(add(at, f64(0.5)), scale);
    case ResizeCoordinates::TfCropAndResize: {
      const Expr span = f64(a.roi_end - a.roi_begin);
      const Expr inner = unless_one(div(mul(mul(at, span), last), sub(width, f64(1))),
                                    div(mul(span, last), f64(2)));
      return add(inner, mul(f64(a.roi_begin), last));
    }
  }
  return at;
}

Expr resize_clamp(const ResizeAxis& a, const Expr& i, const DimExpr& dim) {
  return imax(int_const(0), imin(i, dim(a.in - 1)));
}

Expr resize_outside(const Resize& r, const ResizeAxis& a, const Expr& x, const DimExpr& dim) {
  if (r.coordinates != ResizeCoordinates::TfCropAndResize) return nullptr;
  return logical_or(op(Prim::Lt, {x, f64(0)}), op(Prim::Gt, {x, f64(dim(a.in - 1))}));
}

}  // namespace tenfold
